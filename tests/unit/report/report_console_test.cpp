#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/report/report.hpp"
#include "sim/report/text.hpp"
#include "tests/unit/report/sample_report.hpp"

namespace lamina::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

void expect_fits_80_columns(const std::string& text) {
  for (const std::string& line : lines_of(text)) {
    EXPECT_LE(display_width(line), 80U) << line;
    EXPECT_EQ(printable(line), line) << "control character in: " << line;
  }
}

/// `lines` without the escape sequences that to_console itself writes.
std::string without_colour(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : lines_of(text)) {
    if (line.find(part) != std::string::npos) {
      return line;
    }
  }
  return "";
}

class ConsoleReport : public ::testing::Test {
 protected:
  scenario::Scenario scenario_ = sample::scenario();
  Report report_ = sample::report(scenario_);

  [[nodiscard]] std::string text() const { return to_console(report_, false); }

  void make_names_hostile(const std::string& name) {
    scenario_.name = scenario_.model.name = scenario_.cluster.network.name = name;
    scenario_.cluster.node.accelerator.name = scenario_.cluster.topology.name = name;
    scenario_.reference->source = name;
    report_.cost_model = report_.schedule = report_.topology = report_.collectives = report_.transport = name;
    report_.why_not = report_.memory.peak_operation = report_.training->batch_law = name;
    report_.fits = false;
    report_.warnings = {name, name};
    report_.reference[0].reference.name = name;
    report_.reference[0].relative_difference = 0.5;
    report_.reference[0].reference.reason = name;
  }
};

TEST_F(ConsoleReport, FitsOneScreenOf80Columns) {
  expect_fits_80_columns(text());
  EXPECT_LE(lines_of(text()).size(), 50U);
}

TEST_F(ConsoleReport, KeepsTo80ColumnsWhateverTheNames) {
  const std::vector<std::string> names = {std::string(300, 'x'),
                                          "模型 " + std::string(100, 'y') + " 模型模型模型",
                                          "\x1b[2J\x1b[31m\n\r\tevil",
                                          "\xff\xfe broken \xc0\xaf",
                                          "",
                                          " ",
                                          "🚀🚀🚀🚀"};
  for (const std::string& name : names) {
    make_names_hostile(name);
    expect_fits_80_columns(text());
    expect_fits_80_columns(to_comparison({report_, report_, sample::report(scenario_)}, false));
  }
}

TEST_F(ConsoleReport, KeepsTo80ColumnsWhateverTheNumbers) {
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e300,
                             -1e300, 0.0, 1e-300, 123456789012.0}) {
    for (Role& role : report_.roles) {
      role.times = {value, {value, value, value, value, value, value}, value, value, value};
      role.memory.breakdown_bytes.fill(value);
      role.memory.peak_bytes = value;
    }
    for (LinkLoad& load : report_.links) {
      load = {load.link_class, value, value, value, value, value};
    }
    for (ReferenceRow& row : report_.reference) {
      row.measured = row.relative_difference = row.reference.value = value;
    }
    report_.memory = report_.roles[0].memory;
    report_.critical_role_times = report_.roles[0].times;
    report_.critical_path = {value, {value, value, value, value, value, value}};
    report_.training = Training{value, value, value, value, value, "law"};
    report_.step_s = report_.efficiency = report_.tokens_per_s = report_.sequences_per_s = value;
    report_.devices = report_.cluster_devices = report_.memory_capacity_bytes = value;
    expect_fits_80_columns(text());
    expect_fits_80_columns(to_comparison({report_}, false));
  }
}

TEST_F(ConsoleReport, GivesTheAnswerFirst) {
  const std::string answer = line_with(text(), "step time");
  EXPECT_THAT(answer, HasSubstr("6.11 s"));
  EXPECT_THAT(answer, HasSubstr("1.01 M"));
  EXPECT_THAT(answer, HasSubstr("5.62/80.0 GiB"));  // 6.031e9 / 2^30
  EXPECT_THAT(line_with(text(), "efficiency"), HasSubstr("84.5 %"));
  EXPECT_LT(text().find("step time"), text().find("Where the time goes"));
}

TEST_F(ConsoleReport, ShowsOneRowForRanksThatDoTheSame) {
  for (Role& role : report_.roles) {
    role.times = sample::times(0);
  }
  EXPECT_THAT(text(), HasSubstr("rank 0-4 "));
  EXPECT_THAT(text(), Not(HasSubstr("rank 1 ")));
}

