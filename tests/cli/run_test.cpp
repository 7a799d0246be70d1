#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(Run, PrintsTheReportAndNothingElse) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"run", folder.file("small.yaml", small_scenario())});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, HasSubstr("small"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\033")));
}

TEST(Run, PrintsOneJsonDocumentOfTheVersionedSchema) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"run", folder.file("small.yaml", small_scenario()), "--format", "json"});
  EXPECT_EQ(outcome.code, 0);
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document.at("schema"), "lamina.report/1");
  EXPECT_EQ(document.at("scenario").at("name"), "small");
  EXPECT_EQ(document.at("cluster").at("devices"), 8);
  EXPECT_GT(document.at("step").at("time_s").get<double>(), 0);
  EXPECT_GT(document.at("replay").at("activities").get<double>(), 0);
}

TEST(Run, GivesTheSameBytesTwice) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  for (const char* format : {"console", "json", "csv", "perfetto"}) {
    const Outcome first = lamina({"run", file, "--format", format});
    const Outcome second = lamina({"run", file, "--format", format});
    EXPECT_THAT(first.out, Not(IsEmpty()));
    EXPECT_EQ(first.out, second.out) << format;
  }
}

TEST(Run, DumpsTheGraphOfEveryRankInsteadOfAReport) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const Outcome outcome = lamina({"run", file, "--dump-graph"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("# small: operation graph"));
  EXPECT_THAT(outcome.out, HasSubstr("\nrank 0: "));
  EXPECT_THAT(outcome.out, HasSubstr("0F0"));
  EXPECT_EQ(outcome.out, lamina({"run", file, "--dump-graph"}).out);
  EXPECT_EQ(lamina({"run", file, "--dump-graph", "--format", "json"}).code, 2);
  EXPECT_EQ(lamina({"run", file, "--dump-graph", "-o", (folder.path() / "out").string()}).code, 2);
}

TEST(Run, SetChangesTheScenario) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const auto step_of = [&file](const std::string& change) {
    const Outcome outcome = lamina({"run", file, "--set", change, "--format", "json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out).at("step").at("time_s").get<double>();
  };
  EXPECT_GT(step_of("strategy.micro_batches=8"), step_of("strategy.micro_batches=4"));
  EXPECT_EQ(step_of("strategy.micro_batch_size=2"), step_of("mbs=2"));
}

TEST(Run, SetOfAnUnknownKeyNamesTheNearest) {
  const TemporaryFolder folder;
  const Outcome outcome =
      lamina({"run", folder.file("small.yaml", small_scenario()), "--set", "strategy.micro_batchs=8"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("micro_batches"));
}

TEST(Run, WithoutFoldingGivesTheSameStep) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const auto folded = nlohmann::json::parse(lamina({"run", file, "--format", "json"}).out);
  const auto whole = nlohmann::json::parse(lamina({"run", file, "--format", "json", "--no-fold"}).out);
  const auto step = folded.at("step").at("time_s").get<double>();
  EXPECT_NEAR(whole.at("step").at("time_s").get<double>(), step, 1e-9 * step);
  EXPECT_GT(whole.at("replay").at("activities").get<double>(), folded.at("replay").at("activities").get<double>());
}

TEST(Run, ALayoutThatDoesNotFitIsAnAnswerWithCodeFour) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"run", folder.file("big.yaml", small_scenario_with("model: x32", "model: x160"))});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.out, HasSubstr("small"));  // the report is there
  EXPECT_THAT(outcome.err, testing::AllOf(HasSubstr("does not fit"), HasSubstr("big.yaml")));
}

TEST(Run, AFolderIsItsScenariosInOrderAndAComparison) {
  const TemporaryFolder folder;
  for (const char* name : {"b", "a"}) {
    ASSERT_THAT(folder.file(std::string(name) + ".yaml",
                            small_scenario_with("name: small", std::string("name: scenario-") + name)),
                Not(IsEmpty()));
  }
  ASSERT_THAT(folder.file("notes.txt", "not a scenario"), Not(IsEmpty()));
  const Outcome outcome = lamina({"run", folder.path().string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::size_t a = outcome.out.find("scenario-a");
  const std::size_t b = outcome.out.find("scenario-b");
  ASSERT_NE(a, std::string::npos);
  ASSERT_NE(b, std::string::npos);
  EXPECT_LT(a, b);
  EXPECT_GT(outcome.out.find("\n2 scenarios"), b);  // the comparison
  EXPECT_NE(outcome.out.find("\n2 scenarios"), std::string::npos);
}

TEST(Run, SeveralScenariosAreOneJsonArrayOrOneTable) {
  const TemporaryFolder folder;
  const std::string first = folder.file("first.yaml", small_scenario_with("name: small", "name: first"));
  const std::string second = folder.file("second.yaml", small_scenario_with("name: small", "name: second"));
  const auto documents = nlohmann::json::parse(lamina({"run", first, second, "--format", "json"}).out);
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(documents[0].at("scenario").at("name"), "first");
  EXPECT_EQ(documents[1].at("scenario").at("name"), "second");
  const std::string one = lamina({"run", first, "--format", "csv"}).out;
  const std::string both = lamina({"run", first, second, "--format", "csv"}).out;
  EXPECT_THAT(both, StartsWith(one));  // one header, the first scenario's rows, then the second's
  EXPECT_THAT(both.substr(one.size()), HasSubstr("second"));
}

TEST(Run, WritesEveryFormIntoTheOutputFolder) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const auto target = folder.path() / "new" / "deep";
  const Outcome outcome = lamina({"run", file, "-o", target.string()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_EQ(read_file(target / "small.report.json"), lamina({"run", file, "--format", "json"}).out);
  EXPECT_EQ(read_file(target / "small.csv"), lamina({"run", file, "--format", "csv"}).out);
  EXPECT_EQ(read_file(target / "small.perfetto-trace"), lamina({"run", file, "--format", "perfetto"}).out);
  EXPECT_EQ(read_file(target / "small.txt"), outcome.out);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(target), {}), 4);
}

TEST(Run, OverwritesEarlierResults) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  ASSERT_THAT(folder.file("small.csv", "old"), Not(IsEmpty()));
  EXPECT_EQ(lamina({"run", file, "-o", folder.path().string()}).code, 0);
  EXPECT_THAT(read_file(folder.path() / "small.csv"), Not(StartsWith("old")));
  EXPECT_THAT(folder.names(),
              ElementsAre("small.csv", "small.perfetto-trace", "small.report.json", "small.txt", "small.yaml"));
}

TEST(Explain, ShowsValuesFormulasAndSources) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"explain", folder.file("small.yaml", small_scenario())});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  for (const char* expected : {"Model", "parameters", "Layout", "Schedule layered_modular", "Network", "Memory",
                               "Replay", "arXiv 2106.02679", "(p - 1) / (m K) = (2 - 1) / (4 x 16)"}) {
    EXPECT_THAT(outcome.out, HasSubstr(expected));
  }
}

}  // namespace
}  // namespace lamina::cli_test
