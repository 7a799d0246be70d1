// The example of docs/add-a-schedule.md, as if its file lay in schedules/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "sim/schedule_tables/checker.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::schedules {

void register_eager_one_forward_one_backward(catalog::Catalog<Schedule>& catalog);

namespace {

pipeline::Catalogs with_example() {
  pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  register_eager_one_forward_one_backward(catalogs.schedules);
  return catalogs;
}

/// Forward 1 s and backward 2 s per stage; messages take `delay` seconds.
scenario::Scenario pipeline_of(const std::string& schedule, int ranks, int micro_batches, double delay) {
  scenario::Scenario scenario = tests::delayed_scenario(ranks, ranks, delay);
  scenario.strategy.micro_batches = micro_batches;
  scenario.strategy.schedule.name = schedule;
  return scenario;
}

double step(const std::string& schedule, int ranks, int micro_batches, double delay) {
  const auto result = pipeline::simulate(pipeline_of(schedule, ranks, micro_batches, delay), with_example());
  EXPECT_TRUE(result.has_value()) << result.error().reason;
  return result ? result->report.step_s : -1;
}

TEST(AddedSchedule, PassesTheCheckerOnEveryShape) {
  for (const int ranks : {1, 2, 3, 8}) {
    for (const int micro_batches : {1, 2, 7, 16}) {
      const auto prepared =
          pipeline::prepare(pipeline_of("eager_one_forward_one_backward", ranks, micro_batches, 0), with_example());
      ASSERT_TRUE(prepared.has_value()) << prepared.error().reason;
      EXPECT_FALSE(schedule_tables::find_fault(prepared->table).has_value());
    }
  }
}

TEST(AddedSchedule, HasTheBubbleOfOneForwardOneBackward) {
  // (m + p - 1)(F + B) without delays.
  EXPECT_NEAR(step("eager_one_forward_one_backward", 4, 16, 0), (16 + 3) * 3.0, 1e-6);
}

TEST(AddedSchedule, HidesTheMessagesThatOneForwardOneBackwardWaitsFor) {
  // Only the ramps' 2(p - 1) delays are left of 2(p - 1)m/p + 2(p - 2).
  constexpr double kDelay = 0.1;
  const double work = (16 + 3) * 3.0;
  EXPECT_NEAR(step("eager_one_forward_one_backward", 4, 16, kDelay), work + 6 * kDelay, 1e-6);
  EXPECT_NEAR(step("one_forward_one_backward", 4, 16, kDelay), work + (24 + 4) * kDelay, 1e-6);
}

TEST(AddedSchedule, KeepsTwiceTheActivations) {
  const auto prepared = pipeline::prepare(pipeline_of("eager_one_forward_one_backward", 4, 16, 0), with_example());
  ASSERT_TRUE(prepared.has_value());
  int alive = 0;
  int peak = 0;
  for (const Action& action : prepared->table.actions.front()) {
    alive += action.type == ActionType::kForward ? 1 : -1;
    peak = std::max(peak, alive);
  }
  EXPECT_EQ(peak, 2 * 3 + 1);  // 2(p - 1 - r) + 1 on rank 0; 1F1B: p = 4
}

}  // namespace
}  // namespace lamina::schedules
