#include "sim/explain/explain.hpp"

#include <filesystem>
#include <sstream>
#include <string>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/load.hpp"
#include "tests/support/paths.hpp"

namespace lamina::explain {
namespace {

using testing::HasSubstr;
using testing::Not;

/// X_160 on the paper's A100s, kernels at peak, attention scores left out: the numbers below follow by hand.
std::string explained(const std::vector<scenario::Override>& overrides) {
  const std::filesystem::path catalogue = tests::source_folder() / "scenarios";
  const auto catalogs = pipeline::builtin_catalogs();
  const auto scenario =
      scenario::load_file(catalogue / "quickstart.yaml", catalogue, pipeline::plugins_of(catalogs), overrides);
  const auto prepared = pipeline::prepare(scenario, catalogs);
  return prepared ? explain(scenario, *prepared, catalogs) : prepared.error().reason;
}

/// Value of the line that starts with `name`, up to its formula.
std::string value_of(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find("  = ");
    const std::string start = fmt::format("  {:<34} ", name);  // names stand in a column of their own
    if (line.rfind(start, 0) == 0 && equals != std::string::npos) {
      const std::string value = line.substr(start.size(), equals - start.size());
      return value.substr(value.find_first_not_of(' '));
    }
  }
  return "no line " + name;
}

TEST(Explain, NumbersOfTheTrillionParameterExampleFollowByHand) {
  const std::string text = explained({});
  EXPECT_EQ(value_of(text, "parameters"), "1.258 T");                    // 12 x 160 x 25600^2
  EXPECT_EQ(value_of(text, "tokens per step"), "6.182 M");               // 2415 x 2560
  EXPECT_EQ(value_of(text, "model FLOPs per token"), "7.55 TFLOP");      // 6 p
  EXPECT_EQ(value_of(text, "hardware FLOPs per token"), "10.07 TFLOP");  // 8 p, with recomputation
  EXPECT_EQ(value_of(text, "step at peak on all ranks"), "5.162 s");     // 8 p T / (38640 x 312e12)
  EXPECT_EQ(value_of(text, "ranks"), "38640");
  EXPECT_EQ(value_of(text, "bubble over compute"), "0.025");                     // 4 / (5 x 32)
  EXPECT_EQ(value_of(text, "pipeline message per rank"), "8.192 MB");            // 2560 x 25600 x 2 B / 16
  EXPECT_EQ(value_of(text, "pipeline, forward"), "1.016 GB/s");                  // C / (12 h) = 312e12 / 307200
  EXPECT_EQ(value_of(text, "state, one layer, unsharded"), "5.494 GiB");         // 12 x 12 x 25600^2 / 16
  EXPECT_EQ(value_of(text, "checkpoints at the schedule's peak"), "1.221 GiB");  // 5 x 32 x 8.192 MB
}

TEST(Explain, BubbleOfTheOrdinaryPipelineHasNoLoops) {
  const std::string text = explained({{"strategy.schedule", "gpipe"}});
  EXPECT_EQ(value_of(text, "bubble over compute"), "0.8");  // (5 - 1) / 5
  EXPECT_EQ(value_of(text, "layers per stage"), "32");
}

TEST(Explain, BubbleWithFewerMicroBatchesThanRanksPaysEveryLoop) {
  const std::string text = explained({{"strategy.micro_batches", "2"}});
  EXPECT_EQ(value_of(text, "bubble over compute"), "1.516");  // (32 x 5 + 2 - 1) / (2 x 32) - 1
}

TEST(Explain, OneForwardOneBackwardKeepsAtMostPipelineDepth) {
  const std::string text =
      explained({{"strategy.schedule", "one_forward_one_backward"}, {"strategy.micro_batches", "20"}});
  EXPECT_EQ(value_of(text, "checkpoints at the schedule's peak"), "1.221 GiB");  // min(5, 20) x 32 x 8.192 MB
}

TEST(Explain, ListsSourcesOfTheCatalogueEntriesItNames) {
  const std::string text = explained({});
  EXPECT_THAT(text, HasSubstr("\nSources\n"));
  for (const char* name : {"\n  x160: ", "\n  hgx-a100-16: ", "\n  a100-sxm-80gb: ", "\n  infiniband-hdr: "}) {
    EXPECT_THAT(text, HasSubstr(name));
  }
}

TEST(Explain, LeavesOutWhatAScenarioDoesNotHave) {
  const std::string text = explained({{"strategy.pipeline_parallel", "1"}, {"strategy.data_parallel", "1"}});
  EXPECT_THAT(text, Not(HasSubstr("pipeline message")));
  EXPECT_THAT(text, Not(HasSubstr("Bandwidth that hides")));
  EXPECT_EQ(value_of(text, "bubble over compute"), "no line bubble over compute");
}

TEST(Explain, SaysTheSameTwice) {
  EXPECT_EQ(explained({}), explained({}));
}

}  // namespace
}  // namespace lamina::explain
