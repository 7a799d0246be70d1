#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/report.hpp"
#include "tests/unit/report/sample_report.hpp"

namespace lamina::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Scenarios of a folder and their reports, which refer to them.
class Comparison : public ::testing::Test {
 protected:
  std::vector<scenario::Scenario> scenarios_ = std::vector<scenario::Scenario>(3, sample::scenario());
  std::vector<Report> reports_;

  void SetUp() override {
    scenarios_[0].name = "infiniband-3d-baseline";
    scenarios_[2].name = "ethernet-3d-improved";
    scenarios_[2].cluster.network.name = "ethernet-25";
    scenarios_[2].cluster.network.bandwidth = BytesPerSecond(3.125e9);
    for (const scenario::Scenario& scenario : scenarios_) {
      reports_.push_back(sample::report(scenario));
    }
    reports_[0].schedule = "one_forward_one_backward";
    reports_[0].training->days = 14.0;
    reports_[2].training->days = 8.4;
  }

  /// The text in one line, so that it can be searched across line breaks.
  [[nodiscard]] std::string text() const {
    std::string result;
    for (const char character : to_comparison(reports_, false)) {
      const bool space = character == ' ' || character == '\n';
      if (!space || result.empty() || result.back() != ' ') {
        result += space ? ' ' : character;
      }
    }
    return result;
  }
};

TEST_F(Comparison, ShowsSimulatedAndPublishedSideBySide) {
  EXPECT_THAT(text(), HasSubstr("infiniband-3d baseline 38,640 84.5 85.0 -0.6% 14.0 7.00 +100% 0.364 0.373 -2.2%"));
  EXPECT_THAT(text(), HasSubstr("improved 38,640 84.5 85.0 -0.6% 7.07 7.00 +1.0% 0.364 0.373 -2.2%"));
}

TEST_F(Comparison, LeavesDashesWhereNothingIsPublished) {
  reports_.resize(1);
  reports_[0].reference.clear();
  EXPECT_THAT(text(), HasSubstr("38,640 84.5 - - 14.0 - - 5.62 - -"));
  reports_[0].training.reset();
  EXPECT_THAT(text(), HasSubstr("38,640 84.5 - - - - - 5.62 - -"));
}

TEST_F(Comparison, ExplainsRowsOutsideTheirTolerance) {
  reports_[1].reference[0].relative_difference = -0.2;
  reports_[1].reference[0].agrees = false;
  reports_[1].reference[0].reference.reason = "the source leaves out latency";
  EXPECT_THAT(text(), HasSubstr("8 of 9 published figures agree"));
  EXPECT_THAT(text(), HasSubstr("infiniband-3d-improved, step.efficiency: 0.845 simulated, 0.850 published (-20.0 %), "
                                "differs the source leaves out latency"));
}

TEST_F(Comparison, StatesWhatTheScenariosShowTogether) {
  EXPECT_THAT(
      text(),
      HasSubstr(
          "Time: the shortest training takes 7.07 days (layered_modular, infiniband-3d-improved). The best of the "
          "other schedules takes 14.0 days (one_forward_one_backward, infiniband-3d-baseline), 1.98 "
          "times as long."));  // 14 / 7.07
  EXPECT_THAT(text(), HasSubstr("Network: on ethernet-25 (3.12 GB/s a port instead of 25.0 GB/s) it is 8.40 days "
                                "(layered_modular, ethernet-3d-improved), 1.19 times the shortest: still "
                                "shorter than the best other schedule on infiniband-hdr."));  // 8.4 / 7.07
  EXPECT_THAT(text(), HasSubstr("Memory: the shortest takes 5.62 GiB of 80.0 GiB device memory (7.0 %)"));
}

TEST_F(Comparison, SaysSoWhenTheSlowNetworkLoses) {
  reports_[2].training->days = 20;
  EXPECT_THAT(text(), HasSubstr("times the shortest: longer than the best other schedule"));
}

TEST_F(Comparison, DrawsNoConclusionFromDifferentModelsOrMissingTraining) {
  scenarios_[2].model.name = "gpt3";
  EXPECT_THAT(text(), Not(HasSubstr("together")));
  scenarios_[2].model.name = scenarios_[0].model.name;
  for (Report& report : reports_) {
    report.training.reset();
  }
  EXPECT_THAT(text(), Not(HasSubstr("together")));
}

TEST_F(Comparison, CountsOnlyLayoutsThatFit) {
  reports_[1].fits = false;
  reports_[1].why_not = "needs 93 GiB";
  EXPECT_THAT(text(), HasSubstr("Does not fit into device memory infiniband-3d-improved: needs 93 GiB"));
  EXPECT_THAT(text(), HasSubstr("the shortest training takes 8.40 days"));
}

TEST_F(Comparison, PrintsAHeadingForNoReports) {
  reports_.clear();
  EXPECT_THAT(text(), HasSubstr("0 scenarios"));
}

}  // namespace
}  // namespace lamina::report
