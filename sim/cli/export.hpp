#pragma once

#include "sim/cli/command.hpp"

namespace lamina::cli {

/// One per format and file: adds `lamina export FORMAT` to the parser of `lamina export`.
[[nodiscard]] Command add_export_pytorch_csv(CLI::App& parent);
[[nodiscard]] Command add_export_chakra(CLI::App& parent);

}  // namespace lamina::cli
