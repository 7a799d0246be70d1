#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr const char* kTable = "0F0,0F1,,,0B0,0B1\n,1F0,1F1,1B0,1B1,\n";

auto is_picture() {
  return AllOf(StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "), EndsWith("</svg>\n"));
}

TEST(Draw, WritesThePictureToStandardOutputAndNothingElse) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"draw", folder.file("small.yaml", small_scenario())});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_THAT(outcome.out, is_picture());
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("small: layered_modular"), HasSubstr(">rank 1</text>"), HasSubstr("step ")));
}

TEST(Draw, GivesTheSameBytesTwice) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  EXPECT_EQ(lamina({"draw", file}).out, lamina({"draw", file}).out);
}

TEST(Draw, WritesTheFileThatIsAskedForInAFolderThatIsMade) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const std::string picture = (folder.path() / "pictures" / "small.svg").string();
  const Outcome outcome = lamina({"draw", file, "-o", picture});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_EQ(read_file(picture), lamina({"draw", file}).out);
}

TEST(Draw, CellsAreInUnits) {
  const TemporaryFolder folder;
  // Two ranks, four micro-batches in stages of one layer: m 3 + (p - 1) 3 / v, v = 16.
  const Outcome outcome = lamina({"draw", folder.file("small.yaml", small_scenario()), "--cells"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(is_picture(), HasSubstr("makespan 12.2 units"), Not(HasSubstr("recompute"))));
}

TEST(Draw, ShowsATableOfPyTorch) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"draw", folder.file("mine.csv", kTable)});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // GPipe: (m + p - 1) 3 units.
  EXPECT_THAT(outcome.out, AllOf(is_picture(), HasSubstr(">mine</text>"), HasSubstr("makespan 9.00 units")));
}

TEST(Draw, NamesThePlaceOfAFaultInATable) {
  const TemporaryFolder folder;
  const Outcome outcome = lamina({"draw", folder.file("mine.csv", "0F0,0B0\n1F0,1G0\n")});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("mine.csv:2"), HasSubstr("1G0")));
}

TEST(Draw, PutsSeveralFilesIntoOnePicture) {
  const TemporaryFolder folder;
  const std::string first = folder.file("first.csv", kTable);
  const std::string second = folder.file("second.yaml", small_scenario());
  const Outcome outcome = lamina({"draw", first, second, "--cells"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(is_picture(), HasSubstr(">first</text>"), HasSubstr(">small: layered_modular</text>")));
  const Outcome mixed = lamina({"draw", first, second});
  EXPECT_EQ(mixed.code, 2);
  EXPECT_THAT(mixed.err, HasSubstr("--cells"));
}

TEST(Draw, EscapesHostileNames) {
  const TemporaryFolder folder;
  const std::string file =
      folder.file("odd.yaml", small_scenario_with("name: small", "name: \"<script>alert(1)</script>&\\e[31m\""));
  const Outcome outcome = lamina({"draw", file});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("&lt;script&gt;"), Not(HasSubstr("<script")), Not(HasSubstr("\033"))));
}

TEST(Draw, DrawsTheRanksAndTheTimeThatAreAskedFor) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const Outcome rank = lamina({"draw", file, "--ranks", "1", "--from", "10ms", "--until", "0.2 s"});
  EXPECT_EQ(rank.code, 0) << rank.err;
  EXPECT_THAT(rank.out, AllOf(is_picture(), HasSubstr(">rank 1</text>"), Not(HasSubstr(">rank 0</text>"))));
  EXPECT_LT(rank.out.size(), lamina({"draw", file}).out.size());
}

TEST(Draw, TakesTheWidth) {
  const TemporaryFolder folder;
  EXPECT_THAT(lamina({"draw", folder.file("mine.csv", kTable), "--width", "777"}).out, HasSubstr(" width=\"777\""));
}

TEST(Draw, AScenarioThatCannotRunIsInfeasible) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  for (const char* mode : {"--cells", "--width=900"}) {
    const Outcome outcome = lamina({"draw", file, mode, "--set", "pp=5", "--set", "dp=1", "--set", "tp=1"});
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr("infeasible"));
  }
}

TEST(Draw, LeavesNoFileBehindWhenTheOutputCannotBeWritten) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  const Outcome outcome = lamina({"draw", file, "-o", file + "/x.svg"});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("small.yaml"));
  const Outcome device = lamina({"draw", file, "-o", "/dev/null"});
  EXPECT_EQ(device.code, 2);
  EXPECT_THAT(device.err, HasSubstr("no ordinary file"));
  EXPECT_THAT(folder.names(), ElementsAre("small.yaml"));
}

