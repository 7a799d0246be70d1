#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/graph/meetings.hpp"
#include "tests/support/numeric_step.hpp"
#include "tests/support/random_scenario.hpp"
#include "validate/execute.hpp"
#include "validate/issue_order.hpp"

/// A check is worth what it finds: every dependency of a graph, taken out, must spoil the step.
namespace lamina {
namespace {

using graph::OperationKind;
using graph::Phase;
using Neighbours = std::vector<std::vector<std::uint32_t>>;

/// Operations, those that happen together as one.
struct Order {
  std::vector<std::uint32_t> leader;
  Neighbours before;
  Neighbours after;
};

Order order_of(const graph::OperationGraph& graph) {
  Order order{graph::meetings(graph), Neighbours(graph.size()), Neighbours(graph.size())};
  for (std::uint32_t vertex = 0; vertex < graph.size(); ++vertex) {
    const auto [begin, end] = out_edges(vertex, graph.edges);
    for (auto edge = begin; edge != end; ++edge) {
      const std::uint32_t next = order.leader[target(*edge, graph.edges)];
      order.before[next].push_back(order.leader[vertex]);
      order.after[order.leader[vertex]].push_back(next);
    }
  }
  return order;
}

/// [vertex] 1: reached from `start`, itself included.
std::vector<char> reached(const Neighbours& neighbours, std::uint32_t start) {
  std::vector<char> seen(neighbours.size(), 0);
  std::vector<std::uint32_t> open = {start};
  seen[start] = 1;
  while (!open.empty()) {
    const std::uint32_t vertex = open.back();
    open.pop_back();
    for (const std::uint32_t next : neighbours[vertex]) {
      if (seen[next] == 0) {
        seen[next] = 1;
        open.push_back(next);
      }
    }
  }
  return seen;
}

/// What only paces or only holds memory back, so that numbers come out right without it: copies from the host begin two
/// tasks before their use, not sooner; a restore for the backward of the embedding, which reads no weights; the sum of
/// a tied matrix waits for all reductions of its rank, as Megatron-LM's does.
bool carries_no_data(const graph::Operation& before, const graph::Operation& after) {
  const bool paces_copy =
      before.kind != OperationKind::kHostCopy && after.kind == OperationKind::kHostCopy && !after.to_host;
  const auto embedding_backward = [](const graph::Operation& operation) {
    return operation.layer == -1 && operation.kind == OperationKind::kCompute && operation.phase != Phase::kForward;
  };
  const bool unread_restore = (embedding_backward(before) && after.phase == Phase::kRestore) ||
                              (before.phase == Phase::kRestore && embedding_backward(after));
  const bool other_reduction =
      after.group == graph::GroupKind::kEmbedding && before.layer != -1 && before.layer != after.layer;
  return paces_copy || unread_restore || other_reduction;
}

/// A graph with one dependency less.
class Damaged {
 public:
  Damaged(const scenario::Scenario& scenario, const pipeline::Prepared& prepared, std::size_t program,
          std::pair<std::uint32_t, std::uint32_t> dependency)
      : scenario_(scenario), prepared_(prepared) {
    std::vector<graph::Program> programs = prepared.graph.programs;
    std::erase(programs[program].dependencies, dependency);
    graph_ = graph::freeze(std::move(programs));
    order_ = order_of(graph_);
    const int rank = static_cast<int>(program);
    before_ = order_.leader[graph_.vertex(rank, dependency.first)];
    after_ = order_.leader[graph_.vertex(rank, dependency.second)];
  }

  /// The rest of the graph demands the same order.
  [[nodiscard]] bool is_implied() const { return reached(order_.before, after_)[before_] != 0; }

  /// Whether the step is spoilt when what waited comes as early as it can and what it waited for as late as it can.
  [[nodiscard]] bool is_seen(const validate::numeric::ReferenceStep& reference) const {
    const std::vector<char> needed = reached(order_.before, after_);
    std::vector<char> ready = reached(order_.before, before_);
    const std::vector<char> late = reached(order_.after, before_);
    ready[before_] = 0;
    for (const bool early_too : {false, true}) {  // what comes before both, too
      std::vector<double> due(graph_.size(), 1);
      for (std::uint32_t vertex = 0; vertex < graph_.size(); ++vertex) {
        const std::uint32_t at = order_.leader[vertex];
        if (needed[at] != 0 || (early_too && ready[at] != 0)) {
          due[vertex] = early_too && ready[at] != 0 ? 0 : 0.5;
        } else if (late[at] != 0) {
          due[vertex] = 2;
        }
      }
      if (spoils(due, reference)) {
        return true;
      }
    }
    return false;
  }

