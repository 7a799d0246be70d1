#include "sim/error/error.hpp"

#include <utility>

namespace lamina::error {
namespace {

std::string compose(const ScenarioFault& fault) {
  std::string text;
  if (!fault.location.file.empty()) {
    text += fault.location.file;
    if (fault.location.line > 0) {
      text += ':' + std::to_string(fault.location.line);
      if (fault.location.column > 0) {
        text += ':' + std::to_string(fault.location.column);
      }
    }
    text += ": ";
  }
  if (!fault.key.empty()) {
    text += fault.key + ": ";
  }
  text += fault.problem;
  if (!fault.read.empty()) {
    text += "\n  read:    " + fault.read;
  }
  if (!fault.allowed.empty()) {
    text += "\n  allowed: " + fault.allowed;
  }
  if (!fault.nearest.empty()) {
    text += "\n  did you mean \"" + fault.nearest + "\"?";
  }
  return text;
}

}  // namespace

ScenarioError::ScenarioError(ScenarioFault fault) : std::runtime_error(compose(fault)), fault_(std::move(fault)) {}

}  // namespace lamina::error
