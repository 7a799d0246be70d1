#include "tests/support/numeric_step.hpp"

#include <cmath>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "tests/support/random_scenario.hpp"
#include "validate/execute.hpp"
#include "validate/issue_order.hpp"
#include "validate/numeric/check.hpp"

namespace lamina::tests {
namespace {

validate::IssueOrder order_of(const graph::OperationGraph& graph, std::optional<unsigned> seed) {
  if (!seed) {
    return validate::issue_order(graph);
  }
  std::mt19937 random(*seed);
  std::vector<double> due;
  for (std::size_t vertex = 0; vertex < graph.size(); ++vertex) {
    due.push_back(static_cast<double>(random()));
  }
  return validate::issue_order(graph, due);
}

}  // namespace

scenario::Scenario tiny_decoder(int layers) {
  scenario::Scenario scenario = small_scenario();
  scenario::Model& model = scenario.model;
  model.name = "tiny";
  model.layers = layers;
  model.hidden = 8;
  model.sequence_length = 4;
  model.heads = 2;
  model.key_value_heads = 2;
  model.head_size = 4;
  model.feed_forward = 16;
  model.vocabulary = 12;
  model.learned_positions = 4;
  return scenario;
}

tl::expected<pipeline::Prepared, error::Infeasible> prepare_whole(scenario::Scenario scenario) {
  scenario.simulation.fold = false;
  scenario.cluster.nodes = (scenario.strategy.ranks() + 3) / 4;
  return pipeline::prepare(scenario, pipeline::builtin_catalogs());
}

validate::numeric::Step compute_step(const scenario::Scenario& scenario, const pipeline::Prepared& prepared,
                                     std::optional<unsigned> seed) {
  auto backend = validate::numeric::make_numeric_backend(scenario, prepared.table, prepared.graph, prepared.deployment);
  if (!backend) {
    throw error::InternalError(backend.error().reason);
  }
  (void)validate::execute(prepared.graph, prepared.deployment, order_of(prepared.graph, seed), **backend);
  return (*backend)->step();
}

validate::numeric::ReferenceStep reference_of(const scenario::Scenario& scenario, const pipeline::Prepared& prepared) {
  const auto shape = validate::numeric::shape_of(scenario);
  return validate::numeric::reference_step(*shape, validate::numeric::has_own_matrix(scenario, prepared.table),
                                           static_cast<int>(scenario.strategy.global_batch()),
                                           validate::numeric::optimizer_of(scenario.strategy));
}

std::string find_difference(const scenario::Scenario& scenario, const validate::numeric::Step& step,
                            const validate::numeric::ReferenceStep& reference) {
  std::string text;
  const auto check = [&](const char* what, double error) {
    if (!(error <= report::kSameStep)) {
      text += fmt::format("{}{} off by {:.3g}", text.empty() ? "" : ", ", what, error);
    }
  };
  check("loss", std::abs(step.loss / reference.loss - 1));
  check("replicas", step.disagreement);
  if (step.copies.size() != 1) {
    return fmt::format("{} copies of the model", step.copies.size());
  }
  check("gradients", validate::numeric::largest_error(step.copies.front().gradients, reference.gradients));
  check("weights", validate::numeric::largest_error(step.copies.front().weights, reference.weights));
  if (scenario.strategy.update == scenario::Update::kAfterGlobalNorm && step.norm > 0) {
    check("norm", std::abs(std::sqrt(step.norm) / reference.norm - 1));
  }
  return text;
}

}  // namespace lamina::tests
