#include "sim/model/peak.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::model {

std::string_view name_of(scenario::DataType type) {
  switch (type) {
    case scenario::DataType::kFp32:
      return "fp32";
    case scenario::DataType::kTf32:
      return "tf32";
    case scenario::DataType::kFp16:
      return "fp16";
    case scenario::DataType::kBf16:
      return "bf16";
    case scenario::DataType::kFp8:
      return "fp8";
  }
  throw error::InternalError("unknown data type");
}

FlopsPerSecond peak_of(const scenario::Accelerator& accelerator, scenario::DataType type) {
  const auto found = accelerator.peak.find(type);
  if (found != accelerator.peak.end()) {
    return found->second;
  }
  std::string known;
  for (const auto& [other, peak] : accelerator.peak) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name_of(other));
  }
  error::ScenarioFault fault;
  fault.key = "strategy.precision.compute";
  fault.problem = fmt::format("The accelerator '{}' has no {} peak.", accelerator.name, name_of(type));
  fault.read = name_of(type);
  fault.allowed = known;
  throw error::ScenarioError(std::move(fault));
}

}  // namespace lamina::model
