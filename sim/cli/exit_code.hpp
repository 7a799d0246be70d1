#pragma once

namespace lamina::cli {

/// Exit codes of `lamina`; scripts rely on them.
enum class ExitCode : int {
  kDone = 0,
  kInternal = 1,          ///< a fault of Lamina itself
  kCommandLine = 2,       ///< wrong option or argument
  kScenario = 3,          ///< a scenario file is wrong
  kInfeasible = 4,        ///< the scenario is valid, but cannot run: does not fit, does not divide
  kOutsideTolerance = 5,  ///< a comparison is outside its tolerance
  kEnvironment = 6,       ///< permission, disk space, memory, a missing file of Lamina's own
};

}  // namespace lamina::cli
