// What must hold for every registered schedule once it is lowered to operations, whatever the strategy around it.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "sim/replay/replay.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina {
namespace {

scenario::Scenario plain(int ranks) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.pipeline_parallel = ranks;
  scenario.strategy.micro_batches = 8;
  scenario.strategy.data_parallel = 2;
  scenario.cluster.nodes = 8;
  return scenario;
}

/// Sharded and recomputed, with one buffer of each kind.
scenario::Scenario sharded(int ranks) {
  scenario::Scenario scenario = plain(ranks);
  scenario.strategy.sharding = {scenario::ShardingLevel::kFull, 1, 1, true};
  scenario.strategy.recompute = scenario::Recompute::kFull;
  scenario.strategy.update = scenario::Update::kWithReduction;
  return scenario;
}

/// Everything offloaded and nothing overlapped, on tensor-parallel ranks with sliced messages.
scenario::Scenario offloaded(int ranks) {
  scenario::Scenario scenario = plain(ranks);
  scenario.strategy.tensor_parallel = 2;
  scenario.strategy.sequence_parallel = true;
  scenario.strategy.sharding = {scenario::ShardingLevel::kGradients, 2, 2, false};
  scenario.strategy.recompute = scenario::Recompute::kSelective;
  scenario.strategy.overlap = {false, false, false, false};
  scenario.strategy.offload.state = true;
  scenario.strategy.offload.checkpoints = true;
  return scenario;
}

/// PyTorch's runtime: communication as its lowering places it.
scenario::Scenario looking_ahead(int ranks) {
  scenario::Scenario scenario = plain(ranks);
  scenario.strategy.sharding = {scenario::ShardingLevel::kFull, 2, 2, true};
  scenario.strategy.sharding.residency = scenario::Residency::kLookAhead;
  scenario.strategy.point_to_point = scenario::PointToPoint::kEarlyPosted;
  return scenario;
}

/// Messages in batches that both sides wait for.
scenario::Scenario rendezvous(int ranks) {
  scenario::Scenario scenario = plain(ranks);
  scenario.strategy.point_to_point = scenario::PointToPoint::kFusedRendezvous;
  return scenario;
}

/// Embedding and head share a matrix.
scenario::Scenario tied(int ranks) {
  scenario::Scenario scenario = plain(ranks);
  scenario.model.vocabulary = 4096;
  scenario.model.tied_embeddings = true;
  return scenario;
}

class LoweredSchedule : public ::testing::TestWithParam<std::string> {
 protected:
  /// Calls `check` for every scenario that the schedule serves.
  template <class Check>
  void for_each_scenario(Check check) const {
    const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
    int served = 0;
    for (const auto& make : {plain, sharded, offloaded, tied, looking_ahead, rendezvous}) {
      for (const int ranks : {1, 2, 4}) {
        scenario::Scenario scenario = make(ranks);
        scenario.strategy.schedule = {GetParam(), defaults(catalogs)};
        const auto prepared = pipeline::prepare(scenario, catalogs);
        if (!prepared) {
          continue;
        }
        ++served;
        SCOPED_TRACE(::testing::Message() << ranks << " ranks");
        check(*prepared, scenario);
      }
    }
    EXPECT_GT(served, 0);
  }

 private:
  static catalog::Parameters defaults(const pipeline::Catalogs& catalogs) {
    catalog::Parameters parameters;
    for (const catalog::ParameterSpec& spec : catalogs.schedules.find(GetParam())->info.parameters) {
      if (spec.kind == catalog::ParameterKind::kChoice) {
        parameters.set_choice(spec.name, spec.default_value);
      } else if (spec.kind == catalog::ParameterKind::kBoolean) {
        parameters.set_number(spec.name, spec.default_value == "true" ? 1 : 0);
      } else {
        parameters.set_number(spec.name, std::stod(spec.default_value));
      }
    }
    return parameters;
  }
};

TEST_P(LoweredSchedule, HasNoDeadlock) {
  for_each_scenario([](const pipeline::Prepared& prepared, const scenario::Scenario&) {
    EXPECT_EQ(graph::find_deadlock(prepared.graph), "");
  });
}

