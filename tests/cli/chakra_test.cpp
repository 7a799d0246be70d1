#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/support/chakra_bytes.hpp"

namespace lamina::cli_test {
namespace {

namespace et = tests::et;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two nodes of one GPU; neither model nor strategy.
constexpr const char* kCluster = R"(schema_version: 1
name: pair
cluster:
  node: dgx-a100-80gb
  nodes: 1
  network: infiniband-hdr
)";

/// Rank 0 computes 5 ms and sends, rank 1 receives, both meet in a collective.
std::vector<std::string> good_ranks() {
  return {et::metadata() + et::compute(0, 5000) + et::send(1, 1, 1 << 20, 0, et::after({0})) +
              et::collective(2, 0, 4096, "1", et::after({1})),
          et::metadata() + et::receive(0, 0, 1 << 20) + et::collective(1, 0, 4096, "1", et::after({0}))};
}

class TraceFolder {
 public:
  explicit TraceFolder(const std::vector<std::string>& ranks = good_ranks()) {
    cluster_ = folder_.file("cluster.yaml", kCluster);
    std::filesystem::create_directory(folder_.path() / "t");
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      (void)folder_.file("t/step." + std::to_string(rank) + ".et", ranks[rank]);
    }
    (void)folder_.file("t/comm_groups.json", R"({"1": [0, 1]})");
  }

  [[nodiscard]] Outcome run(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"run", cluster_, "--trace", prefix()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return lamina(arguments);
  }

  [[nodiscard]] std::string prefix() const { return (folder_.path() / "t" / "step").string(); }

  [[nodiscard]] const std::string& cluster() const { return cluster_; }

  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  std::string cluster_;
};

double step_of(const Outcome& outcome, const char* scenario_or_trace) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out, nullptr, false);
  if (document.is_discarded()) {
    return -1;
  }
  return std::string(scenario_or_trace) == "trace" ? document.at("step_s").get<double>()
                                                   : document.at("step").at("time_s").get<double>();
}

TEST(RunTrace, ReplaysATraceOnAClusterWithoutModelAndStrategy) {
  const TraceFolder trace;
  const Outcome outcome = trace.run();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("step time 5."), HasSubstr("2 ranks on 8 devices, 5 nodes"),
                                 HasSubstr("6 of 8 devices have no rank")));
}

TEST(RunTrace, WritesJsonCsvAndPerfetto) {
  const TraceFolder trace;
  EXPECT_GT(step_of(trace.run({"--format", "json"}), "trace"), 5e-3);
  const Outcome csv = trace.run({"--format", "csv"});
  EXPECT_THAT(csv.out, testing::StartsWith("rank,step_s,compute_s,exposed_s,waiting_s,tail_s\n0,"));
  const Outcome perfetto = trace.run({"--format", "perfetto"});
  EXPECT_EQ(perfetto.code, 0);
  EXPECT_THAT(perfetto.out, HasSubstr("n2"));
}

TEST(RunTrace, WritesAFolderOfReports) {
  const TraceFolder trace;
  const std::filesystem::path output = trace.folder().path() / "out";
  ASSERT_EQ(trace.run({"-o", output.string()}).code, 0);
  for (const char* name : {"step.report.json", "step.csv", "step.txt", "step.perfetto-trace"}) {
    EXPECT_FALSE(read_file(output / name).empty()) << name;
  }
}

TEST(RunTrace, TakesOverridesOfTheClusterAndOtherGroups) {
  const TraceFolder trace;
  const double fast = step_of(trace.run({"--format", "json"}), "trace");
  const double slow =
      step_of(trace.run({"--format", "json", "--set", "disturb=[{kind: slow_device, device: 0, node: 0, factor: 3}]"}),
              "trace");
  EXPECT_NEAR(slow - fast, 10e-3, 1e-9);
  std::filesystem::rename(trace.folder().path() / "t" / "comm_groups.json", trace.folder().path() / "groups.json");
  EXPECT_EQ(trace.run().code, 3);
  EXPECT_EQ(trace.run({"--trace-groups", (trace.folder().path() / "groups.json").string()}).code, 0);
}

