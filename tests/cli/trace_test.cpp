#include <algorithm>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/unit/trace/synthetic.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::testing::kHeader;
using trace::testing::rows;
using trace::testing::Synthetic;

/// Two steps of two replicas of 1F1B on four ranks; each step takes (6 + 4 - 1) x 3 s.
std::string small_trace() {
  const Synthetic job;
  return kHeader + rows(job, 1, 0) + rows(job, 1, 1) + rows(job, 2, 0) + rows(job, 2, 1);
}

TEST(TraceCommand, SummarisesAJob) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"trace", "replay", folder.file("job.csv", small_trace())});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("job.csv\n  2 steps, 2 replicas, 4 pipeline ranks of 1 chunk each, 6 micro"),
                                 HasSubstr("one_forward_one_backward"), HasSubstr("within 1 %      2 of 2 steps\n"),
                                 HasSubstr("identical: 192 passes")));
  std::size_t start = 0;
  for (std::size_t end = outcome.out.find('\n'); end != std::string::npos; end = outcome.out.find('\n', start)) {
    EXPECT_LE(end - start, 80U) << outcome.out.substr(start, end - start);
    start = end + 1;
  }
}

TEST(TraceCommand, WritesJsonAndCsv) {
  const TemporaryFolder folder;
  const std::string file = folder.file("job.csv", small_trace());
  const auto document = nlohmann::json::parse(lamina({"trace", "replay", file, "--format", "json"}).out);
  EXPECT_EQ(document["schema"], "lamina.trace_replay/1");
  ASSERT_EQ(document["steps"].size(), 2U);
  EXPECT_NEAR(document["steps"][0]["replayed_s"].get<double>(), 27, 1e-9);
  EXPECT_TRUE(document["order"]["identical"].get<bool>());
  const auto several = nlohmann::json::parse(lamina({"trace", "replay", file, file, "--format", "json"}).out);
  EXPECT_EQ(several.size(), 2U);
  const std::string table = lamina({"trace", "replay", file, file, "--format", "csv"}).out;
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 1 + 2 * 2 * 2 * 4);
}

TEST(TraceCommand, RefusesAToleranceThatIsNoFraction) {
  const TemporaryFolder folder;
  const std::string file = folder.file("job.csv", small_trace());
  for (const char* tolerance : {"nan", "-1", "much"}) {
    const Outcome outcome = lamina({"trace", "replay", file, "--tolerance", tolerance});
    EXPECT_EQ(outcome.code, 2) << tolerance;
    EXPECT_THAT(outcome.err, HasSubstr("0 or more"));
  }
}

TEST(TraceCommand, SaysWhatItLeftOut) {
  const TemporaryFolder folder;
  std::string text = small_trace();
  text.erase(text.find("0,2,2,1,backward-send"),
             text.find('\n', text.find("0,2,2,1,backward-send")) + 1 - text.find("0,2,2,1,backward-send"));
  const std::string file = folder.file("job.csv", text);
  EXPECT_THAT(lamina({"trace", "replay", file}).out, HasSubstr("1 replica of a step, incomplete: pipeline rank 2:\n"));
  const Outcome table = lamina({"trace", "replay", file, "--format", "csv"});
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.err, HasSubstr("incomplete"));
}

TEST(TraceCommand, EndsWithFiveOutsideOfATolerance) {
  const TemporaryFolder folder;
  const std::string file = folder.file("job.csv", small_trace());
  EXPECT_EQ(lamina({"trace", "replay", file, "--tolerance", "0.01"}).code, 0);
  const Outcome outcome = lamina({"trace", "replay", file, "--tolerance", "0.01", "--schedule", "gpipe"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("in another order"));
}

TEST(TraceCommand, TakesMetadata) {
  const TemporaryFolder folder;
  const std::string file = folder.file("job.csv", small_trace());
  EXPECT_EQ(lamina({"trace", "replay", file, "--meta", folder.file("good.yaml", "pp_size: 4\ndp_size: 2\n")}).code, 0);
  const Outcome outcome = lamina({"trace", "replay", file, "--meta", folder.file("bad.yaml", "pp_size: 8\n")});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("metadata say 8"));
  EXPECT_EQ(lamina({"trace", "replay", file, file, "--meta", folder.file("good.yaml", "pp_size: 4\n")}).code, 2);
}

TEST(TraceCommand, RefusesWhatIsNoTrace) {
  const TemporaryFolder folder;
  const auto refused = [](const std::string& file) {
    const Outcome outcome = lamina({"trace", "replay", file});
    EXPECT_EQ(outcome.code, 3) << file;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_LT(outcome.err.size(), 2000U);
    return outcome.err;
  };
  EXPECT_THAT(refused(folder.file("empty.csv", "")), HasSubstr("empty"));
  EXPECT_THAT(refused(folder.file("half.csv.gz", "\x1f\x8b\x08")), HasSubstr("ends early"));
  EXPECT_THAT(refused(folder.file("scenario.yaml", small_scenario())), HasSubstr("not a trace"));
  EXPECT_THAT(refused((folder.path() / "halv.csv.gz").string()), AllOf(HasSubstr("no such file"), HasSubstr("half")));
  EXPECT_THAT(refused(folder.path().string()), HasSubstr("folder"));
  EXPECT_THAT(refused(folder.file("short.csv", kHeader + std::string("0,0,0,1,forward-compute,0,1,0,0,0,0\n"))),
              HasSubstr("No replica is complete"));
}

TEST(TraceCommand, RefusesSchedulesThatDoNotFit) {
  const TemporaryFolder folder;
  const std::string file = folder.file("job.csv", small_trace());
  const Outcome unknown = lamina({"trace", "replay", file, "--schedule", "gpip"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean \"gpipe\""));
  const Outcome split = lamina({"trace", "replay", file, "--schedule", "zero_bubble_h1"});
  EXPECT_EQ(split.code, 4);
  EXPECT_THAT(split.err, HasSubstr("splits backwards"));
}

TEST(TraceCommand, HelpHasExamples) {
  const Outcome outcome = lamina({"trace", "replay", "--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("Examples:\n  lamina trace replay"));
  EXPECT_EQ(lamina({"trace"}).code, 2);
}

}  // namespace
}  // namespace lamina::cli_test
