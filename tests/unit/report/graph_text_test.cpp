#include "sim/report/graph_text.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::report {
namespace {

using ::testing::HasSubstr;

graph::OperationGraph two_ranks() {
  scenario::Scenario scenario = tests::delayed_scenario(2, 2, 0.5);
  scenario.strategy.micro_batches = 1;
  return pipeline::prepare(scenario, pipeline::builtin_catalogs()).value().graph;
}

TEST(GraphText, HasOneLinePerOperationWithBothEndsOfAMessage) {
  const graph::OperationGraph graph = two_ranks();
  EXPECT_THAT(graph_text_head(graph, "tiny"), HasSubstr("# tiny: operation graph, 2 pipeline ranks"));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const std::string text = to_graph_text(graph, rank);
    const auto streams = static_cast<long>(graph.programs[rank].streams.size());
    const auto operations = static_cast<long>(graph.programs[rank].operations.size());
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 + streams + operations) << text;
  }
  const std::string first = to_graph_text(graph, 0);
  EXPECT_THAT(first, HasSubstr("0F0"));
  EXPECT_THAT(first, HasSubstr("send to rank 1, stage 0, micro-batch 0"));
  EXPECT_THAT(first, ::testing::ContainsRegex("0SEND_F0 .*after 0\\.[0-9]+  with 1\\.0"));
  EXPECT_THAT(to_graph_text(graph, 1), ::testing::ContainsRegex("1RECV_F0 .*with 0\\.[0-9]+"));
}

TEST(GraphText, NamesWhatTheFirstForwardOfTheSecondRankWaitsFor) {
  EXPECT_THAT(to_graph_text(two_ranks(), 1), ::testing::ContainsRegex("1F0 .*1\\.00 s.*after 1\\.0"));
}

}  // namespace
}  // namespace lamina::report
