#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

/// The small scenario over two nodes, so that it has a network to need.
std::string two_nodes() {
  return small_scenario_with("  nodes: 1\n", "  nodes: 2\n") + "  placement: [tensor, data, pipeline]\n";
}

/// Two pipeline ranks of eight devices, one on each node.
std::string spread(const std::string& name = "spread") {
  std::string text = two_nodes();
  text.replace(text.find("data_parallel: 2"), 16, "data_parallel: 4");
  text.replace(text.find("name: small"), 11, "name: " + name);
  return text;
}

std::vector<std::string> names_in(const nlohmann::json& list) {
  std::vector<std::string> names;
  for (const auto& entry : list) {
    names.push_back(entry.at("name"));
  }
  return names;
}

nlohmann::json compared(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "compare");
  arguments.insert(arguments.end(), {"--format", "json"});
  const Outcome outcome = lamina(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

TEST(Compare, OneFileTriesEverySchedule) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"compare", folder.file("spread.yaml", spread())});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  for (const char* schedule :
       {"gpipe", "one_forward_one_backward", "interleaved", "layered_modular", "zero_bubble_h1"}) {
    EXPECT_THAT(outcome.out, HasSubstr(schedule));
  }
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("Cannot run\n  accumulate: "), HasSubstr("network needed"), HasSubstr("GB/s")));
}

TEST(Compare, EveryScheduleIsAnEntryOrARefusal) {
  const TemporaryFolder folder;
  const auto document = compared({folder.file("spread.yaml", spread()), "--no-network-need"});
  EXPECT_EQ(document.at("schema"), "lamina.comparison/1");
  std::vector<std::string> names = names_in(document.at("entries"));
  const std::vector<std::string> refused = names_in(document.at("infeasible"));
  names.insert(names.end(), refused.begin(), refused.end());
  const Outcome list = lamina({"list", "schedules"});
  for (const std::string& name : names) {
    EXPECT_THAT(list.out, HasSubstr(name + "\n"));
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_GE(names.size(), 14U);
  EXPECT_THAT(refused, testing::Contains("accumulate"));
}

TEST(Compare, RanksByTimeAmongThoseThatFit) {
  const TemporaryFolder folder;
  const auto document = compared({folder.file("spread.yaml", spread()), "--no-network-need"});
  double before = 0;
  bool fitted = true;
  for (const auto& entry : document.at("entries")) {
    const bool fits = entry.at("fits");
    if (fits != fitted) {
      EXPECT_FALSE(fits);  // once only
      fitted = fits;
      before = 0;
    }
    const double time = entry.at("step_time_s");
    EXPECT_GE(time, before * (1 - 0.001));  // equals stand by memory
    before = std::max(before, time);
  }
  EXPECT_EQ(document.at("winner"), document.at("entries").at(0).at("name"));
  EXPECT_THAT(document.at("verdict").get<std::string>(), HasSubstr(document.at("winner").get<std::string>()));
}

TEST(Compare, AgreesWithARunOfTheSameSchedule) {
  const TemporaryFolder folder;
  const std::string file = folder.file("spread.yaml", spread());
  const auto document = compared({file, "--schedules", "gpipe,v_half"});
  EXPECT_THAT(names_in(document.at("entries")), UnorderedElementsAre("gpipe", "v_half"));
  for (const auto& entry : document.at("entries")) {
    const std::string schedule = entry.at("name");
    const auto report =
        nlohmann::json::parse(lamina({"run", file, "--set", "strategy.schedule=" + schedule, "--format", "json"}).out);
    EXPECT_EQ(entry.at("step_time_s"), report.at("step").at("time_s"));
    EXPECT_EQ(entry.at("peak_memory_bytes"), report.at("memory").at("peak_bytes"));
    EXPECT_EQ(entry.at("bubble_makespan_fraction"), report.at("step").at("bubble_makespan_fraction"));
    double activations = 0;
    for (const auto& role : report.at("roles")) {
      activations = std::max(activations, role.at("peak_activations").get<double>());
    }
    EXPECT_EQ(entry.at("peak_activations"), activations);
  }
}

TEST(Compare, OnTheNetworkThatALayoutNeedsItIsFivePercentFromIdeal) {
  const TemporaryFolder folder;
  const std::string file = folder.file("spread.yaml", spread());
  const auto entry = compared({file, "--schedules", "gpipe"}).at("entries").at(0);
  ASSERT_EQ(entry.at("network").at("need"), "found");
  const double needed = entry.at("network").at("needed_bandwidth_bytes_per_s");
  const double ideal = entry.at("network").at("ideal_step_time_s");
  const auto step_at = [&](double bandwidth) {
    const Outcome outcome =
        lamina({"run", file, "--set", "strategy.schedule=gpipe", "--set",
                "cluster.network.bandwidth=" + std::to_string(bandwidth / 1e9) + " GB/s", "--format", "json"});
    return nlohmann::json::parse(outcome.out).at("step").at("time_s").get<double>();
  };
  EXPECT_LE(step_at(needed), 1.05 * ideal * (1 + 1e-6));
  EXPECT_GT(step_at(needed / 1.06), 1.05 * ideal);
}

TEST(Compare, OneNodeNeedsNoNetwork) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const auto entry = compared({file, "--schedules", "gpipe"}).at("entries").at(0);
  EXPECT_EQ(entry.at("network").at("need"), "none");
  EXPECT_TRUE(entry.at("network").at("needed_bandwidth_bytes_per_s").is_null());
}

