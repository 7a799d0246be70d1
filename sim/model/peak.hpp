#pragma once

#include <string_view>

#include "sim/scenario/scenario.hpp"

namespace lamina::model {

/// "fp8", "bf16", ...: as written in a scenario.
[[nodiscard]] std::string_view name_of(scenario::DataType type);

/// Dense peak of `type` on `accelerator`. Throws error::ScenarioError, naming the accelerator and the types that it
/// has, when the accelerator has no such unit.
[[nodiscard]] FlopsPerSecond peak_of(const scenario::Accelerator& accelerator, scenario::DataType type);

}  // namespace lamina::model
