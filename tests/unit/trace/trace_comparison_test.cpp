#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/trace/assemble.hpp"
#include "sim/trace/comparison.hpp"
#include "sim/trace/what_if.hpp"
#include "sim/trace/write.hpp"
#include "tests/unit/trace/synthetic.hpp"

namespace lamina::trace {
namespace {

using testing::Clock;
using ::testing::HasSubstr;
using testing::Synthetic;

Job job_of(const std::string& rows) {
  return assemble(read_events(testing::kHeader + rows, "job.csv"), "job.csv");
}

Comparison comparison_of(const std::string& rows, const CompareOptions& options = {}) {
  auto result = compare(job_of(rows), schedules::builtin_schedules(), options);
  if (!result) {
    throw std::runtime_error(result.error().reason);
  }
  return *result;
}

Synthetic uneven() {
  Synthetic job;
  job.compute_s = [](const Pass& pass) {
    return (pass.backward ? 2.0 : 1.0) + 0.3 * (pass.stage % 3) + 0.01 * ((7 * pass.micro_batch) % 5);
  };
  job.transfer_s = [](const Pass& pass) { return (pass.backward ? 0.05 : 0.02) + 0.01 * pass.stage; };
  return job;
}

// Equal stages without messages: (m + p - 1) (f + b), the textbook makespan of 1F1B.
TEST(TraceReplay, OfEqualStagesTakesTheTextbookTime) {
  const Comparison comparison = comparison_of(testing::rows(Synthetic{}));
  ASSERT_EQ(comparison.steps.size(), 1U);
  EXPECT_NEAR(comparison.steps[0].replayed_s, (6 + 4 - 1) * 3.0, 1e-9);
  EXPECT_NEAR(comparison.median_error, 0, 1e-12);
  EXPECT_TRUE(comparison.order_differences.empty());
  EXPECT_EQ(comparison.passes, 2 * 4 * 6);
}

TEST(TraceReplay, OfUnequalStagesTakesWhatTheRecursionSays) {
  for (const int ranks : {2, 3, 5}) {
    Synthetic made = uneven();
    made.ranks = ranks;
    const Comparison comparison = comparison_of(testing::rows(made));
    EXPECT_EQ(comparison.messages, PointToPoint::kFusedRendezvous);
    EXPECT_NEAR(comparison.steps[0].replayed_s, Clock(made).makespan(), 1e-9) << ranks << " ranks";
    EXPECT_NEAR(comparison.steps[0].relative_error(), 0, 1e-9);
  }
}

TEST(TraceReplay, WithSeparateStreamsReceivesAreAlwaysPosted) {
  const Synthetic batched = uneven();
  Synthetic apart = batched;
  apart.batched = false;
  const Comparison comparison =
      comparison_of(testing::rows(batched), {.schedule = "", .messages = Messages::kSeparateStreams});
  EXPECT_NEAR(comparison.steps[0].replayed_s, Clock(apart).makespan(), 1e-9);
  EXPECT_LT(Clock(apart).makespan(), Clock(batched).makespan());
}

TEST(TraceReplay, OfVirtualStagesIsInterleaved) {
  Synthetic made = uneven();
  made.ranks = 3;
  made.chunks = 2;
  made.batched = false;
  const Comparison comparison =
      comparison_of(testing::rows(made), {.schedule = "", .messages = Messages::kSeparateStreams});
  EXPECT_EQ(comparison.schedule, "interleaved");
  EXPECT_TRUE(comparison.order_differences.empty());
  EXPECT_NEAR(comparison.steps[0].replayed_s, Clock(made).makespan(), 1e-9);
  EXPECT_FALSE(comparison_of(testing::rows(made)).steps.empty()) << "the usual messages do not deadlock";
}

TEST(TraceReplay, OfAStepIsItsLongestReplica) {
  Synthetic slow = uneven();
  slow.compute_s = [](const Pass& pass) { return (pass.backward ? 4.0 : 2.0) + 0.1 * pass.stage; };
  const Comparison comparison = comparison_of(testing::rows(uneven(), 1, 0, 3) + testing::rows(slow, 1, 1, 5));
  EXPECT_NEAR(comparison.steps[0].measured_s, Clock(slow).makespan(), 1e-9);
  EXPECT_NEAR(comparison.steps[0].replayed_s, Clock(slow).makespan(), 1e-9);
  EXPECT_NEAR(comparison.steps[0].replicas[0].replayed_s, Clock(uneven()).makespan(), 1e-9);
}

TEST(TraceReplay, LeavesOutLaunchGapsAndReportsThem) {
  Synthetic made;
  made.ranks = 1;
  made.micro_batches = 1;
  // Forward [0, 1], backward [1, 3], which here starts half a second late.
  const Comparison comparison =
      comparison_of("0,0,0,1,forward-compute,0,1,0,0,0,0\n0,0,0,1,backward-compute,1.5,2,0,0,0,0\n");
  EXPECT_NEAR(comparison.steps[0].relative_error(), 3.0 / 3.5 - 1, 1e-12);
  EXPECT_NEAR(comparison.stages[0].measured_gap_s, 0.5, 1e-12);
  EXPECT_NEAR(comparison.stages[0].measured_idle_s, 0.5, 1e-12);
  EXPECT_NEAR(comparison.stages[0].replayed_idle_s, 0, 1e-12);
}

TEST(TraceReplay, ShowsWhereTheMeasuredOrderLeavesTheSchedule) {
  Synthetic made;
  made.ranks = 2;
  made.micro_batches = 4;
  const Comparison comparison = comparison_of(testing::rows(made), {.schedule = "gpipe", .messages = Messages::kUsual});
  ASSERT_EQ(comparison.order_differences.size(), 2U);
  const OrderDifference& first = comparison.order_differences[0];
  EXPECT_EQ(first.rank, 0);
  EXPECT_EQ(first.position, 2U);  // 1F1B with one warm-up forward: F0 F1 B0; GPipe: F0 F1 F2
  EXPECT_EQ(first.measured, (Pass{true, 0, 0}));
  EXPECT_EQ(first.scheduled, (Pass{false, 0, 2}));
  EXPECT_THAT(to_console(comparison, false), HasSubstr("position 2"));
}

TEST(TraceReplay, NamesTheStragglerAndWhatItCosts) {
  Synthetic slow;
  slow.compute_s = [](const Pass& pass) { return (pass.backward ? 2.0 : 1.0) * (pass.stage == 2 ? 1.5 : 1); };
  std::string rows;
  for (int replica = 0; replica < 4; ++replica) {
    rows += testing::rows(replica == 3 ? slow : Synthetic{}, 1, replica);
  }
  const Comparison comparison = comparison_of(rows);
  EXPECT_EQ(comparison.straggler.replica, 3);
  EXPECT_EQ(comparison.straggler.rank, 2);
  EXPECT_NEAR(comparison.straggler.ratio, 1.5, 1e-12);
  const double usual = (6 + 4 - 1) * 3.0;
  EXPECT_NEAR(comparison.steps[0].without_stragglers_s, usual, 1e-9);
  EXPECT_NEAR(comparison.stragglers_cost, Clock(slow).makespan() / usual - 1, 1e-9);
  EXPECT_NEAR(comparison.imbalance_cost, 0, 1e-9);
}

TEST(TraceReplay, NamesTheCriticalStageAndWhatImbalanceCosts) {
  Synthetic made;
  made.compute_s = [](const Pass& pass) { return (pass.backward ? 2.0 : 1.0) * (pass.stage == 3 ? 2 : 1); };
  const Comparison comparison = comparison_of(testing::rows(made));
  EXPECT_EQ(comparison.critical_rank, 3);
  EXPECT_EQ(comparison.straggler.replica, -1);
  EXPECT_NEAR(comparison.steps[0].balanced_s, (6 + 4 - 1) * 3.0 * 5 / 4, 1e-9);  // mean of 1, 1, 1, 2
  EXPECT_NEAR(comparison.imbalance_cost, Clock(made).makespan() / comparison.steps[0].balanced_s - 1, 1e-9);
}

TEST(TraceReplay, OfSchedulesThatCannotOrderTheJobIsInfeasible) {
  const Job job = job_of(testing::rows(Synthetic{}));
  const auto schedules = schedules::builtin_schedules();
  const auto reason = [&](const std::string& name) {
    const auto result = compare(job, schedules, {.schedule = name, .messages = Messages::kUsual});
    return result ? std::string("replayed") : result.error().reason;
  };
  EXPECT_THAT(reason("zero_bubble_h1"), HasSubstr("splits backwards"));
  EXPECT_THAT(reason("accumulate"), HasSubstr("accumulate"));
  EXPECT_EQ(reason("gpipe"), "replayed");
}

TEST(TraceReplay, WithoutACompleteStepIsRefused) {
  try {
    (void)comparison_of("0,0,0,4,forward-compute,0,1,0,0,0,0\n");
    FAIL();
  } catch (const error::ScenarioError& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("step 4, replica 0: no backward of micro-batch 0, stage 0"));
  }
}

TEST(TraceReplay, IsWrittenTheSameEveryTime) {
  const std::string rows = testing::rows(uneven(), 1, 0) + testing::rows(uneven(), 1, 1);
  EXPECT_EQ(to_json(comparison_of(rows)), to_json(comparison_of(rows)));
}

TEST(TraceReplay, AsCsvHasARowPerWorkerAndStep) {
  const std::string text = to_csv({comparison_of(testing::rows(uneven(), 1, 0) + testing::rows(uneven(), 1, 1) +
                                                 testing::rows(uneven(), 2, 0) + testing::rows(uneven(), 2, 1))});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 2 * 2 * 4);
  const std::string header = text.substr(0, text.find('\n'));
  const std::string last = text.substr(text.rfind('\n', text.size() - 2) + 1);
  EXPECT_EQ(std::count(header.begin(), header.end(), ','), std::count(last.begin(), last.end(), ','));
}

TEST(Median, IsTheMeanOfTheMiddle) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median({}), 0);
}

}  // namespace
}  // namespace lamina::trace
