#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/two_stages.hpp"
#include "validate/cpu/merge.hpp"
#include "validate/cpu/plan.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::cpu {
namespace {

/// A record in which operation i of a rank runs from i + offset to i + offset + 10.
std::string record(const pipeline::Prepared& prepared, std::int32_t rank, double offset) {
  Execution execution;
  execution.timeline.spans.resize(2);
  execution.processor_s.resize(2);
  const auto count = prepared.graph.programs[static_cast<std::size_t>(rank)].operations.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double start = static_cast<double>(i) + offset;
    execution.timeline.spans[static_cast<std::size_t>(rank)].push_back({start, start + 10});
    execution.processor_s[static_cast<std::size_t>(rank)].push_back(0.5);
  }
  execution.involuntary_switches = 3;
  return pack(execution, rank);
}

TEST(Merge, StartsAMessageWhenItsLastEndHasCome) {
  const pipeline::Prepared prepared = tests::two_stages(1e-2);
  const Execution merged =
      merge({record(prepared, 0, 0), record(prepared, 1, 0.25)}, prepared.graph, prepared.deployment);
  EXPECT_EQ(merged.involuntary_switches, 6);
  int messages = 0;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const graph::Program& program = prepared.graph.programs[rank];
    for (std::uint32_t i = 0; i < program.operations.size(); ++i) {
      const double own = static_cast<double>(i) + (rank == 0 ? 0 : 0.25);
      double expected = own;
      const std::uint32_t partner = prepared.graph.partner[prepared.graph.vertex(static_cast<int>(rank), i)];
      if (partner != graph::OperationGraph::kNoPartner) {
        const std::uint32_t there = partner - prepared.graph.first_vertex[1 - rank];
        expected = std::max(own, static_cast<double>(there) + (rank == 0 ? 0.25 : 0));
        ++messages;
      }
      if (program.operations[i].kind != graph::OperationKind::kCollective) {
        EXPECT_DOUBLE_EQ(merged.timeline.spans[rank][i].start, expected) << rank << ", " << i;
      }
      EXPECT_DOUBLE_EQ(merged.timeline.spans[rank][i].end, own + 10);
    }
  }
  EXPECT_EQ(messages, 4);  // activations one way, gradients the other, both ends
}

TEST(Merge, RefusesRecordsOfAnotherGraphAndCutOffOnes) {
  const pipeline::Prepared prepared = tests::two_stages(1e-2);
  const std::string whole = record(prepared, 0, 0);
  const std::string other = record(prepared, 1, 0);
  EXPECT_THROW((void)merge({whole.substr(0, whole.size() / 2), other}, prepared.graph, prepared.deployment),
               error::EnvironmentError);
  ranks::Packer empty;
  empty.array(std::vector<timeline::Span>{});
  empty.array(std::vector<double>{});
  empty.value(std::int64_t{0});
  EXPECT_THROW((void)merge({empty.take(), other}, prepared.graph, prepared.deployment), error::EnvironmentError);
}

TEST(Plan, HasAPipePerChannelAndARingPerGroupAndPhase) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.pipeline_parallel = 2;
  scenario.strategy.data_parallel = 2;
  scenario.strategy.schedule = tests::choose_schedule("one_forward_one_backward");
  scenario.simulation.fold = false;
  scenario.simulation.collective_form = scenario::CollectiveForm::kMessage;
  const auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  ASSERT_TRUE(prepared.has_value());
  const auto plan = plan_pipes(prepared->graph, prepared->deployment);
  ASSERT_TRUE(plan.has_value());
  std::size_t edges = 0;
  for (const auto& [key, first] : plan->rings) {
    const auto size = static_cast<std::size_t>(prepared->deployment.groups[static_cast<std::size_t>(key.first)].size);
    for (std::size_t i = 0; i < size; ++i) {
      const Pipe& edge = plan->pipes.at(first + i);
      const auto& members = prepared->deployment.groups[static_cast<std::size_t>(key.first)].members;
      EXPECT_EQ(edge.from, members[i]);
      EXPECT_EQ(edge.to, members[(i + 1) % size]);
      EXPECT_GT(edge.most_bytes, 0U);
    }
    edges += size;
  }
  EXPECT_EQ(plan->pipes.size(), prepared->deployment.channels.size() + edges);
  for (std::size_t channel = 0; channel < prepared->deployment.channels.size(); ++channel) {
    EXPECT_EQ(plan->pipes[channel].from, prepared->deployment.channels[channel].sender);
    EXPECT_EQ(plan->pipes[channel].to, prepared->deployment.channels[channel].receiver);
  }
}

TEST(Plan, RefusesHierarchicalCollectives) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.cluster.nodes = 2;
  scenario.strategy.data_parallel = 8;
  scenario.simulation.fold = false;
  scenario.simulation.collective_algorithm = "hierarchical";
  scenario.simulation.collective_form = scenario::CollectiveForm::kMessage;
  const auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  ASSERT_TRUE(prepared.has_value());
  const auto plan = plan_pipes(prepared->graph, prepared->deployment);
  ASSERT_FALSE(plan.has_value());
  EXPECT_NE(plan.error().reason.find("ring"), std::string::npos);
}

}  // namespace
}  // namespace lamina::validate::cpu
