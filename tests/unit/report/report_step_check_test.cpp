#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/step_check.hpp"

namespace lamina::report {
namespace {

using testing::HasSubstr;
using testing::Not;

StepCheck good() {
  StepCheck check;
  check.name = "mine";
  check.schedule = "gpipe";
  check.orders = 3;
  check.gradient_error = 3e-7;
  return check;
}

TEST(StepCheck, IsTheSameStepUpToFloatSums) {
  EXPECT_TRUE(good().same());
  EXPECT_THAT(to_console(good(), false), HasSubstr("The step of one device, in 3 orders"));
  EXPECT_THAT(to_json(good()), HasSubstr("\"same\": true"));
}

TEST(StepCheck, AnyErrorMakesItAnother) {
  for (double StepCheck::*part : {&StepCheck::loss_error, &StepCheck::gradient_error, &StepCheck::weight_error,
                                  &StepCheck::norm_error, &StepCheck::disagreement}) {
    for (const double error :
         {2e-5, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      StepCheck check = good();
      check.*part = error;
      EXPECT_FALSE(check.same());
      EXPECT_THAT(to_console(check, false), HasSubstr("NOT the step of one device"));
    }
  }
}

TEST(StepCheck, SaysWhatWasMissing) {
  StepCheck check = good();
  check.fault = "rank 1: forward has no input";
  EXPECT_FALSE(check.same());
  EXPECT_THAT(to_console(check, false), HasSubstr("forward has no input"));
  EXPECT_THAT(to_json(check), HasSubstr("\"fault\": \"rank 1"));
  EXPECT_THAT(to_json(good()), HasSubstr("\"fault\": null"));
}

}  // namespace
}  // namespace lamina::report
