#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "sim/cli/exit_code.hpp"
#include "sim/cli/session.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace lamina::cli {

/// Arguments that the option parser accepts and that still make no sense: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A subcommand: its parser, and what to do once it has parsed.
struct Command {
  CLI::App* parser = nullptr;
  std::function<ExitCode(Session&)> execute;
};

/// One per file: adds the subcommand with its options and help to `root`.
[[nodiscard]] Command add_run(CLI::App& root);
[[nodiscard]] Command add_check(CLI::App& root);
[[nodiscard]] Command add_explain(CLI::App& root);
[[nodiscard]] Command add_draw(CLI::App& root);
[[nodiscard]] Command add_plot(CLI::App& root);
[[nodiscard]] Command add_export(CLI::App& root);
[[nodiscard]] Command add_list(CLI::App& root);
[[nodiscard]] Command add_trace(CLI::App& root);
[[nodiscard]] Command add_compare(CLI::App& root);
[[nodiscard]] Command add_requirements(CLI::App& root);
[[nodiscard]] Command add_sweep(CLI::App& root);
[[nodiscard]] Command add_score(CLI::App& root);
[[nodiscard]] Command add_validate(CLI::App& root);
[[nodiscard]] Command add_calibrate(CLI::App& root);

}  // namespace lamina::cli