TEST(RunTrace, ReplaysEveryRankWhenTold) {
  const TraceFolder trace;
  const Outcome folded = trace.run({"--format", "json"});
  const Outcome whole = trace.run({"--format", "json", "--no-fold"});
  EXPECT_NEAR(step_of(folded, "trace"), step_of(whole, "trace"), 1e-12);
}

TEST(RunTrace, GivesTheSameBytesTwice) {
  const TraceFolder trace;
  EXPECT_EQ(trace.run({"--format", "json"}).out, trace.run({"--format", "json"}).out);
}

void expect_refused(const Outcome& outcome, int code, const std::vector<std::string>& words) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_THAT(outcome.out, IsEmpty());
  for (const std::string& word : words) {
    EXPECT_THAT(outcome.err, HasSubstr(word));
  }
}

TEST(RunTrace, RefusesAMissingRank) {
  std::vector<std::string> ranks(4, et::metadata());
  const TraceFolder trace(ranks);
  std::filesystem::remove(trace.prefix() + ".1.et");
  expect_refused(trace.run(), 3, {"step.1.et", "The trace of rank 1 is missing, and there is one of rank 2"});
  std::filesystem::remove(trace.prefix() + ".0.et");
  expect_refused(trace.run(), 3, {"step.0.et", "The trace of rank 0 is missing"});
}

TEST(RunTrace, RefusesAWrongPrefix) {
  const TraceFolder trace;
  const auto run_of = [&](const std::string& prefix) { return lamina({"run", trace.cluster(), "--trace", prefix}); };
  expect_refused(run_of(trace.prefix() + "s"), 3, {"There is no such trace", "steps.0.et"});
  expect_refused(run_of(trace.prefix() + ".0.et"), 3, {"There is no such trace"});
  expect_refused(run_of((trace.folder().path() / "none" / "step").string()), 3, {"none", "cannot be read"});
  expect_refused(run_of(""), 2, {"empty"});
}

TEST(RunTrace, RefusesAFileCutAtEveryByte) {
  const std::vector<std::string> good = good_ranks();
  const TraceFolder trace;
  const std::size_t last_message = good[1].size() - et::collective(1, 0, 4096, "1", et::after({0})).size();
  for (std::size_t length = 0; length < good[1].size(); ++length) {
    (void)trace.folder().file("t/step.1.et", good[1].substr(0, length));
    const Outcome outcome = trace.run();
    EXPECT_EQ(outcome.code, 3) << length << outcome.err;
    const bool between = length == et::metadata().size() || length == last_message;
    EXPECT_THAT(outcome.err, HasSubstr(length == 0 ? "is empty" : between ? "step." : "is cut off")) << length;
  }
}

TEST(RunTrace, RefusesCircles) {
  const TraceFolder in_a_rank({et::metadata() + et::compute(0, 1, et::after({1})) + et::compute(1, 1, et::after({0}))});
  std::filesystem::remove(in_a_rank.folder().path() / "t" / "comm_groups.json");
  expect_refused(in_a_rank.run(), 3, {"step.0.et", "in a circle"});
  const TraceFolder among_ranks({et::metadata() + et::receive(0, 1, 8) + et::send(1, 1, 8, 0, et::after({0})),
                                 et::metadata() + et::receive(0, 0, 8) + et::send(1, 0, 8, 0, et::after({0}))});
  expect_refused(among_ranks.run(), 3, {"wait for each other in a circle", "rank 0", "rank 1"});
}

TEST(RunTrace, RefusesBrokenGroups) {
  const TraceFolder trace;
  (void)trace.folder().file("t/comm_groups.json", R"({"1": [0, 1)");
  expect_refused(trace.run(), 3, {"comm_groups.json", "is no JSON"});
  (void)trace.folder().file("t/comm_groups.json", R"({"1": [0, 2]})");
  expect_refused(trace.run(), 3, {"comm_groups.json", "0 to 1"});
  expect_refused(trace.run({"--trace-groups", trace.folder().path().string()}), 3, {"This is a folder"});
  expect_refused(trace.run({"--trace-groups", "no-such-file.json"}), 6, {"no-such-file.json"});
}

