#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/pipeline/schedule_table.hpp"
#include "sim/report/report.hpp"
#include "sim/schedule_tables/lowered_table.hpp"
#include "sim/schedule_tables/pytorch_csv.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::pipeline {
namespace {

using testing::HasSubstr;

/// A file of the test's own.
class ScheduleFromFile : public testing::Test {
 protected:
  ScheduleFromFile() : file_(std::filesystem::path(testing::TempDir()) / (name() + ".csv")) {}

  ~ScheduleFromFile() override {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }

  static std::string name() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }

  static scenario::Scenario scenario(int ranks, const std::string& schedule = "one_forward_one_backward") {
    scenario::Scenario result = tests::small_scenario();
    result.strategy.pipeline_parallel = ranks;
    result.strategy.micro_batches = 8;
    result.strategy.data_parallel = 2;
    result.cluster.nodes = 8;
    result.strategy.schedule.name = schedule;
    return result;
  }

  /// The scenario with the schedule of a file of this text.
  scenario::Scenario with_file(scenario::Scenario scenario, const std::string& text, int model_copies = 1) const {
    std::ofstream(file_, std::ios::binary) << text;
    scenario.strategy.schedule_file = scenario::ScheduleFile{file_.string(), model_copies};
    scenario.strategy.schedule = {file_.filename().string(), {}};
    return scenario;
  }

  static catalog::Parameters defaults(const catalog::PluginInfo& info) {
    catalog::Parameters parameters;
    for (const catalog::ParameterSpec& spec : info.parameters) {
      if (spec.kind == catalog::ParameterKind::kChoice) {
        parameters.set_choice(spec.name, spec.default_value);
      } else if (spec.kind == catalog::ParameterKind::kBoolean) {
        parameters.set_number(spec.name, spec.default_value == "true" ? 1 : 0);
      } else {
        parameters.set_number(spec.name, std::stod(spec.default_value));
      }
    }
    return parameters;
  }

  std::string refusal(const scenario::Scenario& scenario) const {
    const auto table = schedule_table(scenario, catalogs_);
    return table ? "" : table.error().reason;
  }

  Catalogs catalogs_ = builtin_catalogs();
  std::filesystem::path file_;
};

TEST_F(ScheduleFromFile, GivesTheReportOfTheScheduleWhoseExportItIs) {
  int compared = 0;
  for (const auto& info : catalogs_.schedules.infos()) {
    SCOPED_TRACE(info.name);
    scenario::Scenario generated = scenario(4, info.name);
    generated.strategy.schedule.parameters = defaults(info);
    auto expected = simulate(generated, catalogs_);
    if (!expected) {
      continue;
    }
    const schedules::ScheduleTable& table = expected->prepared.table;
    const int copies = static_cast<int>(table.stages.size()) / table.model_chunks;
    const scenario::Scenario from_file = with_file(generated, schedule_tables::to_pytorch_csv(table), copies);
    auto result = simulate(from_file, catalogs_);
    ASSERT_TRUE(result) << result.error().reason;
    EXPECT_EQ(result->report.schedule, name() + ".csv");
    result->report.schedule = info.name;
    EXPECT_EQ(report::to_json(result->report), report::to_json(expected->report));
    ++compared;
  }
  EXPECT_GE(compared, 10);
}

TEST_F(ScheduleFromFile, IsCheckedWithItsCommunication) {
  const auto table = schedule_table(scenario(4), catalogs_);
  ASSERT_TRUE(table);
  const auto lowered = schedule_tables::lowered_rows(*table);
  EXPECT_EQ(refusal(with_file(scenario(4), schedule_tables::to_pytorch_csv(lowered))), "");
}

TEST_F(ScheduleFromFile, IsRefusedWithTheNumbersWhenItIsForAnotherScenario) {
  const auto table = schedule_table(scenario(4), catalogs_);
  ASSERT_TRUE(table);
  const std::string text = schedule_tables::to_pytorch_csv(*table);
  const std::string file = name() + ".csv";
  EXPECT_EQ(refusal(with_file(scenario(2), text)),
            "The schedule in " + file + " is for 4 pipeline ranks (one line each); the scenario has 2.");
  scenario::Scenario other = scenario(4);
  other.strategy.micro_batches = 9;
  EXPECT_EQ(refusal(with_file(other, text)),
            "The schedule in " + file + " is for 8 micro-batches; the scenario has 9.");
  other = scenario(4);
  other.model.layers = 10;
  EXPECT_EQ(refusal(with_file(other, text)),
            "10 layers do not divide evenly over the 4 stages of the schedule in " + file + ".");
}

TEST_F(ScheduleFromFile, CountsTheMicroBatchesOfBothCopiesOfTheModel) {
  const auto table = schedule_table(scenario(4, "dual_pipe"), catalogs_);
  ASSERT_TRUE(table) << table.error().reason;
  scenario::Scenario other = scenario(4);
  other.strategy.micro_batches = 4;
  EXPECT_THAT(refusal(with_file(other, schedule_tables::to_pytorch_csv(*table), 2)),
              HasSubstr("for 8 micro-batches (4 for each copy of the model); the scenario has 4."));
}

TEST_F(ScheduleFromFile, NamesFileAndPlaceOfAFault) {
  try {
    const auto table = schedule_table(with_file(scenario(2), "0F0,0B0\n1F0,1X0\n"), catalogs_);
    FAIL() << "accepted";
  } catch (const error::ScenarioError& fault) {
    EXPECT_EQ(fault.fault().location.file, file_.string());
    EXPECT_EQ(fault.fault().location.line, 2);
    EXPECT_EQ(fault.fault().location.column, 6);
  }
}

TEST_F(ScheduleFromFile, RefusesATableThatDeadlocks) {
  try {
    const auto table = schedule_table(with_file(scenario(2), "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n"), catalogs_);
    FAIL() << "accepted";
  } catch (const error::ScenarioError& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("deadlock"));
    EXPECT_EQ(fault.fault().location.line, 1);
    EXPECT_EQ(fault.fault().location.column, 5);
  }
}

/// A schedule whose only rank computes forwards and nothing else.
class Forgetful final : public schedules::Schedule {
 public:
  [[nodiscard]] tl::expected<schedules::ScheduleTable, error::Infeasible> table(
      const schedules::ScheduleRequest& request) const override {
    auto result = schedules::placed_table(request, 1);
    result->actions[0].push_back({schedules::ActionType::kForward, 0, 0});
    return result;
  }
};

TEST(ScheduleTable, OfABrokenPlugInIsRefusedUnderItsName) {
  Catalogs catalogs = builtin_catalogs();
  catalogs.schedules.add({"forgetful", "", "", {}}, std::make_unique<Forgetful>());
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.micro_batches = 1;
  scenario.strategy.schedule.name = "forgetful";
  const auto table = schedule_table(scenario, catalogs);
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().reason,
            "The schedule forgetful made a table that cannot run. Rank 0 computes 0F0 but never its backward: neither "
            "0B0 nor 0I0 and 0W0.");
}

}  // namespace
}  // namespace lamina::pipeline
