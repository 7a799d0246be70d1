#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

namespace lamina::cli_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Layers of a custom model last 10, 20 and 20 ms, so that a step without pipeline lasts 50 ms x layers x
/// micro-batches.
constexpr const char* kDataset = R"(schema_version: 1
dataset:
  name: small
  source: made up
  data: runs.csv
  order_within: [layers]
scenario:
  model: {custom: {forward: 10 ms, input_gradient: 20 ms, weight_gradient: 20 ms}}
  cluster: {node: dgx-a100-80gb, topology: nvlink_switch}
  strategy: {}
keys:
  model.layers: = layers
  strategy.micro_batches: = micro_batches
measured:
  step.time_s: = ms / 1000
where: layers < 100
incomplete:
  - {when: not known(ms), reason: The time is missing.}
)";

constexpr const char* kRuns =
    "# made up\n"
    "layers,micro_batches,ms,note\n"
    "2,2,200,exact\n"   // predicted 200 ms
    "2,4,500,slower\n"  // predicted 400 ms, -20 %
    "4,4,640,faster\n"  // predicted 800 ms, +25 %
    "4,8,,unknown\n"
    "400,8,1,outside\n";

struct Files {
  TemporaryFolder folder;
  std::string dataset;

  explicit Files(const std::string& description = kDataset, const std::string& runs = kRuns)
      : dataset(folder.file("small.yaml", description)) {
    (void)folder.file("runs.csv", runs);
  }

  [[nodiscard]] Outcome score(std::vector<std::string> arguments = {}) const {
    arguments.insert(arguments.begin(), {"score", dataset});
    return lamina(arguments);
  }
};

std::string with(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return std::string(text).replace(at, before.size(), after);
}

TEST(Score, TellsErrorsOrderAndWhatIsNotScored) {
  const Outcome outcome = Files().score();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, HasSubstr("  3 rows scored; 1 outside, 1 incomplete\n"));
  EXPECT_THAT(outcome.out, HasSubstr("error         mean 15.0 %, median 20.0 %, largest 25.0 %\n"));
  EXPECT_THAT(outcome.out, HasSubstr("signed        bias +1.7 %, median 0.0 %\n"));
  EXPECT_THAT(outcome.out, HasSubstr("in order      100 % of 3 pairs\n"));
  EXPECT_THAT(outcome.out, HasSubstr("              100 % of 1 pair of equal layers\n"));
  EXPECT_THAT(
      outcome.out,
      HasSubstr("        5  +25.0 %     0.800     0.640\n          layers=4 micro_batches=4 ms=640 note=faster\n"));
  // distances from the median of all errors are 45 %, within layers 20 %. Of the factors, 1 is the weighted median of
  // 1, 1.25 and 0.8, by predicted over measured: 1, 0.8 and 1.25
  EXPECT_THAT(outcome.out, HasSubstr("      matrix products                x 1.00     100 %   15.0 %\n"));
  EXPECT_THAT(outcome.out, HasSubstr("      layers (55.6 % of the spread)\n"
                                     "        2                                 2   -10.0 %   10.0 %\n"
                                     "        4                                 1   +25.0 %   25.0 %\n"));
  EXPECT_THAT(outcome.out, HasSubstr("incomplete: 1 row (line 6)\n    The time is missing.\n"));
}

TEST(Score, WritesEveryRowWithItsFamilies) {
  const Files files;
  const Outcome outcome = files.score({"--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document.at("schema"), "lamina.score/1");
  const auto& rows = document.at("datasets").at(0).at("rows");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0].at("columns").at("note"), "exact");
  EXPECT_NEAR(rows[1].at("figures").at("step.time_s").at("error").get<double>(), -0.2, 1e-9);
  EXPECT_NEAR(rows[1].at("families_s").at("matrix_products").get<double>(), 0.4, 1e-9);
  EXPECT_EQ(rows[3].at("status"), "incomplete");
  EXPECT_TRUE(rows[3].at("families_s").is_null());

  const Outcome table = files.score({"--format", "csv"});
  EXPECT_THAT(table.out, HasSubstr("dataset,line,status,reason,layers,micro_batches,ms,note,step.time_s.measured,"));
  EXPECT_THAT(table.out, HasSubstr("\nsmall,6,incomplete,The time is missing.,4,8,,unknown,,,,"));
}

