// A trace on a cluster, against closed forms: a message takes latency + bytes / bandwidth; a ring of n members takes
// n - 1 steps of that for a shard (reduce-scatter, all-gather) or 2 (n - 1) (all-reduce).
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/chakra/run_trace.hpp"
#include "sim/chakra/write.hpp"
#include "tests/support/chakra_bytes.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::chakra {
namespace {

namespace et = tests::et;
using testing::AllOf;
using testing::HasSubstr;

constexpr double kLatency = 1e-3;
constexpr double kBandwidth = 1e9;
constexpr std::int64_t kBytes = 4'000'000;
constexpr double kTransfer = static_cast<double>(kBytes) / kBandwidth;  // 4 ms
constexpr double kExact = 1e-12;

/// Nodes of one device behind one switch.
scenario::Scenario cluster(int nodes = 4) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.name = "cluster";
  scenario.cluster.node.devices = 1;
  scenario.cluster.node.nics = 1;
  scenario.cluster.node.device_link_domain = 1;
  scenario.cluster.nodes = nodes;
  scenario.cluster.network = {"n", "", BytesPerSecond(kBandwidth), Seconds(kLatency), Seconds(0), 1.0, {}};
  return scenario;
}

tl::expected<TraceRun, error::Infeasible> try_run(const std::vector<std::string>& nodes,
                                                  const scenario::Scenario& scenario, const std::string& groups = "") {
  return run_trace(et::trace(nodes, groups), "traces/step", scenario, pipeline::builtin_catalogs());
}

TraceReport run(const std::vector<std::string>& nodes, const scenario::Scenario& scenario = cluster(),
                const std::string& groups = "") {
  auto result = try_run(nodes, scenario, groups);
  EXPECT_TRUE(result.has_value());
  return std::move(result->report);
}

double step(const std::vector<std::string>& nodes, const std::string& groups = "") {
  return run(nodes, cluster(), groups).step_s;
}

TEST(ChakraReplay, ComputeRunsOneAtATimeAndCpuOperationsBesideIt) {
  EXPECT_NEAR(step({et::compute(0, 3000) + et::compute(1, 4000)}), 7e-3, kExact);
  const std::string host = et::truth("is_cpu_op", true);
  EXPECT_NEAR(step({et::compute(0, 3000) + et::compute(1, 4000, host)}), 4e-3, kExact);
  EXPECT_NEAR(step({et::compute(0, 3000, host) + et::compute(1, 4000, host)}), 7e-3, kExact);
}

TEST(ChakraReplay, AMessageWaitsForBothEnds) {
  const std::vector<std::string> ranks = {et::compute(0, 5000) + et::send(1, 1, kBytes, 0, et::after({0})),
                                          et::receive(0, 0, kBytes) + et::compute(1, 2000, et::after({0}))};
  EXPECT_NEAR(step(ranks), 5e-3 + kLatency + kTransfer + 2e-3, kExact);
  const std::vector<std::string> late = {et::send(0, 1, kBytes),
                                         et::compute(0, 9000) + et::receive(1, 0, kBytes, 0, et::after({0}))};
  EXPECT_NEAR(step(late), 9e-3 + kLatency + kTransfer, kExact);
}

TEST(ChakraReplay, MessagesThatWaitForNothingAreInFlightTogether) {
  const std::string receives = et::receive(0, 0, kBytes, 1) + et::receive(1, 0, kBytes, 2);
  EXPECT_NEAR(step({et::send(0, 1, kBytes, 1) + et::send(1, 1, kBytes, 2), receives}), kLatency + 2 * kTransfer,
              kExact);
  EXPECT_NEAR(step({et::send(0, 1, kBytes, 1) + et::send(1, 1, kBytes, 2, et::after({0})), receives}),
              2 * (kLatency + kTransfer), kExact);
}

TEST(ChakraReplay, MessagesShareAPortButNotTheTwoDirections) {
  EXPECT_NEAR(
      step({et::send(0, 2, kBytes), et::send(0, 2, kBytes), et::receive(0, 0, kBytes) + et::receive(1, 1, kBytes)}),
      kLatency + 2 * kTransfer, kExact);
  EXPECT_NEAR(
      step({et::send(0, 1, kBytes) + et::receive(1, 1, kBytes), et::send(0, 0, kBytes) + et::receive(1, 0, kBytes)}),
      kLatency + kTransfer, kExact);
}