TEST_F(ConsoleReport, SumsUpManyDifferentRanksByTheirExtremes) {
  report_.roles.clear();
  for (int rank = 0; rank < 160; ++rank) {
    Role role{rank, 224, sample::times(0), sample::memory(0), 1e15};
    role.times.bubble_s = 0.01 * rank;
    report_.roles.push_back(role);
  }
  report_.critical_role = 80;
  const std::string console = text();
  EXPECT_LE(lines_of(console).size(), 52U);
  for (const char* row : {"rank 0 ", "rank 80 ", "rank 159 "}) {
    EXPECT_THAT(console, HasSubstr(row));
  }
  EXPECT_THAT(console, Not(HasSubstr("rank 40 ")));
  EXPECT_THAT(line_with(console, "mean of all"), HasSubstr(" 795 "));  // 10 ms x mean of 0..159
  EXPECT_THAT(line_with(console, "most of all"), HasSubstr(" 1,590 "));
}

TEST_F(ConsoleReport, ShowsBothBubbleDefinitions) {
  EXPECT_THAT(line_with(text(), "bubble:"), HasSubstr("2.5 % of the makespan"));
  EXPECT_THAT(line_with(text(), "bubble:"), HasSubstr("2.0 % of the"));
}

TEST_F(ConsoleReport, SaysLoudlyThatItDoesNotFit) {
  report_.fits = false;
  report_.why_not = "rank 0 needs 93 GiB";
  EXPECT_THAT(text(), HasSubstr("Does not fit: rank 0 needs 93 GiB"));
  EXPECT_THAT(line_with(text(), "fits "), HasSubstr("NO"));
}

TEST_F(ConsoleReport, JudgesEachReferenceRow) {
  report_.reference[1].agrees = false;
  report_.reference[1].relative_difference = 0.2;
  report_.reference[1].reference.reason = "the source rounds up";
  report_.reference[2].relative_difference = -0.3;
  report_.reference[2].reference.expected_difference = -0.3;
  report_.reference[2].reference.reason = "the source counts less";
  const std::string console = text();
  EXPECT_THAT(line_with(console, "step.efficiency"), HasSubstr("agrees"));
  EXPECT_THAT(line_with(console, "training.days"), HasSubstr("differs"));
  EXPECT_THAT(line_with(console, "breakdown_bytes.state"), HasSubstr("as stated"));
  EXPECT_THAT(console, HasSubstr("the source rounds up"));
  EXPECT_THAT(console, HasSubstr("-30.0 % is expected: the source counts less"));
}

TEST_F(ConsoleReport, ShowsEveryReferenceNameInFull) {
  for (const char* name : {"memory.breakdown_bytes.checkpoints", "memory.breakdown_bytes.working_set",
                           "step.hardware_flop_utilisation", "step.bubble_makespan_fraction"}) {
    report_.reference = {sample::reference(name, 1e9, 1.5e9, 0.02)};
    EXPECT_THAT(text(), HasSubstr(name));
  }
}

TEST_F(ConsoleReport, UsesEscapeSequencesOnlyWhenAskedForColour) {
  EXPECT_EQ(text().find('\x1b'), std::string::npos);
  const std::string coloured = to_console(report_, true);
  EXPECT_NE(coloured.find('\x1b'), std::string::npos);
  EXPECT_EQ(without_colour(coloured), text());
}

TEST_F(ConsoleReport, NamesTheModelsUsed) {
  const std::string models = text().substr(text().find("Models:"));
  for (const char* part : {"ideal (100 % of peak)", "hierarchical", "fluid", "SimGrid", "38,640 ranks folded to 5"}) {
    EXPECT_THAT(models, HasSubstr(part));
  }
  report_.folded = false;
  EXPECT_THAT(text(), ::testing::ContainsRegex("all[ \n]+38,640[ \n]+ranks[ \n]+simulated"));
}

TEST_F(ConsoleReport, LeavesOutFiguresThatAProfileWithoutFlopsAndTokensLacks) {
  report_.model_flop_utilisation = std::numeric_limits<double>::quiet_NaN();
  report_.hardware_flop_utilisation = report_.tokens_per_s = 0;
  EXPECT_THAT(line_with(text(), "model FLOPs"), ::testing::ContainsRegex("model FLOPs - +all FLOPs +- "));
  EXPECT_THAT(line_with(text(), "step time"), ::testing::ContainsRegex("tokens/s +- "));
}

TEST_F(ConsoleReport, PrintsAnEmptyReportWithoutComplaint) {
  const scenario::Scenario nothing;
  Report empty;
  empty.scenario = &nothing;
  expect_fits_80_columns(to_console(empty, false));
  EXPECT_THROW((void)to_console(Report{}, false), error::InternalError);
}

}  // namespace
}  // namespace lamina::report