TEST(Score, DoesNotDependOnTheNumberOfProcesses) {
  const Files files;
  const Outcome one = files.score({"--format", "json", "--workers", "1"});
  EXPECT_EQ(one.out, files.score({"--format", "json", "--workers", "3"}).out);
  EXPECT_THAT(one.out, Not(IsEmpty()));
}

TEST(Score, MalformedRowsAreToldWithTheirLineAndFailUnderStrict) {
  const Files files(kDataset,
                    std::string(kRuns) + "2,two,200,word\n2,2\n2,2.5,200,half\n2,\"2,200,open\n2,2,-1,negative\n");
  const Outcome outcome = files.score();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("  3 rows scored; 1 outside, 1 incomplete, 5 malformed\n"));
  EXPECT_THAT(outcome.err, HasSubstr("runs.csv:8: strategy.micro_batches"));
  EXPECT_THAT(outcome.err, HasSubstr("runs.csv:9: The row has 2 fields, the header 4."));
  EXPECT_THAT(outcome.err, HasSubstr("runs.csv:10: strategy.micro_batches: 2.5 is no whole number"));
  EXPECT_THAT(outcome.err, HasSubstr("runs.csv:11: A quoted field does not end"));
  EXPECT_THAT(outcome.err, HasSubstr("runs.csv:12: measured step.time_s"));
  const Outcome strict = files.score({"--strict"});
  EXPECT_EQ(strict.code, 5);
  EXPECT_EQ(strict.out, outcome.out);
  EXPECT_EQ(Files().score({"--strict"}).code, 0);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

TEST(Score, AMalformedRowIsToldOnceAndNamesWhatIsWrong) {
  const Files files(kDataset, std::string(kRuns) + "2,2,nan,words\n2,2,200,\"one\n2,\"two\"\n" +
                                  "2,\"2,200,three\n2,2,210,closes by chance\"\n");
  const std::string other = files.folder.file("other.yaml", with(kDataset, "name: small", "name: other"));
  const Outcome outcome = files.score({other, "--strict"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_EQ(count_of(outcome.err, "warning: "), 4U) << outcome.err;  // of two datasets
  EXPECT_THAT(outcome.err,
              HasSubstr("runs.csv:8: measured step.time_s: \"nan\" is a word, not a number in \"ms / 1000\""));
  EXPECT_THAT(outcome.err, HasSubstr("runs.csv:9: A quoted field does not end"));
  EXPECT_THAT(outcome.err, HasSubstr("runs.csv:10: The row has 2 fields, the header 4."));
  EXPECT_THAT(outcome.err, HasSubstr("runs.csv:11: A quoted field does not end"));
  EXPECT_THAT(outcome.err, HasSubstr("malformed rows: 8"));
  EXPECT_THAT(outcome.out, HasSubstr("  4 rows scored; 1 outside, 1 incomplete, 4 malformed\n"));
}

TEST(Score, AnEmptyCellIsCalledEmpty) {
  const Outcome outcome = Files(with(kDataset, "not known(ms)", "layers > 50"), kRuns).score();
  EXPECT_THAT(outcome.err, HasSubstr("runs.csv:6: measured step.time_s: ms is empty in \"ms / 1000\""));
}

TEST(Score, AQuotedCellMayGoOnOverLines) {
  const Files files(
      kDataset, "layers,micro_batches,ms,note\r\n2,2,200,\"two\r\n\r\nlines, one \"\"cell\"\"\"\r\n2,4,x,after\r\n");
  const Outcome outcome = files.score({"--format", "json"});
  const auto document = nlohmann::json::parse(outcome.out);
  const auto& rows = document.at("datasets").at(0).at("rows");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("line"), 2);
  EXPECT_EQ(rows[0].at("status"), "scored");
  EXPECT_EQ(rows[0].at("columns").at("note"), "two\r\n\r\nlines, one \"cell\"");
  EXPECT_EQ(rows[1].at("line"), 5);
  EXPECT_THAT(outcome.err, HasSubstr("runs.csv:5: measured step.time_s"));
}

TEST(Score, LongCellsAreCutInTextsOnly) {
  const std::string note(1'000'000, 'x');
  const Files files(kDataset, "layers,micro_batches,ms,note\n2,2,200,a\n2,2,210," + note + "\n");
  EXPECT_LT(files.score().out.size(), 4000U);
  EXPECT_LT(files.score({"--format", "markdown"}).out.size(), 4000U);
  EXPECT_THAT(files.score({"--format", "csv"}).out, HasSubstr(note));
}

TEST(Score, RowsThatLaminaCannotRunAreListed) {
  const Files files(with(kDataset, "strategy.micro_batches: = micro_batches",
                         "strategy.micro_batches: = micro_batches\n  strategy.pipeline_parallel: = layers * 2"));
  const Outcome outcome = files.score();
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.out, HasSubstr("0 rows scored; 1 outside, 1 incomplete, 3 infeasible"));
  EXPECT_THAT(outcome.err, HasSubstr("no row can be scored"));
}