TEST(Draw, DoesNotReplaceWhatItDraws) {
  const TemporaryFolder folder;
  const std::string file = folder.file("mine.csv", kTable);
  const Outcome outcome = lamina({"draw", file, "-o", file});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("would replace"));
  EXPECT_EQ(read_file(file), kTable);
}

TEST(Draw, WritesThroughALinkAndOnlyPictures) {
  const TemporaryFolder folder;
  const std::string file = folder.file("mine.csv", kTable);
  const std::string target = folder.file("target.svg", "old");
  const auto link = folder.path() / "link.svg";
  std::filesystem::create_symlink("target.svg", link);
  EXPECT_EQ(lamina({"draw", file, "-o", link.string()}).code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_THAT(read_file(target), HasSubstr("<svg"));
  const Outcome outcome = lamina({"draw", file, "-o", (folder.path() / "x.png").string()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr(".svg"));
}

TEST(Draw, RefusesAHugeStepBeforeItIsReplayed) {
  const TemporaryFolder folder;
  const Outcome outcome =
      lamina({"draw", folder.file("small.yaml", small_scenario()), "--set", "strategy.micro_batches=200000"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("is the limit"));
}

TEST(Draw, RefusesAScenarioOfTooManyOperationsBeforeItsTableIsMade) {
  const TemporaryFolder folder;
  const std::string file = folder.file("small.yaml", small_scenario());
  for (const char* mode : {"--cells", "--width=900"}) {
    const Outcome outcome = lamina({"draw", file, mode, "--set", "micro_batches=1000000"});
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("operations"));
  }
}

struct Refusal {
  std::string name;
  std::vector<std::string> arguments;
  std::string message;
};

class DrawRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(DrawRefuses, ASenselessCommandLineWithTheReason) {
  const TemporaryFolder folder;
  const std::string table = folder.file("mine.csv", kTable);
  std::vector<std::string> arguments = {"draw", table};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  const Outcome outcome = lamina(arguments);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Cases, DrawRefuses,
                         testing::Values(Refusal{"AFolder", {"scenarios"}, "is a folder"},
                                         Refusal{"AFolderAsOutput", {"-o", "scenarios"}, "is a folder"},
                                         Refusal{"SetOnATable", {"--set", "pp=4"}, "is a table"},
                                         Refusal{"RanksWithoutNumber", {"--ranks", "a-b"}, "0-15"},
                                         Refusal{"RanksBackwards", {"--ranks", "3-1"}, "0-15"},
                                         Refusal{"RanksThatAreNot", {"--ranks", "7-9"}, "no pipeline rank from 7"},
                                         Refusal{"TimeInCells", {"--until", "2s"}, "units"},
                                         Refusal{"UntilBeforeFrom", {"--from", "3", "--until", "2"}, "not after"},
                                         Refusal{"AfterTheEnd", {"--from", "100"}, "nothing to draw"},
                                         Refusal{"TooNarrow", {"--width", "3"}, "--width"}),
                         [](const auto& test) { return test.param.name; });

/// GPipe's table of one micro-batch for each rank.
std::string table_of_ranks(int ranks, int micro_batches) {
  std::string text;
  for (int rank = 0; rank < ranks; ++rank) {
    for (const char* type : {"F", "B"}) {
      for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
        text += std::to_string(rank) + type + std::to_string(micro_batch) + ",";
      }
    }
    text.back() = '\n';
  }
  return text;
}

TEST(Draw, OfTooMuchSaysWhatToDoInstead) {
  const TemporaryFolder folder;
  const std::string tall = folder.file("tall.csv", table_of_ranks(300, 1));
  EXPECT_EQ(lamina({"draw", tall}).code, 2);
  EXPECT_THAT(lamina({"draw", tall}).err, AllOf(HasSubstr("300 pipeline ranks"), HasSubstr("--ranks 0-15")));
  EXPECT_EQ(lamina({"draw", tall, "--ranks", "0-15"}).code, 0);
  const std::string large = folder.file("large.csv", table_of_ranks(4, 30'000));
  EXPECT_THAT(lamina({"draw", large}).err, AllOf(HasSubstr("240,000 boxes"), HasSubstr("--until")));
  EXPECT_EQ(lamina({"draw", large, "--until", "100"}).code, 0);
}

}  // namespace
}  // namespace lamina::cli_test
