#pragma once

#include <string>
#include <vector>

#include "sim/cli/exit_code.hpp"
#include "sim/cli/session.hpp"

namespace lamina::cli {

/// `lamina run CLUSTER.yaml --trace PREFIX`.
struct TraceRunOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> overrides;
  std::string output_folder;
  std::string format;
  bool no_fold = false;
  std::string trace;
  std::string groups;  ///< empty: comm_groups.json beside the traces
};

[[nodiscard]] ExitCode run_chakra_trace(const TraceRunOptions& options, Session& session);

}  // namespace lamina::cli