TEST(Score, FiltersRowsChangesKeysAndHoldsTolerances) {
  const Files files;
  const Outcome some = files.score({"--rows", "layers == 2", "--rows", "note != 'slower'"});
  EXPECT_THAT(some.out, HasSubstr("  1 row scored; 4 outside\n"));
  // twice as long a backward: 2 x 2 x (10 + 40 + 20) = 280 ms instead of 200
  const Outcome changed = files.score({"--rows", "note == 'exact'", "--set", "model.custom.input_gradient=40 ms"});
  EXPECT_THAT(changed.out, HasSubstr("bias +40.0 %"));
  EXPECT_EQ(files.score({"--tolerance", "16"}).code, 0);
  const Outcome outside = files.score({"--tolerance", "14"});
  EXPECT_EQ(outside.code, 5);
  EXPECT_THAT(outside.err, HasSubstr("small: the mean error of step.time_s is 15 %, more than 14 %"));
}

TEST(Score, ChangedKeysCountMoreThanThoseOfTheRows) {
  // one layer instead of two: 100 ms instead of 200
  const Outcome outcome = Files().score({"--rows", "note == 'exact'", "--set", "model.layers=1"});
  EXPECT_THAT(outcome.out, HasSubstr("bias -50.0 %"));
}

/// The small dataset with everything that a ledger tells.
std::string with_peer_and_target() {
  return with(kDataset, "  order_within: [layers]\n", R"(  order_within: [layers]
  tuned: nothing at all
  target: 0.16
  peers:
    - {name: Peer | Co, mean_absolute_error: 0.12, source: "a paper, all rows"}
  causes: [Nobody knows.]
)");
}

