#include "sim/pipeline/size.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "sim/lowering/partition.hpp"

namespace lamina::pipeline {
namespace {

using scenario::ShardingLevel;
using schedules::ActionType;

/// What one layer and micro-batch become.
struct PerLayer {
  double computations = 0;
  double collectives = 0;
};

PerLayer layer_pass(const scenario::Strategy& strategy, const model::LayerCost& layer) {
  const auto exchanging = static_cast<double>(std::count_if(
      layer.blocks.begin(), layer.blocks.end(), [](const auto& block) { return block.tensor_payload.value() > 0; }));
  return {std::max(1.0, exchanging), exchanging * (strategy.sequence_parallel ? 2 : 1)};
}

/// Counts over the actions of one pipeline rank.
class RankCount {
 public:
  RankCount(const scenario::Scenario& scenario, const model::WorkModel& work, const schedules::ScheduleTable& table)
      : strategy_(scenario.strategy),
        table_(table),
        pass_(layer_pass(strategy_, work.layer)),
        recomputes_in_full_(strategy_.recompute == scenario::Recompute::kFull && !scenario.model.custom) {
    for (const schedules::Stage& stage : table.stages) {
      layers_.push_back(
          lowering::layers_of_chunk(strategy_, work.layers, table.model_chunks, stage.model_chunk).size());
      ends_.push_back((stage.model_chunk == 0 && !work.embedding.blocks.empty() ? 1 : 0) +
                      (stage.model_chunk == table.model_chunks - 1 && !work.head.blocks.empty() ? 1 : 0));
    }
  }

  void add(const schedules::Action& action) {
    const bool forward = action.type == ActionType::kForward;
    const bool weights_only = action.type == ActionType::kWeightGradient;
    const double passes = forward || weights_only || !recomputes_in_full_ ? 1 : 2;
    const double layers = layers_[static_cast<std::size_t>(action.stage)];
    operations_ += layers * passes * pass_.computations + ends_[static_cast<std::size_t>(action.stage)];
    if (!weights_only) {
      tensor_collectives_ += layers * passes * pass_.collectives;
      operations_ += messages(action) + (strategy_.offload.checkpoints ? layers : 0);
    }
    if (strategy_.data_parallel > 1) {
      const bool gradients = strategy_.sharding.level >= ShardingLevel::kGradients;
      data_collectives_ += strategy_.sharding.level == ShardingLevel::kFull && !weights_only
                               ? restored(action.stage, strategy_.sharding.weight_buffers, last_used_)
                               : 0;
      data_collectives_ += gradients && !forward && action.type != ActionType::kInputGradient
                               ? restored(action.stage, strategy_.sharding.gradient_buffers, last_reduced_)
                               : 0;
    }
  }

  [[nodiscard]] double operations() const { return operations_ + tensor_collectives_ + data_collectives_; }

  [[nodiscard]] double tensor_collectives() const { return tensor_collectives_; }

  [[nodiscard]] double data_collectives() const { return data_collectives_; }

 private:
  /// A send and a receive, unless the neighbour is on the same rank or there is none.
  [[nodiscard]] double messages(const schedules::Action& action) const {
    const schedules::Stage& stage = table_.stages[static_cast<std::size_t>(action.stage)];
    const int target = action.type == ActionType::kForward ? stage.next : stage.previous;
    return target < 0 || table_.stages[static_cast<std::size_t>(target)].rank == stage.rank ? 0 : 2;
  }

  /// Units that take a buffer anew: all of the stage when they outnumber the buffers or the stage is another one.
  [[nodiscard]] double restored(int stage, int buffers, int& last) const {
    const double units = layers_[static_cast<std::size_t>(stage)] + ends_[static_cast<std::size_t>(stage)];
    const bool again = stage != last || units > buffers;
    last = stage;
    return again ? units : 0;
  }

  const scenario::Strategy& strategy_;
  const schedules::ScheduleTable& table_;
  PerLayer pass_;
  std::vector<double> layers_;  ///< transformer layers by stage
  std::vector<double> ends_;    ///< embedding and head, likewise
  bool recomputes_in_full_;
  double operations_ = 0;
  double tensor_collectives_ = 0;
  double data_collectives_ = 0;
  int last_used_ = -1;
  int last_reduced_ = -1;
};

/// Messages of one collective over a ring of n: n members in at most 2 (n - 1) steps.
double ring_messages(double members) {
  return members * std::max(1.0, 2 * (members - 1));
}

std::string in_millions(double count) {
  return fmt::format("{:.0f} million", count / 1e6);
}

}  // namespace

double least_operations(const scenario::Scenario& scenario) {
  return 2.0 * scenario.strategy.micro_batches * scenario.model.layers;
}

Size estimate_size(const scenario::Scenario& scenario, const model::WorkModel& work,
                   const schedules::ScheduleTable& table) {
  const scenario::Strategy& strategy = scenario.strategy;
  const bool in_messages = scenario.simulation.collective_form == scenario::CollectiveForm::kMessage;
  const double replicas = scenario.simulation.fold && !in_messages
                              ? 1.0
                              : static_cast<double>(strategy.data_parallel) * strategy.tensor_parallel;
  Size size;
  for (const std::vector<schedules::Action>& row : table.actions) {
    RankCount count(scenario, work, table);
    for (const schedules::Action& action : row) {
      count.add(action);
    }
    size.operations += count.operations();
    size.activities += count.operations() * replicas;
    if (in_messages) {
      const double reductions = static_cast<double>(work.layers) / strategy.pipeline_parallel;
      const double data = strategy.data_parallel > 1 ? count.data_collectives() + reductions : 0;
      size.activities += count.tensor_collectives() * strategy.data_parallel * ring_messages(strategy.tensor_parallel) +
                         data * strategy.tensor_parallel * ring_messages(strategy.data_parallel);
    }
  }
  return size;
}

tl::expected<void, error::Infeasible> check_least_size(const scenario::Scenario& scenario) {
  const double operations = least_operations(scenario);
  if (operations <= kLargestSize) {
    return {};
  }
  return tl::unexpected(error::Infeasible{fmt::format(
      "{} micro-batches of {} layers make at least {} operations; at most {} can be simulated. Use fewer "
      "and larger micro-batches.",
      scenario.strategy.micro_batches, scenario.model.layers, in_millions(operations), in_millions(kLargestSize))});
}

tl::expected<void, error::Infeasible> check_size(const scenario::Scenario& scenario, const Size& size) {
  if (size.operations > kLargestSize) {
    return tl::unexpected(error::Infeasible{
        fmt::format("{} micro-batches of {} layers make about {} operations under this strategy; at most {} can be "
                    "simulated. Use fewer and larger micro-batches.",
                    scenario.strategy.micro_batches, scenario.model.layers, in_millions(size.operations),
                    in_millions(kLargestSize))});
  }
  if (size.activities > kLargestSize) {
    const bool in_messages = scenario.simulation.collective_form == scenario::CollectiveForm::kMessage;
    return tl::unexpected(error::Infeasible{
        fmt::format("The replay of all {} ranks{} has about {} activities; at most {} can be simulated. {}",
                    scenario.strategy.ranks(), in_messages ? ", every message of a collective apart," : "",
                    in_millions(size.activities), in_millions(kLargestSize),
                    in_messages ? "Use `form: fluid`, or fewer ranks."
                                : "Simulate one rank per class (`fold: true`, without --no-fold).")});
  }
  return {};
}

}  // namespace lamina::pipeline
