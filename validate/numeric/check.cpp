#include "validate/numeric/check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "validate/execute.hpp"
#include "validate/issue_order.hpp"
#include "validate/numeric/numeric_backend.hpp"
#include "validate/numeric/steps_on_ranks.hpp"
#include "validate/prepare.hpp"

namespace lamina::validate::numeric {
namespace {

constexpr int kMostRanks = 256;
constexpr int kMostLayers = 256;

IssueOrder order_of(const graph::OperationGraph& graph, int seed) {
  if (seed == 0) {
    return issue_order(graph);
  }
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<double> due;
  for (std::size_t vertex = 0; vertex < graph.size(); ++vertex) {
    due.push_back(static_cast<double>(random()));
  }
  return issue_order(graph, due);
}

void hold(const Step& step, const ReferenceStep& reference, bool sums_norm, report::StepCheck& verdict) {
  const auto keep_worst = [](double& worst, double error) {
    worst = std::isnan(error) ? error : std::max(worst, error);
  };
  keep_worst(verdict.loss_error, std::abs(step.loss / reference.loss - 1));
  keep_worst(verdict.gradient_error, largest_error(step.copies.front().gradients, reference.gradients));
  keep_worst(verdict.weight_error, largest_error(step.copies.front().weights, reference.weights));
  keep_worst(verdict.disagreement, step.disagreement);
  if (sums_norm && step.norm > 0) {
    keep_worst(verdict.norm_error, std::abs(std::sqrt(step.norm) / reference.norm - 1));
  }
}

std::string refusal(const scenario::Scenario& small) {
  if (small.strategy.ranks() > kMostRanks) {
    return fmt::format("{} ranks, with two replicas at most; at most {} can be computed.", small.strategy.ranks(),
                       kMostRanks);
  }
  if (small.model.layers > kMostLayers) {
    return fmt::format("{} layers; at most {} can be computed.", small.model.layers, kMostLayers);
  }
  return "";
}

report::StepCheck describe(const scenario::Scenario& scenario, const scenario::Scenario& small) {
  report::StepCheck verdict;
  verdict.name = scenario.name;
  verdict.schedule = small.strategy.schedule.name;
  verdict.ranks = small.strategy.ranks();
  verdict.replicas = small.strategy.data_parallel;
  verdict.layers = small.model.layers;
  verdict.micro_batches = small.strategy.micro_batches;
  return verdict;
}

tl::expected<ReferenceStep, error::Infeasible> reference_of(const scenario::Scenario& small,
                                                            const schedules::ScheduleTable& table) {
  const auto shape = shape_of(small);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  return reference_step(*shape, has_own_matrix(small, table), static_cast<int>(small.strategy.global_batch()),
                        optimizer_of(small.strategy));
}

error::Infeasible two_copies(const scenario::Scenario& small, const Step& step) {
  return {fmt::format("{} holds {} copies of the model, whose exchange of gradients is not modelled.",
                      small.strategy.schedule.name, step.copies.size())};
}

}  // namespace

bool has_own_matrix(const scenario::Scenario& scenario, const schedules::ScheduleTable& table) {
  std::set<int> ends;
  for (const schedules::Stage& stage : table.stages) {
    if (stage.previous == -1 || stage.next == -1) {
      ends.insert(stage.rank);
    }
  }
  return !scenario.model.tied_embeddings || ends.size() > 1;
}

double largest_error(const std::vector<std::vector<float>>& computed, const LayerValues& expected) {
  constexpr double kMissing = std::numeric_limits<double>::infinity();
  double worst = computed.size() == expected.size() ? 0 : kMissing;
  for (std::size_t layer = 0; layer < std::min(computed.size(), expected.size()); ++layer) {
    if (computed[layer].size() != expected[layer].size()) {
      return kMissing;
    }
    double largest = 0;
    double difference = 0;
    for (std::size_t i = 0; i < expected[layer].size(); ++i) {
      const double apart = std::abs(static_cast<double>(computed[layer][i]) - expected[layer][i]);
      largest = std::max(largest, std::abs(expected[layer][i]));
      difference = std::isnan(apart) ? kMissing : std::max(difference, apart);
    }
    worst = std::max(worst, difference / largest);
  }
  return worst;
}

scenario::Scenario tiny(const scenario::Scenario& scenario) {
  constexpr int kHeadSize = 4;
  constexpr int kVocabularyPerHead = 6;
  scenario::Scenario small = scenario;
  scenario::Strategy& strategy = small.strategy;
  strategy.data_parallel = std::min(strategy.data_parallel, 2);
  strategy.micro_batch_size = 1;
  scenario::Model& model = small.model;
  model.name = "tiny decoder";
  model.heads = std::max(2, strategy.tensor_parallel);
  model.key_value_heads = model.heads;
  model.head_size = kHeadSize;
  model.hidden = model.heads * kHeadSize;
  model.feed_forward = 2 * model.hidden;
  model.gated_mlp = false;
  model.biases = true;
  model.sequence_length = std::max<std::int64_t>(4, strategy.tensor_parallel);
  model.learned_positions = model.sequence_length;
  model.vocabulary = kVocabularyPerHead * model.heads;
  model.custom.reset();
  small.disturbances = {};
  small.simulation.fold = false;
  small.simulation.collective_form = scenario::CollectiveForm::kFluid;
  return small;
}

tl::expected<report::StepCheck, error::Infeasible> check(const scenario::Scenario& scenario,
                                                         const pipeline::Catalogs& catalogs, int random_orders) {
  const scenario::Scenario small = tiny(scenario);
  if (std::string reason = refusal(small); !reason.empty()) {
    return tl::unexpected(error::Infeasible{std::move(reason)});
  }
  const auto prepared = pipeline::prepare(small, catalogs);
  if (!prepared) {
    return tl::unexpected(prepared.error());
  }
  const auto reference = reference_of(small, prepared->table);
  if (!reference) {
    return tl::unexpected(reference.error());
  }
  report::StepCheck verdict = describe(scenario, small);
  verdict.loss = reference->loss;
  for (int seed = 0; seed <= random_orders && verdict.fault.empty(); ++seed) {
    auto backend = make_numeric_backend(small, prepared->table, prepared->graph, prepared->deployment);
    if (!backend) {
      return tl::unexpected(backend.error());
    }
    try {
      (void)execute(prepared->graph, prepared->deployment, order_of(prepared->graph, seed), **backend);
    } catch (const error::InternalError& missing) {  // of the graph, which is what is being checked
      verdict.fault = missing.what();
      break;
    }
    const Step& step = (*backend)->step();
    if (step.copies.size() != 1) {
      return tl::unexpected(two_copies(small, step));
    }
    ++verdict.orders;
    hold(step, *reference, small.strategy.update == scenario::Update::kAfterGlobalNorm, verdict);
  }
  return verdict;
}

tl::expected<report::StepCheck, error::Infeasible> check_on_ranks(const scenario::Scenario& scenario,
                                                                  const pipeline::Catalogs& catalogs, int executions,
                                                                  cpu::Wires wires) {
  scenario::Scenario small = tiny(scenario);
  small.simulation.collective_algorithm = "ring";
  if (std::string reason = refusal(small); !reason.empty()) {
    return tl::unexpected(error::Infeasible{std::move(reason)});
  }
  const auto executable = make_executable(small, catalogs, scenario::CollectiveForm::kMessage);
  if (!executable) {
    return tl::unexpected(executable.error());
  }
  const auto reference = reference_of(small, executable->prepared.table);
  if (!reference) {
    return tl::unexpected(reference.error());
  }
  RankSettings settings;
  settings.wires = wires;
  settings.executions = executions;
  const auto computed = steps_on_ranks(small, *executable, settings);
  if (!computed) {
    return tl::unexpected(computed.error());
  }
  report::StepCheck verdict = describe(scenario, small);
  verdict.transport = cpu::name_of(wires);
  verdict.loss = reference->loss;
  verdict.fault = computed->fault;
  for (const Step& step : computed->steps) {
    if (step.copies.size() != 1) {
      return tl::unexpected(two_copies(small, step));
    }
    ++verdict.orders;
    hold(step, *reference, small.strategy.update == scenario::Update::kAfterGlobalNorm, verdict);
  }
  return verdict;
}

}  // namespace lamina::validate::numeric