TEST_P(LoweredSchedule, GivesBackAllMemoryThatItTakes) {
  for_each_scenario([](const pipeline::Prepared& prepared, const scenario::Scenario&) {
    for (std::size_t rank = 0; rank < prepared.graph.programs.size(); ++rank) {
      std::array<double, graph::kMemoryCategories> taken{};
      std::array<double, graph::kMemoryCategories> balance{};
      for (const graph::MemoryEffect& effect : prepared.graph.programs[rank].memory_effects) {
        balance[static_cast<std::size_t>(effect.category)] += effect.bytes;
        taken[static_cast<std::size_t>(effect.category)] += std::max(0.0, effect.bytes);
      }
      for (std::size_t category = 0; category < balance.size(); ++category) {
        EXPECT_NEAR(balance[category], 0, 1e-9 * taken[category])
            << "rank " << rank << ", " << graph::name_of(static_cast<graph::MemoryCategory>(category));
      }
    }
  });
}

/// Passes of every layer over all ranks, by direction: m each, in one backward or in two halves.
TEST_P(LoweredSchedule, TakesEveryMicroBatchThroughEveryLayerForwardAndBackward) {
  for_each_scenario([](const pipeline::Prepared& prepared, const scenario::Scenario&) {
    std::map<std::pair<int, graph::Phase>, double> seconds;
    for (const graph::Program& program : prepared.graph.programs) {
      for (const graph::Operation& operation : program.operations) {
        if (operation.kind == graph::OperationKind::kCompute) {
          seconds[{operation.layer, operation.phase}] += operation.duration_s;
        }
      }
    }
    double forward = 0;
    double input_gradient = 0;
    double weight_gradient = 0;
    for (const model::BlockCost& block : prepared.work.layer.blocks) {
      forward += block.forward.duration.value();
      input_gradient += block.input_gradient.duration.value();
      weight_gradient += block.weight_gradient.duration.value();
    }
    for (int layer = 0; layer < prepared.work.layers; ++layer) {
      EXPECT_NEAR((seconds[{layer, graph::Phase::kForward}]), 8 * forward, 8e-9 * forward);
      const double whole = seconds[{layer, graph::Phase::kBackward}];
      const double halves =
          seconds[{layer, graph::Phase::kInputGradient}] + seconds[{layer, graph::Phase::kWeightGradient}];
      const double expected = 8 * (input_gradient + weight_gradient);
      EXPECT_NEAR(whole + halves, expected, 1e-9 * expected);
    }
  });
}

/// One message per micro-batch and pair of neighbouring stages on different ranks, each way.
TEST_P(LoweredSchedule, SendsOnlyBetweenStagesOnDifferentRanks) {
  for_each_scenario([](const pipeline::Prepared& prepared, const scenario::Scenario&) {
    std::map<std::pair<int, bool>, int> expected;  // (sending stage, gradients)
    for (const auto& row : prepared.table.actions) {
      for (const schedules::Action& action : row) {
        const bool gradients = action.type != schedules::ActionType::kForward;
        const schedules::Stage& stage = prepared.table.stages[static_cast<std::size_t>(action.stage)];
        const int target = gradients ? stage.previous : stage.next;
        if (action.type != schedules::ActionType::kWeightGradient && target != -1 &&
            prepared.table.stages[static_cast<std::size_t>(target)].rank != stage.rank) {
          ++expected[{action.stage, gradients}];
        }
      }
    }
    std::map<std::pair<int, bool>, int> sent;
    for (const graph::Program& program : prepared.graph.programs) {
      for (const graph::Operation& operation : program.operations) {
        if (operation.kind == graph::OperationKind::kSend) {
          ++sent[{operation.stage, program.channels[operation.channel].gradients}];
        }
      }
    }
    EXPECT_EQ(sent, expected);
  });
}

/// Smallest balance of a category over the replay, in bytes; what is taken at one time counts before what is given
/// back.
double lowest_balance(const graph::Program& program, const std::vector<timeline::Span>& spans,
                      graph::MemoryCategory category) {
  std::vector<std::pair<double, double>> changes;
  for (const graph::MemoryEffect& effect : program.memory_effects) {
    if (effect.category == category) {
      const timeline::Span& span = spans[effect.operation];
      changes.emplace_back(effect.at_end ? span.end : span.start, effect.bytes);
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first < b.first : a.second > b.second; });
  double balance = program.initial_memory[static_cast<std::size_t>(category)];
  double lowest = balance;
  for (const auto& [time, bytes] : changes) {
    balance += bytes;
    lowest = std::min(lowest, balance);
  }
  return lowest;
}

