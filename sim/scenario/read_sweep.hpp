#pragma once

#include <string>
#include <vector>

#include "sim/scenario/resolve.hpp"
#include "sim/scenario/sweep_spec.hpp"

namespace lamina::scenario {

/// See Loader::sweep. `section`: the value of the key `sweep`, or nullptr.
[[nodiscard]] SweepSpec read_sweep(const Context& context, const Tree* section, const std::vector<Override>& axes,
                                   const std::vector<std::string>& filters);

}  // namespace lamina::scenario
