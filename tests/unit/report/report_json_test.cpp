#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/error/error.hpp"
#include "sim/report/report.hpp"
#include "tests/unit/report/sample_report.hpp"

namespace lamina::report {
namespace {

using Json = nlohmann::json;

class JsonReport : public ::testing::Test {
 protected:
  scenario::Scenario scenario_ = sample::scenario();
  Report report_ = sample::report(scenario_);

  [[nodiscard]] Json parsed() const { return Json::parse(to_json(report_)); }
};

TEST_F(JsonReport, CarriesTheNamesThatOthersScriptAgainst) {
  const Json json = parsed();
  EXPECT_EQ(json.at("schema"), "lamina.report/1");
  EXPECT_EQ(json.at("scenario").at("name"), "infiniband-3d-improved");
  EXPECT_EQ(json.at("cluster").at("devices"), 38640);
  EXPECT_EQ(json.at("step").at("time_s"), 6.11);
  EXPECT_EQ(json.at("step").at("efficiency"), 0.8445);
  EXPECT_EQ(json.at("step").at("model_flop_utilisation"), 0.6334);
  EXPECT_EQ(json.at("step").at("hardware_flop_utilisation"), 0.8445);
  EXPECT_EQ(json.at("step").at("bubble_makespan_fraction"), 0.0252);
  EXPECT_EQ(json.at("throughput").at("tokens_per_s"), report_.tokens_per_s);
  EXPECT_EQ(json.at("memory").at("peak_bytes"), report_.memory.peak_bytes);
  EXPECT_EQ(json.at("memory").at("capacity_bytes"), 80 * sample::kGibibyte);
  EXPECT_EQ(json.at("memory").at("last_rank_peak_bytes"), report_.roles[4].memory.peak_bytes);
  EXPECT_EQ(json.at("training").at("days"), 7.07);
  EXPECT_EQ(json.at("replay").at("activities"), 15242);
}

TEST_F(JsonReport, NamesEachTrafficClassAndMemoryCategory) {
  report_.critical_role_times.exposed_s = {99, 1, 2, 3, 4, 5};  // by graph::Traffic; the first is "none"
  report_.memory.breakdown_bytes = {1, 2, 3, 4, 5, 6};
  const Json json = parsed();
  EXPECT_EQ(json.at("step").at("exposed_s"),
            (Json{{"pipeline", 1.0}, {"reduce", 2.0}, {"restore", 3.0}, {"tensor", 4.0}, {"offload", 5.0}}));
  EXPECT_EQ(json.at("memory").at("breakdown_bytes"), (Json{{"state", 1.0},
                                                           {"weights", 2.0},
                                                           {"gradients", 3.0},
                                                           {"checkpoints", 4.0},
                                                           {"working_set", 5.0},
                                                           {"buffers", 6.0}}));
}

TEST_F(JsonReport, PutsReferenceValuesUnderTheNamesOfTheReport) {
  const Json json = parsed();
  const Json& reference = json.at("reference");
  EXPECT_EQ(reference.at("source"), scenario_.reference->source);
  EXPECT_EQ(reference.at("step").at("efficiency"), 0.85);
  EXPECT_EQ(reference.at("training").at("days"), 7.0);
  EXPECT_EQ(reference.at("memory").at("breakdown_bytes").at("state"), 0.4e9);
  for (const ReferenceRow& row : report_.reference) {
    std::string pointer = "/" + row.reference.name;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    EXPECT_TRUE(json.contains(Json::json_pointer(pointer))) << row.reference.name;
  }
}

TEST_F(JsonReport, ListsEachDifferenceWithItsReason) {
  report_.reference[0].reference.expected_difference = -0.01;
  report_.reference[0].reference.reason = "latency";
  const Json differences = parsed().at("reference").at("differences");
  ASSERT_EQ(differences.size(), 3U);
  EXPECT_EQ(differences[0].at("name"), "step.efficiency");
  EXPECT_EQ(differences[0].at("value"), 0.85);
  EXPECT_EQ(differences[0].at("measured"), 0.8445);
  EXPECT_NEAR(differences[0].at("relative_difference").get<double>(), 0.8445 / 0.85 - 1, 1e-15);
  EXPECT_EQ(differences[0].at("agrees"), true);
  EXPECT_EQ(differences[0].at("expected_difference"), -0.01);
  EXPECT_EQ(differences[0].at("reason"), "latency");
  EXPECT_TRUE(differences[1].at("expected_difference").is_null());
  EXPECT_TRUE(differences[1].at("reason").is_null());
}

TEST_F(JsonReport, LeavesReferenceNamesThatCollideToTheList) {
  report_.reference = {sample::reference("memory.peak_bytes", 1, 1, 0.1), sample::reference("memory", 2, 2, 0.1),
                       sample::reference("memory.peak_bytes.more", 3, 3, 0.1), sample::reference("source", 4, 4, 0.1)};
  const Json reference = parsed().at("reference");
  EXPECT_EQ(reference.at("memory").at("peak_bytes"), 1.0);
  EXPECT_EQ(reference.at("source"), scenario_.reference->source);
  EXPECT_EQ(reference.at("differences").size(), 4U);
}

TEST_F(JsonReport, IsNullWhereTheScenarioAsksForNothing) {
  report_.training.reset();
  report_.reference.clear();
  scenario_.reference.reset();
  const Json json = parsed();
  EXPECT_TRUE(json.at("training").is_null());
  EXPECT_TRUE(json.at("reference").is_null());
  EXPECT_TRUE(json.at("memory").at("why_not").is_null());
}

TEST_F(JsonReport, TurnsNumbersThatJsonLacksIntoNull) {
  report_.step_s = std::numeric_limits<double>::quiet_NaN();
  report_.tokens_per_s = std::numeric_limits<double>::infinity();
  report_.devices = -std::numeric_limits<double>::infinity();
  const Json json = parsed();
  EXPECT_TRUE(json.at("step").at("time_s").is_null());
  EXPECT_TRUE(json.at("throughput").at("tokens_per_s").is_null());
  EXPECT_TRUE(json.at("cluster").at("devices").is_null());
}

TEST_F(JsonReport, ReadsBackEveryDoubleExactly) {
  for (const double value : {0.1, 1.0 / 3, 6.02214076e23, 5e-324, std::nextafter(1.0, 2.0), 123456789.123456789}) {
    report_.step_s = value;
    EXPECT_EQ(parsed().at("step").at("time_s").get<double>(), value);
  }
}

TEST_F(JsonReport, IsByteIdenticalForEqualReportsWhereverTheFileLies) {
  scenario::Scenario moved = scenario_;
  moved.file = "/somewhere/else.yaml";
  EXPECT_EQ(to_json(report_), to_json(sample::report(moved)));
  EXPECT_EQ(to_json(report_).find(scenario_.file), std::string::npos);
}

TEST_F(JsonReport, SurvivesNamesThatAreNotUtf8) {
  scenario_.name = "bad \xff name \"quoted\"\n";
  EXPECT_EQ(parsed().at("scenario").at("name"), "bad \ufffd name \"quoted\"\n");
}

TEST_F(JsonReport, CarriesEveryRoleAndLinkClass) {
  const Json json = parsed();
  ASSERT_EQ(json.at("roles").size(), 5U);
  EXPECT_EQ(json.at("roles")[3].at("pipeline_rank"), 3);
  EXPECT_EQ(json.at("roles")[3].at("devices"), 7728);
  EXPECT_EQ(json.at("roles")[3].at("memory").at("peak_bytes"), report_.roles[3].memory.peak_bytes);
  ASSERT_EQ(json.at("links").size(), 4U);
  EXPECT_EQ(json.at("links")[2].at("class"), "port");
  EXPECT_EQ(json.at("links")[2].at("busiest_bytes"), 31.2e9);
}

TEST_F(JsonReport, SaysWhyItDoesNotFit) {
  report_.fits = false;
  report_.why_not = "93 GiB of 80 GiB";
  EXPECT_EQ(parsed().at("memory").at("fits"), false);
  EXPECT_EQ(parsed().at("memory").at("why_not"), "93 GiB of 80 GiB");
}

TEST(JsonReportWithoutScenario, IsOurOwnError) {
  EXPECT_THROW((void)to_json(Report{}), error::InternalError);
}

}  // namespace
}  // namespace lamina::report