TEST_P(LoweredSchedule, NeverGivesBackMemoryThatItDoesNotHold) {
  for_each_scenario([](const pipeline::Prepared& prepared, const scenario::Scenario&) {
    const timeline::Timeline timeline = replay::replay(prepared.graph, prepared.deployment);
    for (std::size_t i = 0; i < prepared.deployment.ranks.size(); ++i) {
      const auto program = static_cast<std::size_t>(prepared.deployment.ranks[i].program);
      for (int category = 0; category < graph::kMemoryCategories; ++category) {
        const auto which = static_cast<graph::MemoryCategory>(category);
        EXPECT_GE(lowest_balance(prepared.graph.programs[program], timeline.spans[i], which), -1)
            << "pipeline rank " << program << ", " << graph::name_of(which);
      }
    }
  });
}

/// Longest chain of compute through streams, dependencies and messages, seconds: by counting predecessors (Kahn), the
/// two ends of a message as one vertex.
double longest_chain(const graph::OperationGraph& graph) {
  const auto vertices = static_cast<std::uint32_t>(graph.size());
  std::vector<std::uint32_t> leader(vertices);
  std::vector<std::vector<std::uint32_t>> members(vertices);
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    const std::uint32_t partner = graph.partner[vertex];
    leader[vertex] = partner == graph::OperationGraph::kNoPartner ? vertex : std::min(vertex, partner);
    members[leader[vertex]].push_back(vertex);
  }
  std::vector<int> open(vertices, 0);
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    const auto [begin, end] = out_edges(vertex, graph.edges);
    std::for_each(begin, end, [&](const auto& edge) { ++open[leader[target(edge, graph.edges)]]; });
  }
  std::vector<double> start(vertices, 0);
  std::vector<std::uint32_t> ready;
  for (std::uint32_t vertex = 0; vertex < vertices; ++vertex) {
    if (leader[vertex] == vertex && open[vertex] == 0) {
      ready.push_back(vertex);
    }
  }
  double longest = 0;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    for (const std::uint32_t vertex : members[ready[i]]) {
      const graph::Operation& operation = graph.operation(vertex);
      const double end_s =
          start[ready[i]] + (operation.kind == graph::OperationKind::kCompute ? operation.duration_s : 0);
      longest = std::max(longest, end_s);
      const auto [begin, end] = out_edges(vertex, graph.edges);
      std::for_each(begin, end, [&](const auto& edge) {
        const std::uint32_t next = leader[target(edge, graph.edges)];
        start[next] = std::max(start[next], end_s);
        if (--open[next] == 0) {
          ready.push_back(next);
        }
      });
    }
  }
  return longest;
}

/// Compute of the busiest rank and of the longest chain are lower bounds; folding equal ranks changes nothing, and
/// neither does a second run.
TEST_P(LoweredSchedule, ReplaysFoldedAsUnfoldedInNoLessThanItsWorkAndItsCriticalPath) {
  for_each_scenario([](const pipeline::Prepared& prepared, const scenario::Scenario& scenario) {
    const timeline::Timeline folded = replay::replay(prepared.graph, prepared.deployment);
    EXPECT_EQ(replay::replay(prepared.graph, prepared.deployment).end_s, folded.end_s);
    const double chain = longest_chain(prepared.graph);
    EXPECT_GT(chain, 0);
    EXPECT_GE(folded.end_s, chain * (1 - 1e-9));
    double busiest = 0;
    for (const graph::Program& program : prepared.graph.programs) {
      double busy = 0;
      for (const graph::Operation& operation : program.operations) {
        busy += operation.kind == graph::OperationKind::kCompute ? operation.duration_s : 0;
      }
      busiest = std::max(busiest, busy);
    }
    EXPECT_GE(folded.end_s, busiest * (1 - 1e-9));
    scenario::Scenario every_rank = scenario;
    every_rank.simulation.fold = false;
    const auto whole = pipeline::prepare(every_rank, pipeline::builtin_catalogs());
    ASSERT_TRUE(whole) << whole.error().reason;
    EXPECT_GT(whole->deployment.ranks.size(), prepared.deployment.ranks.size());
    EXPECT_NEAR(replay::replay(whole->graph, whole->deployment).end_s, folded.end_s, 1e-9 * folded.end_s);
  });
}

INSTANTIATE_TEST_SUITE_P(AllSchedules, LoweredSchedule, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& plugin : schedules::builtin_schedules().infos()) {
                             names.push_back(plugin.name);
                           }
                           return names;
                         }()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace lamina
