#include "sim/sweep/fault_text.hpp"

#include <fmt/format.h>

namespace lamina::sweep {

std::string short_text(const error::ScenarioFault& fault) {
  std::string text = fault.key.empty() ? fault.problem : fmt::format("{}: {}", fault.key, fault.problem);
  if (!fault.read.empty()) {
    text += fmt::format(" Read: {}.", fault.read);
  }
  if (!fault.allowed.empty() && fault.allowed.size() < 200) {
    text += fmt::format(" Allowed: {}.", fault.allowed);
  }
  return text;
}

}  // namespace lamina::sweep
