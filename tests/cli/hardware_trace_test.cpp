#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kTrace = R"({"distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 8},
"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "sm90_xmma_gemm", "ts": 0, "dur": 6000, "args": {"device": 0, "stream": 7}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather_RING_LL", "ts": 4000, "dur": 4000,
 "args": {"device": 0, "stream": 20, "Collective name": "_allgather_base", "In msg nelems": 500000,
          "Out msg nelems": 4000000, "Group size": 8, "dtype": "BFloat16", "Process Group Name": "5"}}]})";

void expect_eighty_columns(const std::string& text) {
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    EXPECT_LE(end - start, 80U) << text.substr(start, end - start);
    start = end + 1;
  }
}

TEST(TraceImport, SummarisesARank) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"trace", "import", folder.file("r1.json", kTrace)});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("kineto, rank 1 of 8"), HasSubstr("8.00 MB"), HasSubstr("all_gather")));
  expect_eighty_columns(outcome.out);
  const auto rank =
      nlohmann::json::parse(lamina({"trace", "import", folder.file("r1.json", kTrace), "--format", "json"}).out)
          .at("ranks")
          .at(0);
  EXPECT_DOUBLE_EQ(rank.at("span_s"), 8e-3);
  EXPECT_DOUBLE_EQ(rank.at("communication_s"), 4e-3);
  EXPECT_DOUBLE_EQ(rank.at("exposed_s"), 2e-3);
}

TEST(TraceImport, WritesWhatItReadsBack) {
  const TemporaryFolder folder;
  const std::string trace = folder.file("r1.json", kTrace);
  const std::string packed = (folder.path() / "events.jsonl.gz").string();
  ASSERT_EQ(lamina({"trace", "import", trace, "-o", packed}).code, 0);
  const auto rank = [](const std::string& file) {
    auto document = nlohmann::json::parse(lamina({"trace", "import", file, "--format", "json"}).out);
    document["ranks"][0].erase("file");
    return document;
  };
  EXPECT_EQ(rank(packed), rank(trace));
  EXPECT_EQ(lamina({"trace", "import", trace, "-o", trace}).code, 2);  // not onto what it reads
}

TEST(TraceImport, RefusesWhatIsNoTraceWithCodeThree) {
  const TemporaryFolder folder;
  const std::string text = kTrace;
  for (const std::string& file :
       {folder.file("cut.json", text.substr(0, 300)), folder.file("empty.json", ""), folder.file("x.txt", "hello"),
        folder.path().string(), (folder.path() / "missing.json").string()}) {
    const Outcome outcome = lamina({"trace", "import", file});
    EXPECT_EQ(outcome.code, 3) << file << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(file));
  }
  const std::string trace = folder.file("r1.json", kTrace);
  const Outcome twice = lamina({"trace", "import", trace, trace});
  EXPECT_EQ(twice.code, 3);
  EXPECT_THAT(twice.err, HasSubstr("of rank 1"));
}

TEST(TraceCompare, OwnTimelineHasNoError) {
  const TemporaryFolder folder;
  const std::string scenario = folder.file("small.yaml", small_scenario());
  ASSERT_EQ(lamina({"run", scenario, "-o", folder.path().string()}).code, 0);
  const std::string timeline = (folder.path() / "small.perfetto-trace").string();
  const Outcome outcome = lamina({"trace", "compare", timeline, scenario, "--tolerance", "0.0001"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Operations began in the order predicted."));
  expect_eighty_columns(outcome.out);
  const Outcome other =
      lamina({"trace", "compare", timeline, scenario, "--set", "strategy.micro_batches=6", "--tolerance", "1"});
  EXPECT_EQ(other.code, 5);
  EXPECT_THAT(other.out, HasSubstr("differences:"));
  expect_eighty_columns(other.out);
}

TEST(TraceCompare, ForeignTracesAreComparedByClass) {
  const TemporaryFolder folder;
  const std::string scenario = folder.file("small.yaml", small_scenario());
  const Outcome outcome = lamina({"trace", "compare", folder.file("r1.json", kTrace), scenario, "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document.at("schema"), "lamina.trace_compare/1");
  EXPECT_EQ(document.at("matched_by"), "classes");
  EXPECT_EQ(document.at("validation").at("step").at("structural_s"), nullptr);
  EXPECT_THAT(document.at("validation").at("warnings").dump(), HasSubstr("cannot be matched"));
}

TEST(TraceCompare, NeedsTracesAndAScenario) {
  const TemporaryFolder folder;
  EXPECT_EQ(lamina({"trace", "compare", folder.file("r1.json", kTrace)}).code, 2);
  const std::string scenario = folder.file("small.yaml", small_scenario());
  EXPECT_EQ(lamina({"trace", "compare", scenario, scenario}).code, 3);
}

}  // namespace
}  // namespace lamina::cli_test
