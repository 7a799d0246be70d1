#include "sim/scenario/fault.hpp"

#include <utility>

namespace lamina::scenario {

void fail(const error::Location& location, const std::string& key, const Detail& detail) {
  error::ScenarioFault fault;
  fault.location = location;
  fault.key = key;
  fault.problem = detail.problem;
  fault.read = detail.read;
  fault.allowed = detail.allowed;
  fault.nearest = detail.nearest;
  throw error::ScenarioError(std::move(fault));
}

}  // namespace lamina::scenario
