// What `lamina export chakra` writes, node by node.
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/chakra/export.hpp"
#include "sim/chakra/trace.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/chakra_bytes.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::chakra {
namespace {

namespace et = tests::et;

/// Two pipeline ranks of one 1.0000004 s layer each, two micro-batches.
scenario::Scenario two_stages() {
  scenario::Scenario scenario = tests::delayed_scenario(2, 2, 1e-3);
  scenario.model.custom->forward = Seconds(1.0000004);
  scenario.model.custom->message = Bytes(1e6);
  scenario.strategy.micro_batches = 2;
  scenario.simulation.fold = false;
  return scenario;
}

pipeline::Prepared prepared(const scenario::Scenario& scenario) {
  auto result = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  EXPECT_TRUE(result.has_value());
  return std::move(*result);
}

RankTrace read_back(const Exporter& exporter, int rank) {
  const auto ranks = static_cast<int>(exporter.ranks());
  const Groups groups = read_groups(exporter.groups_file(), "comm_groups.json", ranks);
  std::istringstream stream(exporter.rank_file(static_cast<std::size_t>(rank)));
  return read_rank(stream, {"step", rank, ranks, &groups});
}

TEST(ChakraExport, StartsWithTheVersion) {
  const pipeline::Prepared step = prepared(two_stages());
  const std::string file = Exporter(step.graph, step.deployment).rank_file(0);
  EXPECT_EQ(file.substr(0, et::metadata().size()), et::metadata());
}

TEST(ChakraExport, WritesWholeMicrosecondsAndTheNanosecondsBesideThem) {
  const pipeline::Prepared step = prepared(two_stages());
  const std::string file = Exporter(step.graph, step.deployment).rank_file(0);
  EXPECT_NE(file.find(et::number(7, 1'000'000)), std::string::npos);
  EXPECT_NE(file.find(et::attribute("duration_ns", et::bits(3, 1.0000004 * 1e9))), std::string::npos);
}

// 1F1B on the first of two ranks: F0 F1 B0 B1; each forward is sent, each backward waits for a gradient.
TEST(ChakraExport, WritesEveryOperationWithItsOtherEnd) {
  const pipeline::Prepared step = prepared(two_stages());
  const Exporter exporter(step.graph, step.deployment);
  ASSERT_EQ(exporter.ranks(), 2U);
  const RankTrace first = read_back(exporter, 0);
  std::map<NodeKind, int> count;
  for (const Node& node : first.nodes) {
    ++count[node.kind];
    if (node.kind == NodeKind::kSend || node.kind == NodeKind::kReceive) {
      EXPECT_EQ(node.peer, 1);
      EXPECT_EQ(node.bytes, 1e6);
    }
  }
  EXPECT_EQ(count[NodeKind::kSend], 2);
  EXPECT_EQ(count[NodeKind::kReceive], 2);
  EXPECT_EQ(count[NodeKind::kCompute], 4);  // the update takes no time here
  EXPECT_NE(exporter.rank_file(0).find(et::attribute("comm_src", et::number(7, 0))), std::string::npos);
}

TEST(ChakraExport, IdsCountFromZeroAndDependenciesComeBefore) {
  const pipeline::Prepared step = prepared(two_stages());
  const RankTrace trace = read_back(Exporter(step.graph, step.deployment), 1);
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    EXPECT_EQ(trace.nodes[i].id, i);
    for (std::uint32_t k = 0; k < trace.nodes[i].dependencies; ++k) {
      EXPECT_LT(trace.dependencies[trace.nodes[i].first_dependency + k], i);
    }
  }
}

TEST(ChakraExport, WritesEveryGroupOnceWithTheDevicesOfItsMembers) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.tensor_parallel = 2;
  scenario.strategy.data_parallel = 2;
  scenario.simulation.fold = false;
  const pipeline::Prepared step = prepared(scenario);
  const Exporter exporter(step.graph, step.deployment);
  const Groups groups = read_groups(exporter.groups_file(), "comm_groups.json", 4);
  std::vector<std::vector<std::int32_t>> members;
  for (std::size_t i = 1; i < groups.all.size(); ++i) {
    members.push_back(groups.all[i].members);
  }
  // The default placement puts tensor ranks side by side.
  EXPECT_THAT(members, testing::IsSupersetOf(std::vector<std::vector<std::int32_t>>{{0, 1}, {2, 3}, {0, 2}, {1, 3}}));
}

// An all-gather's size is a shard there (ASTRA-sim's reading), and everything here.
TEST(ChakraExport, SizesOfCollectivesAreOneRanksPart) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.data_parallel = 4;
  scenario.strategy.sharding.level = scenario::ShardingLevel::kFull;
  scenario.simulation.fold = false;
  const pipeline::Prepared step = prepared(scenario);
  const graph::Program& program = step.graph.programs.at(0);
  const auto gather = std::find_if(program.operations.begin(), program.operations.end(), [](const auto& operation) {
    return operation.kind == graph::OperationKind::kCollective &&
           operation.collective == graph::CollectiveKind::kAllGather;
  });
  ASSERT_NE(gather, program.operations.end());
  const Exporter exporter(step.graph, step.deployment);
  const std::string file = exporter.rank_file(0);
  const auto gather_of = [](double size) {
    return et::integer("comm_type", 2) + et::integer("comm_size", std::llround(size));
  };
  EXPECT_NE(file.find(gather_of(gather->bytes / 4)), std::string::npos);
  EXPECT_EQ(file.find(gather_of(gather->bytes)), std::string::npos);
}

TEST(ChakraExport, TheSameScenarioGivesTheSameBytes) {
  const pipeline::Prepared one = prepared(two_stages());
  const pipeline::Prepared other = prepared(two_stages());
  EXPECT_EQ(Exporter(one.graph, one.deployment).rank_file(1), Exporter(other.graph, other.deployment).rank_file(1));
}

}  // namespace
}  // namespace lamina::chakra