TEST(ChakraReplay, CollectivesTakeWhatTheirRingTakes) {
  const auto four = [](int type) { return std::vector<std::string>(4, et::collective(0, type, kBytes)); };
  EXPECT_NEAR(step(four(0)), 6 * (kLatency + kTransfer / 4), kExact);  // all-reduce of kBytes
  EXPECT_NEAR(step(four(7)), 3 * (kLatency + kTransfer / 4), kExact);  // reduce-scatter of kBytes
  EXPECT_NEAR(step(four(2)), 3 * (kLatency + kTransfer), kExact);      // all-gather: kBytes is a shard
}

TEST(ChakraReplay, AllToAllMovesAllButOwnShare) {
  const double time = step(std::vector<std::string>(4, et::collective(0, 6, kBytes)));
  EXPECT_GE(time, 0.75 * kTransfer + kLatency - kExact);
  EXPECT_LE(time, 0.75 * kTransfer + 3 * kLatency + kExact);
}

TEST(ChakraReplay, ABarrierHoldsEverybodyUntilTheLast) {
  const std::string groups = R"({"1": [0, 1]})";
  const auto rank = [](std::uint64_t before) {
    return et::compute(0, before) + et::collective(1, 9, 0, "1", et::after({0})) + et::compute(2, 1000, et::after({1}));
  };
  const TraceReport report = run({rank(2000), rank(7000)}, cluster(), groups);
  EXPECT_GE(report.step_s, 8e-3 - kExact);
  EXPECT_LE(report.step_s, 8e-3 + 2 * kLatency + kExact);  // a ring of two: two steps of latency at most
  EXPECT_EQ(report.links.empty() ? 0 : report.links.front().bytes, 0);
}