TEST(Compare, AScheduleTakesParameters) {
  const TemporaryFolder folder;
  const std::string file = folder.file("spread.yaml", spread());
  const auto document = compared({file, "--no-network-need", "--schedules",
                                  "hybrid:layers_per_chunk=4:breadth_first_micro_batches=2,interleaved:group_size=4"});
  EXPECT_THAT(
      names_in(document.at("entries")),
      UnorderedElementsAre("hybrid:layers_per_chunk=4:breadth_first_micro_batches=2", "interleaved:group_size=4"));
  for (const auto& entry : document.at("entries")) {
    if (entry.at("name") == "interleaved:group_size=4") {
      EXPECT_EQ(entry.at("schedule"), "interleaved:micro_batch_group_size=4");
    }
  }
}

TEST(Compare, TheFilesOwnScheduleKeepsItsParameters) {
  const TemporaryFolder folder;
  std::string text = spread();
  text.replace(text.find("schedule: layered_modular"), 25, "schedule: {name: layered_modular, layers_per_chunk: 8}");
  const std::string file = folder.file("spread.yaml", text);
  const auto step_of = [](const nlohmann::json& document) { return document.at("entries").at(0).at("step_time_s"); };
  const auto as_in_file = compared({file, "--schedules", "layered_modular", "--no-network-need"});
  const auto usual = compared({file, "--schedules", "layered_modular:layers_per_chunk=1", "--no-network-need"});
  const auto same = compared({file, "--schedules", "layered_modular:layers_per_chunk=8", "--no-network-need"});
  EXPECT_EQ(step_of(as_in_file), step_of(same));
  EXPECT_NE(step_of(as_in_file), step_of(usual));
}

TEST(Compare, SeveralFilesAreComparedAsTheyAre) {
  const TemporaryFolder folder;
  const std::string fast = folder.file("fast.yaml", spread("on-infiniband"));
  std::string text = spread("on-ethernet");
  text.replace(text.find("infiniband-hdr"), 14, "ethernet-25-roce");
  const std::string slow = folder.file("slow.yaml", text);
  const auto document = compared({slow, fast, "--no-network-need"});
  EXPECT_THAT(names_in(document.at("entries")), ElementsAre("on-infiniband", "on-ethernet"));
  EXPECT_EQ(document.at("entries").at(0).at("schedule"), "layered_modular");
  const auto crossed = compared({slow, fast, "--no-network-need", "--schedules", "gpipe,v_half"});
  EXPECT_THAT(names_in(crossed.at("entries")), UnorderedElementsAre("on-infiniband gpipe", "on-infiniband v_half",
                                                                    "on-ethernet gpipe", "on-ethernet v_half"));
}

TEST(Compare, FilesOfOneNameGoByTheirPath) {
  const TemporaryFolder folder;
  const std::string a = folder.file("a.yaml", spread());
  const std::string b = folder.file("b.yaml", spread());
  EXPECT_THAT(names_in(compared({a, b, "--no-network-need"}).at("entries")), UnorderedElementsAre(a, b));
}

