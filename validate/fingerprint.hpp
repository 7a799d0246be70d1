#pragma once

#include <string>
#include <vector>

#include "validate/kernel_calls.hpp"
#include "validate/prepare.hpp"

namespace lamina::validate {

/// Differs when two processes would execute different operations, kernels or orders; `settings` are what else must be
/// the same.
[[nodiscard]] std::string fingerprint_of(const Executable& executable, const KernelCalls& calls,
                                         const std::vector<double>& settings);

}  // namespace lamina::validate
