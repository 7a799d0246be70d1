#pragma once

#include <tl/expected.hpp>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/replay/replay.hpp"
#include "sim/scenario/scenario.hpp"
#include "validate/issue_order.hpp"

namespace lamina::validate {

/// Most operations of all ranks together that are executed.
inline constexpr double kMostOperations = 20e6;

/// A scenario ready to be executed: every rank, every operation, in an order that cannot block.
struct Executable {
  pipeline::Prepared prepared;
  deployment::Deployment deployment;  ///< whole
  IssueOrder order;
  replay::Options options;  ///< of the scenario's own prediction
};

/// @param form of the deployment's collectives
/// @return Infeasible as pipeline::prepare, and for layouts of more than kMostOperations
[[nodiscard]] tl::expected<Executable, error::Infeasible> make_executable(const scenario::Scenario& scenario,
                                                                          const pipeline::Catalogs& catalogs,
                                                                          scenario::CollectiveForm form);

}  // namespace lamina::validate
