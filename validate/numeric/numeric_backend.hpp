#pragma once

#include <memory>
#include <vector>

#include <tl/expected.hpp>

#include "schedules/schedule.hpp"
#include "sim/deployment/deployment.hpp"
#include "sim/error/error.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/scenario/scenario.hpp"
#include "validate/backend.hpp"

namespace lamina::validate::numeric {

/// Gradients and weights of one copy of the model, put together from what the ranks own.
struct Copy {
  std::vector<std::vector<float>> gradients;  ///< [layer + 1] that the update saw, summed over the whole batch
  std::vector<std::vector<float>> weights;    ///< [layer + 1] after the update
};

/// What a step computed.
struct Step {
  double loss = 0;           ///< mean cross entropy
  double norm = 0;           ///< of the gradient, as the ranks summed it; 0 where the strategy does not wait for it
  std::vector<Copy> copies;  ///< one, except for schedules that hold the model twice
  /// Largest difference of gradients or weights between ranks that hold the same ones.
  double disagreement = 0;
};

/// Computes the step: every operation of the graph does its work on float32 numbers of a tiny decoder when it is
/// launched, all ranks in this process. What an operation reads must have been made by one launched before; anything
/// else is absent or NaN, so that a graph which lacks a dependency fails or gives other numbers.
///
/// An operation takes a unit of time: its timeline is an order, not a prediction.
class NumericBackend : public Backend {
 public:
  /// Of the last finished execution.
  [[nodiscard]] virtual const Step& step() const = 0;
};

/// `graph` is what `table` was lowered to; both and the whole deployment must outlive the backend.
/// Backend::launch and finish throw InternalError, with rank, operation and what is missing, when the graph's order
/// does not carry the data.
/// @return Infeasible for models that are not a plain decoder (numeric::shape_of)
[[nodiscard]] tl::expected<std::unique_ptr<NumericBackend>, error::Infeasible> make_numeric_backend(
    const scenario::Scenario& scenario, const schedules::ScheduleTable& table, const graph::OperationGraph& graph,
    const deployment::Deployment& deployment);

}  // namespace lamina::validate::numeric