 private:
  [[nodiscard]] bool spoils(const std::vector<double>& due, const validate::numeric::ReferenceStep& reference) const {
    const auto backend =
        validate::numeric::make_numeric_backend(scenario_, prepared_.table, graph_, prepared_.deployment);
    try {
      (void)validate::execute(graph_, prepared_.deployment, validate::issue_order(graph_, due), **backend);
    } catch (const error::InternalError&) {
      return true;
    }
    return !tests::find_difference(scenario_, (*backend)->step(), reference).empty();
  }

  const scenario::Scenario& scenario_;
  const pipeline::Prepared& prepared_;
  graph::OperationGraph graph_;
  Order order_;
  std::uint32_t before_ = 0;
  std::uint32_t after_ = 0;
};

scenario::Scenario small_case(const char* schedule) {
  scenario::Scenario scenario = tests::tiny_decoder(4);
  scenario.strategy.schedule = tests::choose_schedule(schedule);
  scenario.strategy.pipeline_parallel = 2;
  scenario.strategy.data_parallel = 2;
  scenario.strategy.recompute = scenario::Recompute::kFull;
  return scenario;
}

void expect_every_dependency_needed(const scenario::Scenario& scenario) {
  const auto prepared = tests::prepare_whole(scenario);
  ASSERT_TRUE(prepared.has_value()) << prepared.error().reason;
  const auto reference = tests::reference_of(scenario, *prepared);
  ASSERT_EQ(tests::find_difference(scenario, tests::compute_step(scenario, *prepared), reference), "");
  int seen = 0;
  for (std::size_t program = 0; program < prepared->graph.programs.size(); ++program) {
    const auto& operations = prepared->graph.programs[program].operations;
    for (const auto& dependency : prepared->graph.programs[program].dependencies) {
      const Damaged damaged(scenario, *prepared, program, dependency);
      if (damaged.is_implied() || carries_no_data(operations[dependency.first], operations[dependency.second])) {
        continue;
      }
      ++seen;
      EXPECT_TRUE(damaged.is_seen(reference))
          << graph::describe(prepared->graph, prepared->graph.vertex(static_cast<int>(program), dependency.first))
          << " -> "
          << graph::describe(prepared->graph, prepared->graph.vertex(static_cast<int>(program), dependency.second));
    }
  }
  EXPECT_GE(seen, 24);  // a receive and a send per micro-batch, rank and direction, and the reductions
}

class Dependencies : public testing::TestWithParam<const char*> {};

TEST_P(Dependencies, AreAllNeededAndMissedAtOnceWhenTakenOut) {
  for (const auto level : {scenario::ShardingLevel::kNone, scenario::ShardingLevel::kOptimizer,
                           scenario::ShardingLevel::kGradients, scenario::ShardingLevel::kFull}) {
    for (const bool offload : {false, true}) {
      for (const int tensor : {1, 2}) {
        scenario::Scenario scenario = small_case(GetParam());
        scenario.strategy.sharding.level = level;
        scenario.strategy.tensor_parallel = tensor;
        scenario.strategy.offload.state = offload;
        scenario.strategy.offload.checkpoints = offload;
        SCOPED_TRACE(fmt::format("sharding {}, offload {}, tensor {}", static_cast<int>(level), offload, tensor));
        expect_every_dependency_needed(scenario);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, Dependencies,
                         testing::Values("one_forward_one_backward", "layered_modular", "zero_bubble_h1", "dual_pipe_v",
                                         "interleaved"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST(Dependencies, OfTheUpdateOnItsReductionAreNeeded) {
  scenario::Scenario scenario = small_case("layered_modular");
  scenario.strategy.update = scenario::Update::kWithReduction;
  scenario.strategy.sharding.level = scenario::ShardingLevel::kFull;
  expect_every_dependency_needed(scenario);
}

TEST(Dependencies, OfATiedMatrixAreNeeded) {
  for (const bool offload : {false, true}) {
    scenario::Scenario scenario = small_case("one_forward_one_backward");
    scenario.model.tied_embeddings = true;
    scenario.strategy.update = scenario::Update::kWithReduction;
    scenario.strategy.offload.state = offload;
    expect_every_dependency_needed(scenario);
  }
}

}  // namespace
}  // namespace lamina
