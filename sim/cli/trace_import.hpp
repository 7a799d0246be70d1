#pragma once

#include "sim/cli/command.hpp"

namespace lamina::cli {

/// Subcommands of `lamina trace` that read what profilers recorded on devices.
[[nodiscard]] Command add_trace_import(CLI::App& trace);
[[nodiscard]] Command add_trace_compare(CLI::App& trace);

}  // namespace lamina::cli