TEST(ChakraReplay, GroupsMeetByThemselves) {
  const std::string groups = R"({"1": [0, 1], "2": [2, 3]})";
  const std::string left = et::collective(0, 0, kBytes, "1");
  const std::string right = et::compute(0, 50'000) + et::collective(1, 0, kBytes, "2", et::after({0}));
  const TraceReport report = run({left, left, right, right}, cluster(), groups);
  const double ring = 2 * (kLatency + kTransfer / 2);
  EXPECT_NEAR(report.step_s, 50e-3 + ring, kExact);
  EXPECT_NEAR(report.rank_times[0].tail_s, 50e-3, kExact);
}

TEST(ChakraReplay, CopiesUseTheHostPath) {
  scenario::Scenario scenario = cluster();
  scenario.cluster.node.host_path = {"h", "", BytesPerSecond(2e9), Seconds(3e-3), 1};
  const auto copy = [](et::Type type) { return et::node(0, type, et::integer("tensor_size", kBytes)); };
  EXPECT_NEAR(run({copy(et::kLoad)}, scenario).step_s, 3e-3 + 2e-3, kExact);
  EXPECT_NEAR(run({copy(et::kStore)}, scenario).step_s, 3e-3 + 2e-3, kExact);
}

TEST(ChakraReplay, NodesWithoutDurationPassDependenciesOn) {
  EXPECT_NEAR(step({et::compute(0, 2000) + et::node(1, et::kMetadata, et::after({0})) +
                        et::node(2, et::kCompute, et::after({1})) + et::send(3, 1, kBytes, 0, et::after({2})),
                    et::receive(0, 0, kBytes)}),
              2e-3 + kLatency + kTransfer, kExact);
}

// Rank 0: 5 ms compute, then the message (5 ms), then nothing for 2 ms. Rank 1: waits 5 ms, 5 ms of message, 2 ms
// compute.
TEST(ChakraReplay, TheTimesOfARankAddUpToTheStep) {
  const TraceReport report = run({et::compute(0, 5000) + et::send(1, 1, kBytes, 0, et::after({0})),
                                  et::receive(0, 0, kBytes) + et::compute(1, 2000, et::after({0}))});
  ASSERT_EQ(report.rank_times.size(), 2U);
  const auto expect = [](const RankTimes& times, double compute, double exposed, double waiting, double tail) {
    EXPECT_NEAR(times.compute_s, compute, kExact);
    EXPECT_NEAR(times.exposed_s, exposed, kExact);
    EXPECT_NEAR(times.waiting_s, waiting, kExact);
    EXPECT_NEAR(times.tail_s, tail, kExact);
  };
  expect(report.rank_times[0], 5e-3, 5e-3, 0, 2e-3);
  expect(report.rank_times[1], 2e-3, 5e-3, 5e-3, 0);
  EXPECT_NEAR(report.compute_s.least, 2e-3, kExact);
  EXPECT_NEAR(report.compute_s.median, 3.5e-3, kExact);
  EXPECT_NEAR(report.compute_s.most, 5e-3, kExact);
}

TEST(ChakraReplay, CommunicationBehindComputeIsNotExposed) {
  const TraceReport report =
      run({et::compute(0, 20'000) + et::send(1, 1, kBytes), et::compute(0, 20'000) + et::receive(1, 0, kBytes)});
  EXPECT_NEAR(report.step_s, 20e-3, kExact);
  EXPECT_NEAR(report.exposed_s.most, 0, kExact);
}

TEST(ChakraReplay, CountsMessagesAndCollectivesOnce) {
  const std::string all = et::collective(0, 0, kBytes);
  const TraceReport report = run({all + et::send(1, 1, 1000), all + et::receive(1, 0, 1000), all, all});
  EXPECT_EQ(report.ranks, 4);
  EXPECT_EQ(report.nodes, 6);
  EXPECT_EQ(report.messages, 1);
  EXPECT_EQ(report.message_bytes, 1000);
  EXPECT_EQ(report.collectives[0].collectives, 1);
  EXPECT_EQ(report.collectives[0].bytes, static_cast<double>(kBytes));
}

/// A ring of n ranks, each of which computes and passes on.
std::vector<std::string> passing_ring(int ranks) {
  std::vector<std::string> result;
  for (int rank = 0; rank < ranks; ++rank) {
    result.push_back(et::compute(0, 1000) + et::send(1, (rank + 1) % ranks, kBytes, 0, et::after({0})) +
                     et::receive(2, (rank + ranks - 1) % ranks, kBytes) +
                     et::collective(3, 0, kBytes, "", et::after({1, 2})));
  }
  return result;
}

TEST(ChakraReplay, RanksThatDoTheSameAreReplayedOnce) {
  scenario::Scenario scenario = cluster(8);
  const TraceReport folded = run(passing_ring(8), scenario);
  EXPECT_EQ(folded.programs, 1);
  EXPECT_EQ(folded.replayed_ranks, 1);
  scenario.simulation.fold = false;
  const TraceReport whole = run(passing_ring(8), scenario);
  EXPECT_EQ(whole.replayed_ranks, 8);
  EXPECT_NEAR(folded.step_s, whole.step_s, 1e-9 * whole.step_s);
  EXPECT_NEAR(folded.step_s, 1e-3 + kLatency + kTransfer + 14 * (kLatency + kTransfer / 8), 1e-9);
}

TEST(ChakraReplay, MessagesOfACollectiveApartTakeAsLong) {
  scenario::Scenario scenario = cluster(8);
  const double fluid = run(passing_ring(8), scenario).step_s;
  scenario.simulation.collective_form = scenario::CollectiveForm::kMessage;
  EXPECT_NEAR(run(passing_ring(8), scenario).step_s, fluid, 1e-9 * fluid);
}

TEST(ChakraReplay, DisturbancesOfTheClusterHold) {
  scenario::Scenario scenario = cluster();
  const std::vector<std::string> ranks = {et::compute(0, 5000) + et::send(1, 1, kBytes, 0, et::after({0})),
                                          et::receive(0, 0, kBytes)};
  scenario.disturbances.slow_devices = {{0, 1, 2.0}};
  const TraceReport slow = run(ranks, scenario);
  EXPECT_NEAR(slow.step_s, 10e-3 + kLatency + kTransfer, kExact);
  EXPECT_THAT(slow.disturbances, testing::ElementsAre(HasSubstr("slow device: device 0")));
  scenario::SlowLink link;
  link.node = 1;
  link.port = 0;
  link.profile = {{Seconds(0), 0.5}};
  scenario.disturbances.slow_links = {link};
  EXPECT_NEAR(run(ranks, scenario).step_s, 10e-3 + kLatency + 2 * kTransfer, kExact);
  scenario.disturbances.slow_devices = {{3, 1, 2.0}};
  EXPECT_THAT(run(ranks, scenario).warnings, testing::Contains(HasSubstr("has no effect")));
}

// Only compute nodes with a duration count: the second is node 4.
TEST(ChakraReplay, HostDelaysCountComputeNodesWithADuration) {
  scenario::Scenario scenario = cluster();
  scenario.disturbances.host_delays = {{0, Seconds(10e-3), 2}};
  EXPECT_NEAR(run({et::compute(0, 1000) + et::node(1, et::kMetadata) + et::node(2, et::kCompute) +
                   et::compute(4, 1000) + et::compute(5, 1000)},
                  scenario)
                  .step_s,
              13e-3, kExact);
}

TEST(ChakraReplay, JitterIsRefused) {
  scenario::Scenario scenario = cluster();
  scenario.file = "cluster.yaml";
  scenario.disturbances.jitter = scenario::Jitter{};
  try {
    (void)try_run({et::compute(0, 1)}, scenario);
    ADD_FAILURE() << "accepted";
  } catch (const error::ScenarioError& refused) {
    EXPECT_THAT(refused.what(), AllOf(HasSubstr("cluster.yaml"), HasSubstr("Jitter is not applied to traces")));
  }
}

TEST(ChakraReplay, MoreRanksThanDevicesAreRefused) {
  try {
    (void)try_run(std::vector<std::string>(5, et::compute(0, 1)), cluster());
    ADD_FAILURE() << "accepted";
  } catch (const error::ScenarioError& refused) {
    EXPECT_THAT(refused.what(), AllOf(HasSubstr("step.4.et"), HasSubstr("more ranks than the cluster has devices"),
                                      HasSubstr("5 ranks"), HasSubstr("at most 4")));
  }
}

TEST(ChakraReplay, TooManyMessagesOfCollectivesAreInfeasible) {
  scenario::Scenario scenario = cluster(256);
  scenario.simulation.collective_form = scenario::CollectiveForm::kMessage;
  std::string nodes;
  for (std::uint64_t id = 0; id < 400; ++id) {
    nodes += et::collective(id, 0, kBytes);
  }
  const auto result = try_run(std::vector<std::string>(256, nodes), scenario);  // 400 x 256 x 510 messages
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().reason, AllOf(HasSubstr("52 million messages"), HasSubstr("form: fluid")));
}

