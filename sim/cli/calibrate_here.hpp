#pragma once

#include <string>

#include "sim/cli/tools.hpp"
#include "validate/calibration/calibration.hpp"

namespace CLI {
class App;
}  // namespace CLI

/// `lamina calibrate` without measurements of others: micro-benchmarks on this machine.
namespace lamina::cli {

struct HereOptions {
  std::string model;  ///< as a scenario names it; empty: a decoder 1,024 wide
  int tensor_parallel = 1;
  double seconds = 60;
  std::string device = "cpu";  ///< or "cuda": GPU 0
  std::string scratch;         ///< folder of the temporary file; empty: the system's
};

void add_here_options(CLI::App& parser, HereOptions& options);

/// Runs them; warns of unsteady measurements.
/// @param name of the entries; empty: "this-core", "this-gpu"
/// @throws UsageError, ScenarioError (no such model, one that cannot be divided so), EnvironmentError (no plug-in,
/// driver or GPU)
[[nodiscard]] validate::calibration::Calibration calibrate_here(const HereOptions& options, const std::string& name,
                                                                const Tools& tools);

}  // namespace lamina::cli
