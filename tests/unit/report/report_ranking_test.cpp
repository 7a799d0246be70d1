#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/report/ranking.hpp"
#include "sim/report/text.hpp"
#include "tests/unit/report/sample_report.hpp"

namespace lamina::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Two layouts of the X_160 example, one of which does not fit, and one that cannot run.
struct Example {
  Example() {
    Entry best;
    best.name = "layered_modular";
    best.file = "/home/user/x.yaml";
    best.schedule = "layered_modular";
    best.report = sample::report(scenario);
    for (std::size_t rank = 0; rank < best.report.roles.size(); ++rank) {
      Role& role = best.report.roles[rank];
      role.peak_activations = 5 - static_cast<double>(rank);
      role.messages = 320;
      role.message_bytes = 2.5e9;
      role.restores = 62;
      role.restored_bytes = 60.8e9;
      role.reductions = 32;
    }
    best.need = {NeedKind::kFound, 12.5e9, 6.0};
    best.rank = 1;
    best.busiest_role = 4;
    Entry big = best;
    big.name = "a, \"big\" one that has a name of more than thirty columns";
    big.report.fits = false;
    big.need = {NeedKind::kMoreThanAny, 0, 7.0};
    big.rank = 2;
    big.behind = -0.05;
    ranking.entries = {best, big};
    ranking.refusals = {{"dual_pipe", "x.yaml", "It needs an even number of ranks, not 5."}};
    ranking.verdict = "layered_modular is the best.";
    ranking.warnings = {"Something is odd."};
  }

  scenario::Scenario scenario = sample::scenario();
  Ranking ranking;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST(RankingConsole, SaysTheVerdictAndEveryFigure) {
  const std::string text = to_console(Example().ranking, false);
  for (const char* expected :
       {"2 layouts by step time", "x160, 38,640 devices, infiniband-hdr (25.0 GB/s a port)",
        "layered_modular is the best.", "Something is odd.", "does not fit into 80.0 GiB of memory", "Cannot run",
        "dual_pipe: It needs an even number of ranks, not 5.", "12.5 GB/s", "beyond any", "-5.0 %"}) {
    EXPECT_THAT(text, HasSubstr(expected));
  }
  // Step, bubbles 2.52 % and 1.99 %, 5 micro-batches, 5.62 GiB, messages, restores, network.
  EXPECT_THAT(text, ::testing::ContainsRegex("1  layered_modular +6.11 s +2.5 +2.0 +5.00 +5.62 +320 +62 +12.5 GB/s"));
  // Busiest rank 4: 5,160 ms of compute, bubble, exposed restores and tensor, tail, and 6.11 - 6.0 s of network.
  EXPECT_THAT(text, ::testing::ContainsRegex("1  layered_modular +4 +5,160 +150 +- +- +12.4 +784 +- +3.60 +110"));
}

TEST(RankingConsole, StaysWithinItsColumns) {
  for (const std::string& line : lines_of(to_console(Example().ranking, false))) {
    EXPECT_LE(display_width(line), 110U) << line;
  }
}

TEST(RankingConsole, LeavesOutWhatWasNotAskedFor) {
  Example example;
  for (Entry& entry : example.ranking.entries) {
    entry.need = {};
  }
  EXPECT_THAT(to_console(example.ranking, false), Not(HasSubstr("network needed")));
}

TEST(RankingConsole, MarksSharedRanks) {
  Example example;
  example.ranking.entries[1].rank = 1;
  EXPECT_THAT(to_console(example.ranking, false), HasSubstr("  1= layered_modular"));
}

TEST(RankingConsole, OfNothingGivesTheReasons) {
  Example example;
  example.ranking.entries.clear();
  EXPECT_THAT(to_console(example.ranking, false),
              ::testing::AllOf(HasSubstr("Nothing can run"), HasSubstr("even number")));
}

TEST(RankingConsole, HasColourOnlyWhenAsked) {
  EXPECT_THAT(to_console(Example().ranking, false), Not(HasSubstr("\x1b")));
  EXPECT_THAT(to_console(Example().ranking, true), HasSubstr("\x1b"));
}

TEST(RankingJson, HasEveryFigureUnderItsName) {
  const auto document = nlohmann::json::parse(to_json(Example().ranking));
  EXPECT_EQ(document.at("schema"), "lamina.comparison/1");
  EXPECT_EQ(document.at("ranked_by"), "step_time");
  EXPECT_EQ(document.at("winner"), "layered_modular");
  EXPECT_EQ(document.at("verdict"), "layered_modular is the best.");
  const auto& best = document.at("entries").at(0);
  EXPECT_EQ(best.at("rank"), 1);
  EXPECT_EQ(best.at("file"), "x.yaml");  // no folders
  EXPECT_EQ(best.at("step_time_s"), 6.11);
  EXPECT_EQ(best.at("peak_activations"), 5);
  EXPECT_EQ(best.at("messages"), 320);
  EXPECT_EQ(best.at("message_bytes"), 2.5e9);
  EXPECT_EQ(best.at("restores"), 62);
  EXPECT_EQ(best.at("reductions"), 32);
  EXPECT_EQ(best.at("busiest_role").at("pipeline_rank"), 4);
  EXPECT_EQ(best.at("busiest_role").at("exposed_s").at("tensor"), 0.784);
  EXPECT_EQ(best.at("network").at("need"), "found");
  EXPECT_EQ(best.at("network").at("needed_bandwidth_bytes_per_s"), 12.5e9);
  EXPECT_EQ(best.at("network").at("bandwidth_bytes_per_s"), 25e9);
  const auto& big = document.at("entries").at(1);
  EXPECT_EQ(big.at("fits"), false);
  EXPECT_EQ(big.at("network").at("need"), "more_than_any");
  EXPECT_TRUE(big.at("network").at("needed_bandwidth_bytes_per_s").is_null());
  EXPECT_EQ(document.at("infeasible").at(0).at("name"), "dual_pipe");
  EXPECT_EQ(document.at("warnings").size(), 1U);
}

TEST(RankingJson, NamesNoWinnerThatDoesNotFit) {
  Example example;
  example.ranking.entries.erase(example.ranking.entries.begin());
  EXPECT_TRUE(nlohmann::json::parse(to_json(example.ranking)).at("winner").is_null());
}

TEST(RankingCsv, HasOneRowPerLayoutAndReason) {
  const std::vector<std::string> lines = lines_of(to_csv(Example().ranking));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[0],
              ::testing::StartsWith("rank,name,scenario,file,schedule,model,devices,fits,infeasible,step_time_s"));
  EXPECT_THAT(lines[1],
              ::testing::StartsWith(
                  "1,layered_modular,infiniband-3d-improved,x.yaml,layered_modular,x160,38640,true,,6.11,0,"));
  EXPECT_THAT(lines[2], HasSubstr("\"a, \"\"big\"\" one"));
  EXPECT_THAT(lines[3], ::testing::StartsWith(",dual_pipe,,x.yaml,,,,,\"It needs an even number of ranks, not 5.\",,"));
  EXPECT_THAT(lines[1], ::testing::EndsWith(",25000000000,found,12500000000,6"));
  const auto commas = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  EXPECT_EQ(commas(lines[1]), commas(lines[0]));
  EXPECT_EQ(commas(lines[3]), commas(lines[0]) + 1);  // one in the reason
}

}  // namespace
}  // namespace lamina::report
