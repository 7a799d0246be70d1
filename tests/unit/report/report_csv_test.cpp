#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/report/report.hpp"
#include "tests/unit/report/sample_report.hpp"

namespace lamina::report {
namespace {

/// Reader after RFC 4180, section 2.
std::vector<std::vector<std::string>> read_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows = {{""}};
  bool in_quotes = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& field = rows.back().back();
    if (in_quotes) {
      const bool doubled = text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"';
      if (text[i] == '"' && !doubled) {
        in_quotes = false;
      } else {
        field += text[i];
        i += doubled ? 1 : 0;
      }
    } else if (text[i] == '"') {
      in_quotes = true;
    } else if (text[i] == ',') {
      rows.back().emplace_back();
    } else if (text[i] == '\n') {
      rows.push_back({""});
    } else {
      field += text[i];
    }
  }
  rows.pop_back();  // after the last line break
  return rows;
}

std::size_t column(const std::vector<std::vector<std::string>>& rows, const std::string& name) {
  for (std::size_t i = 0; i < rows[0].size(); ++i) {
    if (rows[0][i] == name) {
      return i;
    }
  }
  ADD_FAILURE() << "no column " << name;
  return 0;
}

class CsvReport : public ::testing::Test {
 protected:
  scenario::Scenario scenario_ = sample::scenario();
  Report report_ = sample::report(scenario_);
};

TEST_F(CsvReport, HasOneRowPerRoleUnderOneHeader) {
  const auto rows = read_csv(to_csv({report_, report_}));
  ASSERT_EQ(rows.size(), 1U + 2 * 5);
  for (const auto& row : rows) {
    EXPECT_EQ(row.size(), rows[0].size());
  }
  EXPECT_EQ(rows[4][column(rows, "pipeline_rank")], "3");
  EXPECT_EQ(rows[1][column(rows, "step_time_s")], "6.11");
  EXPECT_EQ(rows[1][column(rows, "exposed_tensor_s")], "0.784");
  EXPECT_EQ(rows[1][column(rows, "state_bytes")], "391000000");
  EXPECT_EQ(rows[1][column(rows, "training_days")], "7.07");
}

TEST_F(CsvReport, QuotesCommasQuotesAndLineBreaks) {
  scenario_.name = "a, \"b\"\nc";
  const auto rows = read_csv(to_csv({report_}));
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[1][column(rows, "scenario")], scenario_.name);
  EXPECT_EQ(rows[1][column(rows, "peak_operation")], "backward of layer 31, micro-batch 0");
}

TEST_F(CsvReport, ReadsBackEveryDoubleExactly) {
  report_.step_s = 1.0 / 3;
  const auto rows = read_csv(to_csv({report_}));
  EXPECT_EQ(std::stod(rows[1][column(rows, "step_time_s")]), 1.0 / 3);
}

TEST_F(CsvReport, LeavesFieldsEmptyThatHaveNoValue) {
  report_.training.reset();
  report_.step_s = std::numeric_limits<double>::quiet_NaN();
  report_.roles.clear();
  const auto rows = read_csv(to_csv({report_}));
  ASSERT_EQ(rows.size(), 2U);
  for (const char* name : {"training_days", "step_time_s", "pipeline_rank", "compute_s"}) {
    EXPECT_EQ(rows[1][column(rows, name)], "") << name;
  }
}

TEST_F(CsvReport, IsAHeaderAloneWithoutReports) {
  EXPECT_EQ(read_csv(to_csv({})).size(), 1U);
  EXPECT_THROW((void)to_csv({Report{}}), error::InternalError);
}

}  // namespace
}  // namespace lamina::report