TEST(RunTrace, RefusesWhatIsNoTrace) {
  const TraceFolder trace;
  (void)trace.folder().file("t/step.1.et", "\x1f\x8b\x08 not really");
  expect_refused(trace.run(), 3, {"step.1.et", "gzip"});
  std::filesystem::remove(trace.prefix() + ".1.et");
  std::filesystem::create_directory(trace.prefix() + ".1.et");
  expect_refused(trace.run(), 3, {"step.1.et", "This is a folder"});
}

TEST(RunTrace, RefusesAClusterThatIsTooSmall) {
  const TraceFolder trace(std::vector<std::string>(9, et::metadata()));
  expect_refused(trace.run(), 3, {"more ranks than the cluster has devices", "9 ranks", "at most 8"});
}

TEST(RunTrace, RefusesWhatCannotBeMeant) {
  const TraceFolder trace;
  expect_refused(trace.run({"--dump-graph"}), 2, {"--dump-graph"});
  expect_refused(lamina({"run", trace.cluster(), trace.cluster(), "--trace", trace.prefix()}), 2, {"give one file"});
  expect_refused(lamina({"run", trace.folder().path().string(), "--trace", trace.prefix()}), 2, {"give one file"});
  expect_refused(lamina({"run", trace.cluster(), "--trace-groups", "x"}), 2, {"--trace"});
  expect_refused(trace.run({"--set", "cluster.nodes=0"}), 3, {"cluster.nodes"});
  expect_refused(trace.run({"--set", "disturb=[{kind: jitter, standard_deviation: 0.1}]"}), 3, {"Jitter"});
  expect_refused(lamina({"run", "CMakeLists.txt", "--trace", trace.prefix()}), 3, {"CMakeLists.txt"});
}

TEST(ExportChakra, GivesTheScenariosStepWhenReplayed) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const std::string prefix = (folder.path() / "traces" / "step").string();
  const Outcome outcome = lamina({"export", "chakra", file, "-o", prefix});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(prefix + ".8.et"));
  const double scenario = step_of(lamina({"run", file, "--format", "json"}), "scenario");
  const double trace = step_of(lamina({"run", file, "--trace", prefix, "--format", "json"}), "trace");
  EXPECT_NEAR(trace, scenario, 1e-9 * scenario);
}

TEST(ExportChakra, LeavesDisturbancesToTheCluster) {
  const TemporaryFolder folder;
  const std::string file = folder.file(
      "small.yaml", small_scenario() + "disturb:\n  - {kind: slow_device, node: 0, device: 5, factor: 1.5}\n");
  const std::string prefix = (folder.path() / "step").string();
  const Outcome outcome = lamina({"export", "chakra", file, "-o", prefix});
  ASSERT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("without the scenario's disturbances"));
  const double scenario = step_of(lamina({"run", file, "--format", "json"}), "scenario");
  EXPECT_NEAR(step_of(lamina({"run", file, "--trace", prefix, "--format", "json"}), "trace"), scenario,
              1e-9 * scenario);
}

TEST(ExportChakra, DoesNotMixTwoTraces) {
  const TraceFolder trace(std::vector<std::string>(9, et::metadata()));
  const std::string file = trace.folder().file("small.yaml", small_scenario());
  expect_refused(lamina({"export", "chakra", file, "-o", trace.prefix()}), 2, {"step.8.et", "another trace"});
}

TEST(ExportChakra, RefusesWhatCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const std::string prefix = (folder.path() / "step").string();
  expect_refused(lamina({"export", "chakra", file}), 2, {"--output"});
  expect_refused(lamina({"export", "chakra", file, "-o", folder.path().string() + "/"}), 2, {"traces/step"});
  expect_refused(lamina({"export", "chakra", folder.path().string(), "-o", prefix}), 2, {"is a folder"});
  expect_refused(lamina({"export", "chakra", "scenarios/quickstart.yaml", "-o", prefix}), 4,
                 {"infeasible", "38640 files"});
  expect_refused(lamina({"export", "chakra", file, "-o", prefix, "--set", "strategy.schedule=dual_pipe", "--set",
                         "strategy.micro_batches=3"}),
                 4, {"dual_pipe needs"});
  expect_refused(lamina({"export", "chakra", file, "-o", "/proc/x/step"}), 6, {"/proc"});
  EXPECT_THAT(folder.names(), testing::ElementsAre("small.yaml"));
}

}  // namespace
}  // namespace lamina::cli_test