TEST(Score, WritesALedgerOfAllDatasets) {
  const Files files(with_peer_and_target());
  const std::string other = files.folder.file("other.yaml", with(kDataset, "name: small", "name: other"));
  // backward twice as long: 280, 560 and 1120 ms of 200, 500 and 640, errors of 40, 12 and 75 %
  const std::vector<std::string> arguments = {other,
                                              "--format",
                                              "markdown",
                                              "--worst",
                                              "1",
                                              "--without",
                                              "model.custom.input_gradient=40 ms",
                                              "--without",
                                              "strategy.pipeline_parallel=4"};
  const Outcome outcome = files.score(arguments);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, testing::StartsWith("# Lamina against measured runs\n"));
  EXPECT_THAT(outcome.out, HasSubstr("| mean error with model.custom.input_gradient=40 ms | mean error with "));
  EXPECT_THAT(outcome.out, HasSubstr("| small | `step.time_s` | 3 of 4 | 15.0 % | 20.0 % | 25.0 % | +1.7 % | 100 % | "
                                     "the whole step x 1.00: 15.0 % | 42.3 % | "));
  EXPECT_THAT(outcome.out, HasSubstr(" % (1 row) |"));  // two layers make no four stages
  EXPECT_THAT(outcome.out, HasSubstr("| Peer \\| Co 12.0 % | 16.0 % (met) | nothing at all |\n"));
  EXPECT_THAT(outcome.out, HasSubstr("| other | `step.time_s` | 3 of 4 | 15.0 % |"));
  EXPECT_THAT(outcome.out, HasSubstr("\n## small\n\nSource: made up.\n\n- 3 rows scored, of `runs.csv`\n"
                                     "- 1 row outside\n- 1 row incomplete: The time is missing.\n"
                                     "- 100 % of 1 pair in order among rows of equal layers\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  - matrix products x 1.00 (now 100 % of the step): mean error 15.0 %\n"));
  EXPECT_THAT(outcome.out, HasSubstr("- Median error by layers, which explains 55.6 % of the spread: 2: -10.0 %; "
                                     "4: +25.0 %\n"));
  EXPECT_THAT(outcome.out, HasSubstr("- Peer \\| Co published 12.0 %: a paper, all rows\n"
                                     "- Known causes of the remaining error:\n  - Nobody knows.\n"));
  EXPECT_THAT(outcome.out,
              HasSubstr("| 5 | +25.0 % | 0.800 | 0.640 | layers=4 micro_batches=4 ms=640 note=faster |\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("note=slower")));  // one worst row
  EXPECT_THAT(outcome.out, HasSubstr("\n## other\n"));
  EXPECT_THAT(outcome.out, HasSubstr("- Known causes of the remaining error: none known\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr(files.folder.path().string())));
  EXPECT_EQ(outcome.out, files.score(arguments).out);
}

TEST(Score, TellsWhetherTheTargetIsMissed) {
  const Files files(with(with_peer_and_target(), "target: 0.16", "target: 0.14"));
  EXPECT_THAT(files.score().out, HasSubstr("    target        14.0 % (missed)\n"));
  EXPECT_THAT(files.score({"--format", "json"}).out, HasSubstr("\"target_mean_absolute_error\": 0.14"));
}

TEST(Score, AFurtherErrorGoesWithTheLedgerOnly) {
  EXPECT_EQ(Files().score({"--without", "model.layers=1"}).code, 2);
  const Outcome outcome = Files().score({"--format", "markdown", "--without", "layers"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--without takes key=value"));
  const Outcome wrong = Files().score({"--format", "markdown", "--without", "model.layers=-1"});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_THAT(wrong.err, testing::StartsWith("error: --without model.layers=-1: "));
  EXPECT_THAT(Files().score({"--set", "model.layers=-1"}).err, testing::StartsWith("error: --set model.layers=-1: "));
}

TEST(FidelityScript, TellsHowItIsCalled) {
  Invocation help;
  help.program = (tests::source_folder() / "scripts/fidelity.sh").string();
  help.arguments = {"--help"};
  const Outcome shown = run(help);
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("usage: scripts/fidelity.sh DATA_DIRECTORY"));
  help.arguments = {};
  EXPECT_EQ(run(help).code, 2);
  help.arguments = {"no-such-folder"};
  EXPECT_EQ(run(help).code, 2);
}

TEST(Score, RowsMayStandInTheFileAndInAnotherFolder) {
  const Files inline_rows(
      with(kDataset, "data: runs.csv",
           "rows:\n    - {layers: 2, micro_batches: 2, ms: 250}\n    - {layers: 1, micro_batches: 1}"));
  const Outcome outcome = inline_rows.score();
  EXPECT_THAT(outcome.out, HasSubstr("1 row scored; 1 incomplete"));
  EXPECT_THAT(outcome.out, HasSubstr("bias -20.0 %"));
  const TemporaryFolder folder;
  const std::string dataset = folder.file("small.yaml", kDataset);
  EXPECT_EQ(lamina({"score", dataset}).code, 3);
  const Files files;
  EXPECT_EQ(lamina({"score", dataset, "--data", files.folder.path().string()}).code, 0);
}

/// The first fenced block of a language after `heading` on the page.
std::string block_of_page(const std::string& heading, const std::string& language) {
  std::stringstream page;
  page << std::ifstream(tests::source_folder() / "docs/score.md").rdbuf();
  const std::string text = page.str();
  const std::string fence = "```" + language + "\n";
  const std::size_t start = text.find(fence, text.find(heading));
  if (start == std::string::npos) {
    ADD_FAILURE() << "no " << language << " after " << heading;
    return "";
  }
  const std::size_t from = start + fence.size();
  return text.substr(from, text.find("```", from) - from);
}

TEST(Score, TheExampleOfItsPageRuns) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"score", folder.file("example.yaml", block_of_page("# Lamina", "yaml"))});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("  2 rows scored\n"));
}