TEST(ChakraReplay, WarnsOfWhatCannotBeMeant) {
  EXPECT_THAT(run({et::compute(0, 1), et::compute(0, 1)}).warnings,
              testing::IsSupersetOf({HasSubstr("exchange no bytes"), HasSubstr("2 of 4 devices have no rank")}));
  EXPECT_THAT(run({et::send(0, 1, 8), et::receive(0, 0, 8), "", ""}).warnings,
              testing::ElementsAre("2 ranks have no nodes", HasSubstr("no compute node has a duration")));
}

TEST(ChakraReplay, AnEmptyTraceTakesNoTime) {
  EXPECT_EQ(step({"", "", "", ""}), 0);
}

TEST(ChakraReports, SayTheStepInEveryForm) {
  const std::vector<std::string> ranks = {et::compute(0, 5000) + et::send(1, 1, kBytes, 0, et::after({0})),
                                          et::receive(0, 0, kBytes)};
  const Trace trace = et::trace(ranks);
  const auto result = run_trace(trace, "traces/step", cluster(), pipeline::builtin_catalogs());
  ASSERT_TRUE(result.has_value());
  const std::string console = to_console(result->report, false);
  EXPECT_THAT(console, AllOf(HasSubstr("traces/step"), HasSubstr("step time 10.0 ms"), HasSubstr("1 message, 4.00 MB"),
                             HasSubstr("2 of 4 devices have no rank")));
  EXPECT_THAT(to_json(result->report), AllOf(HasSubstr("\"schema\": \"lamina.chakra_run/1\""),
                                             HasSubstr("\"replayed_ranks\": 2"), HasSubstr("\"disturbances\": []")));
  const std::string csv = to_csv(result->report);
  EXPECT_THAT(csv, testing::StartsWith("rank,step_s,compute_s,exposed_s,waiting_s,tail_s\n0,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
  const std::string perfetto = to_perfetto(*result, trace);
  EXPECT_THAT(perfetto, AllOf(HasSubstr("n0"), HasSubstr("n1"), HasSubstr("rank 1"), HasSubstr("traces/step")));
}

}  // namespace
}  // namespace lamina::chakra