TEST(Compare, DifferentWorkIsRankedByTokensPerDevice) {
  const TemporaryFolder folder;
  const std::string a = folder.file("a.yaml", spread("a"));
  std::string text = spread("b");
  text.replace(text.find("micro_batches: 4"), 16, "micro_batches: 8");
  const auto document = compared({a, folder.file("b.yaml", text), "--no-network-need"});
  EXPECT_EQ(document.at("ranked_by"), "tokens_per_s_and_device");
  EXPECT_EQ(document.at("winner"), "b");  // the same bubble over twice the work
  EXPECT_EQ(document.at("warnings").size(), 1U);
}

TEST(Compare, AnUnknownScheduleNamesTheNearest) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const Outcome outcome = lamina({"compare", file, "--schedules", "gpipe,interleavd"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("\"interleavd\""), HasSubstr("did you mean \"interleaved\"?")));
}

TEST(Compare, AnUnknownParameterNamesWhatThereIs) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  for (const char* wrong : {"interleaved:group_sise=8", "gpipe:x=1"}) {
    const Outcome outcome = lamina({"compare", file, "--schedules", wrong});
    EXPECT_EQ(outcome.code, 2) << wrong;
    EXPECT_THAT(outcome.err, HasSubstr("parameter")) << wrong;
  }
  for (const char* wrong : {"interleaved:group_size=many", "interleaved:group_size=-3", "interleaved:group_size",
                            "gpipe:", "", "gpipe,", "interleaved:group_size={a: b}"}) {
    const Outcome outcome = lamina({"compare", file, "--schedules", wrong});
    EXPECT_EQ(outcome.code, 2) << wrong;
    EXPECT_THAT(outcome.err, HasSubstr("--schedules")) << wrong;
  }
}

TEST(Compare, NothingThatCanRunIsCodeFour) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const Outcome refused = lamina({"compare", file, "--schedules", "accumulate", "--no-network-need"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.out, AllOf(HasSubstr("Nothing can run"), HasSubstr("accumulate: ")));
  EXPECT_THAT(refused.err, HasSubstr("infeasible"));
  const Outcome json = lamina({"compare", file, "--schedules", "accumulate", "--format", "json"});
  EXPECT_EQ(json.code, 4);
  EXPECT_TRUE(nlohmann::json::parse(json.out).at("entries").empty());
}

TEST(Compare, NothingThatFitsIsCodeFour) {
  const TemporaryFolder folder;
  const std::string file = folder.file("big.yaml", small_scenario_with("model: x32", "model: x160"));
  const Outcome outcome = lamina({"compare", file, "--schedules", "gpipe,v_half", "--no-network-need"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.out, HasSubstr("Nothing fits into memory"));
  EXPECT_THAT(outcome.err, HasSubstr("does not fit"));
}

TEST(Compare, CsvHasOneRowPerLayout) {
  const TemporaryFolder folder;
  const std::string file = folder.file("spread.yaml", spread());
  const Outcome outcome =
      lamina({"compare", file, "--schedules", "gpipe,v_half,accumulate", "--no-network-need", "--format", "csv"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("rank,name,scenario,"));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4);
  EXPECT_THAT(outcome.out, Not(HasSubstr(folder.path().string())));
}

TEST(Compare, GivesTheSameBytesTwiceAndWritesThemToAFolder) {
  const TemporaryFolder folder;
  const std::string file = folder.file("spread.yaml", spread());
  const std::string out = (folder.path() / "out").string();
  const std::vector<std::string> arguments = {"compare", file, "--schedules", "gpipe,v_half", "-o", out};
  const Outcome first = lamina(arguments);
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(read_file(std::filesystem::path(out) / "compare.txt"), first.out);
  const std::string document = read_file(std::filesystem::path(out) / "compare.json");
  EXPECT_EQ(nlohmann::json::parse(document).at("entries").size(), 2U);
  EXPECT_THAT(read_file(std::filesystem::path(out) / "compare.csv"), StartsWith("rank,"));
  EXPECT_EQ(lamina(arguments).out, first.out);
  EXPECT_EQ(read_file(std::filesystem::path(out) / "compare.json"), document);
}

TEST(Compare, ChangesReachEveryLayout) {
  const TemporaryFolder folder;
  const std::string file = folder.file("spread.yaml", spread());
  const std::vector<std::string> arguments = {file, "--schedules", "gpipe", "--no-network-need"};
  std::vector<std::string> longer = arguments;
  longer.insert(longer.end(), {"--set", "micro_batches=8"});
  EXPECT_GT(compared(longer).at("entries").at(0).at("step_time_s"),
            compared(arguments).at("entries").at(0).at("step_time_s"));
}

}  // namespace
}  // namespace lamina::cli_test
