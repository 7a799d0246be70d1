#include "validate/issue_order.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/graph/meetings.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::validate {
namespace {

graph::Operation on_stream(graph::OperationKind kind, std::uint16_t stream, std::uint16_t channel = 0) {
  graph::Operation operation;
  operation.kind = kind;
  operation.stream = stream;
  operation.channel = channel;
  return operation;
}

graph::Program two_streams() {
  graph::Program program;
  program.streams = {{graph::StreamKind::kCompute, "compute"}, {graph::StreamKind::kPipeline, "messages"}};
  return program;
}

/// Rank 0 sends to rank 1 and rank 1 to rank 0, each after its own compute; one communication stream a rank.
graph::OperationGraph two_ranks_that_exchange() {
  std::vector<graph::Program> programs;
  for (const int peer : {1, 0}) {
    graph::Program program = two_streams();
    program.channels = {{.peer = peer, .peer_channel = 1, .sends = true},
                        {.peer = peer, .peer_channel = 0, .sends = false}};
    const std::uint16_t sends_first = peer == 1 ? 0 : 1;
    program.operations = {
        on_stream(graph::OperationKind::kCompute, 0),
        on_stream(sends_first == 0 ? graph::OperationKind::kSend : graph::OperationKind::kReceive, 1, sends_first),
        on_stream(sends_first == 0 ? graph::OperationKind::kReceive : graph::OperationKind::kSend, 1,
                  sends_first == 0 ? 1 : 0)};
    program.dependencies = {{0, sends_first == 0 ? 1U : 2U}};
    programs.push_back(program);
  }
  return graph::freeze(std::move(programs));
}

std::vector<std::size_t> positions(const IssueOrder& order) {
  std::vector<std::size_t> position(order.vertices.size());
  for (std::size_t i = 0; i < order.vertices.size(); ++i) {
    position[order.vertices[i]] = i;
  }
  return position;
}

void expect_linear_extension(const graph::OperationGraph& graph, const IssueOrder& order) {
  ASSERT_EQ(order.vertices.size(), graph.size());
  std::vector<std::uint32_t> sorted = order.vertices;
  std::sort(sorted.begin(), sorted.end());
  for (std::uint32_t vertex = 0; vertex < graph.size(); ++vertex) {
    ASSERT_EQ(sorted[vertex], vertex);
  }
  const auto position = positions(order);
  for (std::uint32_t vertex = 0; vertex < graph.size(); ++vertex) {
    const auto [begin, end] = out_edges(vertex, graph.edges);
    for (auto edge = begin; edge != end; ++edge) {
      ASSERT_LT(position[vertex], position[target(*edge, graph.edges)]) << graph::describe(graph, vertex);
    }
  }
}

TEST(IssueOrder, PointsForwardAndKeepsMeetingsTogether) {
  const graph::OperationGraph graph = two_ranks_that_exchange();
  const IssueOrder order = issue_order(graph);
  expect_linear_extension(graph, order);
  EXPECT_EQ(find_blocked(graph, order), "");
  const auto position = positions(order);
  for (std::uint32_t vertex = 0; vertex < graph.size(); ++vertex) {
    if (graph.partner[vertex] != graph::OperationGraph::kNoPartner) {
      const auto apart =
          static_cast<std::ptrdiff_t>(position[vertex]) - static_cast<std::ptrdiff_t>(position[graph.partner[vertex]]);
      EXPECT_EQ(std::abs(apart), 1);
    }
  }
}

TEST(IssueOrder, FollowsTheDatesWhereItMay) {
  graph::Program program = two_streams();
  program.operations = {on_stream(graph::OperationKind::kCompute, 0), on_stream(graph::OperationKind::kHostCopy, 1),
                        on_stream(graph::OperationKind::kCompute, 0)};
  const graph::OperationGraph graph = graph::freeze({program});
  EXPECT_EQ(issue_order(graph, {0, 2, 1}).vertices, (std::vector<std::uint32_t>{0, 2, 1}));
  EXPECT_EQ(issue_order(graph, {0, 0.5, 1}).vertices, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(IssueOrder, OfAnotherNumberOfDatesIsRefused) {
  graph::Program program = two_streams();
  program.operations = {on_stream(graph::OperationKind::kCompute, 0)};
  EXPECT_THROW((void)issue_order(graph::freeze({program}), {0, 1}), error::InternalError);
}

TEST(FindBlocked, SeesARankThatReceivesBeforeThePeerCanSend) {
  const graph::OperationGraph graph = two_ranks_that_exchange();
  // Rank 1 waits for the message of rank 0 at its head; rank 0, in one queue, waits for that of rank 1 first.
  IssueOrder order = issue_order(graph);
  order.vertices = {graph.vertex(0, 0), graph.vertex(0, 2), graph.vertex(0, 1),
                    graph.vertex(1, 0), graph.vertex(1, 1), graph.vertex(1, 2)};
  EXPECT_NE(find_blocked(graph, order), "");
}

TEST(FindBlocked, SeesADependencyThatPointsBack) {
  graph::Program program = two_streams();
  program.operations = {on_stream(graph::OperationKind::kCompute, 0), on_stream(graph::OperationKind::kHostCopy, 1)};
  program.dependencies = {{0, 1}};
  const graph::OperationGraph graph = graph::freeze({program});
  IssueOrder order = issue_order(graph);
  EXPECT_EQ(find_blocked(graph, order), "");
  std::swap(order.vertices[0], order.vertices[1]);
  EXPECT_NE(find_blocked(graph, order), "");
}

TEST(FindBlocked, SeesAnOperationThatIsNotInTheOrder) {
  const graph::OperationGraph graph = two_ranks_that_exchange();
  EXPECT_NE(find_blocked(graph, {}), "");
}

class RandomIssueOrder : public testing::TestWithParam<unsigned> {};

TEST_P(RandomIssueOrder, IsALinearExtensionThatOneQueuePerRankCanRun) {
  std::mt19937 random(GetParam());
  const scenario::Scenario scenario = tests::random_scenario(random);
  const auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  ASSERT_TRUE(prepared.has_value()) << prepared.error().reason;
  std::vector<double> due(prepared->graph.size());
  for (double& date : due) {
    date = std::uniform_real_distribution<double>(0, 1)(random);
  }
  const IssueOrder order = issue_order(prepared->graph, due);
  expect_linear_extension(prepared->graph, order);
  EXPECT_EQ(find_blocked(prepared->graph, order), "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomIssueOrder, testing::Range(1U, 21U));

}  // namespace
}  // namespace lamina::validate
