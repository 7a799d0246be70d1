// The two ByteDance jobs (StragglerAnalysis, OSDI 2025): their measured operation times under our 1F1B must give back
// the measured time from the first forward to the last backward, and every worker's order must be the schedule's.
#include <cmath>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "schedules/schedule.hpp"
#include "sim/trace/assemble.hpp"
#include "sim/trace/comparison.hpp"
#include "sim/trace/text.hpp"
#include "tests/support/paths.hpp"

namespace lamina::trace {
namespace {

struct Published {
  std::string name;
  int replicas;
  int micro_batches;
  std::size_t steps;
};

const std::filesystem::path kFolder = tests::source_folder() / "../shared/measured/traces/bytedance_straggler";

class RealTrace : public ::testing::TestWithParam<Published> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder)) {
      GTEST_SKIP() << "the measured traces are not here: " << kFolder;
    }
  }

  [[nodiscard]] static Comparison replayed(const std::string& kind, Messages messages = Messages::kUsual) {
    const std::string file = (kFolder / (kind + "-" + GetParam().name + ".csv.gz")).string();
    const std::string meta = (kFolder / ("meta-" + GetParam().name + ".yaml")).string();
    const Job job = assemble(read_events(read_unpacked(file), file), file, read_layout(read_unpacked(meta), meta));
    return compare(job, schedules::builtin_schedules(), {.schedule = "", .messages = messages}).value();
  }
};

TEST_P(RealTrace, ReplaysToAThousandthInTheOrderOfTheSchedule) {
  const Comparison comparison = replayed("trace");
  EXPECT_EQ(comparison.schedule, "one_forward_one_backward");
  EXPECT_EQ(comparison.steps.size(), GetParam().steps);
  EXPECT_EQ(comparison.replicas, GetParam().replicas);
  EXPECT_EQ(comparison.most_micro_batches, GetParam().micro_batches);
  EXPECT_TRUE(comparison.skipped.empty());
  EXPECT_TRUE(comparison.order_differences.empty());
  EXPECT_EQ(comparison.passes,
            static_cast<std::int64_t>(GetParam().steps) * GetParam().replicas * 4 * 2 * GetParam().micro_batches);
  EXPECT_LE(comparison.median_absolute_error, 0.0005);
  for (const StepComparison& step : comparison.steps) {
    EXPECT_LE(std::abs(step.relative_error()), 0.001) << "step " << step.step;
  }
}

// With receives posted at all times the transfers of a batch are partly hidden, which these jobs did not do: a plain
// replay by others is 0.14 % (ST) and 0.18 % (AR) short.
TEST_P(RealTrace, ReplaysToAPercentWithEveryReceivePostedEarly) {
  const Comparison comparison = replayed("trace", Messages::kSeparateStreams);
  EXPECT_LE(comparison.median_absolute_error, 0.01);
  EXPECT_LT(comparison.median_error, -0.001);
}

TEST_P(RealTrace, ReplaysFromTheTimelineOfPureTransfers) {
  const Comparison comparison = replayed("ops");
  EXPECT_TRUE(comparison.order_differences.empty());
  EXPECT_LE(comparison.median_absolute_error, 0.0005);
}

INSTANTIATE_TEST_SUITE_P(ByteDance, RealTrace, ::testing::Values(Published{"ST", 2, 4, 32}, Published{"AR", 4, 32, 44}),
                         [](const auto& test) { return test.param.name; });

/// Upstream's readme: the last stage of ST is long; one worker of AR was slowed on purpose.
TEST(RealTraces, ShowTheirKnownCauseOfSlowness) {
  if (!std::filesystem::exists(kFolder)) {
    GTEST_SKIP() << "the measured traces are not here: " << kFolder;
  }
  const auto comparison = [](const char* name) {
    const std::string file = (kFolder / name).string();
    return compare(assemble(read_events(read_unpacked(file), file), file), schedules::builtin_schedules()).value();
  };
  const Comparison imbalanced = comparison("trace-ST.csv.gz");
  EXPECT_EQ(imbalanced.critical_rank, 3);
  EXPECT_GT(imbalanced.imbalance_cost, 0.1);
  EXPECT_LT(std::abs(imbalanced.stragglers_cost), 0.01);
  const Comparison slowed = comparison("trace-AR.csv.gz");
  EXPECT_GT(slowed.straggler.ratio, 2);
  EXPECT_GT(slowed.stragglers_cost, 1);
  EXPECT_LT(slowed.imbalance_cost, 0.05);
}

}  // namespace
}  // namespace lamina::trace
