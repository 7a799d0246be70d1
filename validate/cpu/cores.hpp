#pragma once

#include <vector>

namespace lamina::validate::cpu {

/// Numbers of the cores that this process may use.
[[nodiscard]] std::vector<int> own_cores();

/// Puts this process on the core of a rank; ranks take the cores in turn.
void pin_to_core_of(int rank);

}  // namespace lamina::validate::cpu
