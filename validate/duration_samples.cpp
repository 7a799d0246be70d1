#include "validate/duration_samples.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "sim/report/names.hpp"
#include "validate/statistics.hpp"

namespace lamina::validate {

std::string kind_of(const graph::Operation& operation) {
  switch (operation.kind) {
    case graph::OperationKind::kCompute:
      return std::string(report::word_for(operation.phase));
    case graph::OperationKind::kSend:
    case graph::OperationKind::kReceive:
      return "message";
    case graph::OperationKind::kHostCopy:
      return operation.to_host ? "copy to host" : "copy from host";
    case graph::OperationKind::kCollective:
      break;
  }
  return fmt::format("{} {}", report::word_for(operation.traffic), report::word_for(operation.collective));
}

void DurationSamples::add(const graph::Operation& operation, double predicted_s,
                          const std::vector<double>& measured_s) {
  const double bytes = operation.kind == graph::OperationKind::kCompute ? 0 : operation.bytes;
  OfKind& of_kind = samples_[{kind_of(operation), bytes}];
  of_kind.predicted_s.push_back(predicted_s);
  of_kind.measured_s.insert(of_kind.measured_s.end(), measured_s.begin(), measured_s.end());
}

std::vector<report::DurationRow> DurationSamples::rows() const {
  std::vector<report::DurationRow> rows;
  for (const auto& [key, of_kind] : samples_) {
    const auto count = static_cast<std::int64_t>(of_kind.predicted_s.size());
    report::DurationRow row{key.first, key.second, count, median(of_kind.predicted_s), median(of_kind.measured_s)};
    if (row.predicted_s > 0 || row.measured_s > 0) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace lamina::validate