TEST(Score, TheTableOfItsPageGivesTheLinesShown) {
  const std::string heading = "## Your own runs";
  const TemporaryFolder folder;
  (void)folder.file("runs.csv", block_of_page(heading, "csv"));
  const Outcome outcome = lamina({"score", folder.file("runs.yaml", block_of_page(heading, "yaml")), "--worst", "3"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  std::istringstream shown(block_of_page(heading, "text"));
  std::size_t at = 0;
  int lines = 0;
  for (std::string line; std::getline(shown, line);) {
    if (line != "...") {
      at = outcome.out.find(line + "\n", at);
      ASSERT_NE(at, std::string::npos) << line;
      ++lines;
    }
  }
  EXPECT_EQ(lines, 8);
}

struct Fault {
  const char* before;
  const char* after;
  const char* message;
};

class BadDataset : public testing::TestWithParam<Fault> {};

TEST_P(BadDataset, IsRefusedWithItsPlace) {
  const Outcome outcome = Files(with(kDataset, GetParam().before, GetParam().after)).score();
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr("small.yaml:"));
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Faults, BadDataset,
    testing::Values(Fault{"order_within", "ordered_within", "order_within"}, Fault{"source: made up", "", "source"},
                    Fault{"data: runs.csv", "summary: none", "either data: FILE.csv or rows"},
                    Fault{"= layers\n", "= layer\n", "layers"}, Fault{"= layers\n", "= (layers\n", "not closed"},
                    Fault{"model.layers: =", "model.layer: =", "model.layers"},
                    Fault{"step.time_s", "step.time", "step.time_s"}, Fault{"not known(ms)", "not know(ms)", "known"},
                    Fault{"where: layers < 100", "where: [[layers]]", "a condition over columns"},
                    Fault{"[layers]", "[layer]", "layers"},
                    Fault{"source: made up", "source: made up\n  target: -0.1", "target"},
                    Fault{"schema_version: 1", "schema_version: 2", "schema_version"},
                    Fault{"  strategy: {}", "  sweep: {}", "no meaning in a dataset"},
                    Fault{"model.layers: = layers", "model.layers: {column: layers}", "values"},
                    Fault{"  strategy: {}", "  strategie: {}", "strategy"}));

TEST(Score, RefusesColumnsThatLookAlikeAndTablesWithoutHeader) {
  EXPECT_THAT(Files(kDataset, "layers,micro_batches,ms,ms)\n1,1,1,1\n").score().err,
              HasSubstr("Two columns have the same name in expressions."));
  EXPECT_EQ(Files(kDataset, "# nothing\n").score().code, 3);
  EXPECT_EQ(Files().score({"--rows", "layer > 2"}).code, 3);
  EXPECT_EQ(Files().score({"--format", "xml"}).code, 2);
  EXPECT_EQ(lamina({"score"}).code, 2);
}

}  // namespace
}  // namespace lamina::cli_test
