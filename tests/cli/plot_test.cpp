#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* kTable =
    "layout,rate,step_time_s\n"
    "layered,100 Mbit/s,2\nlayered,1 Gbit/s,0.5\n"
    "plain,100 Mbit/s,1\nplain,1 Gbit/s,1\n";

TEST(Plot, TellsWhereCurvesCrossAndDrawsThem) {
  const TemporaryFolder folder;
  const std::string table = folder.file("out.csv", kTable);
  const std::string picture = (folder.path() / "out.svg").string();
  const Outcome outcome =
      lamina({"plot", table, "--x", "rate", "--y", "step_time_s", "--by", "layout", "-o", picture, "--title", "Rates"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // from 2 to a half, through 1 in the middle of the logarithms
  EXPECT_THAT(outcome.out, HasSubstr("layered and plain\n    step_time_s  316 Mbit/s\n"));
  EXPECT_THAT(read_file(picture), StartsWith("<?xml"));
  EXPECT_THAT(read_file(picture), HasSubstr(">Rates</text>"));
}

TEST(Plot, ReadsWhatSweepWrites) {
  const TemporaryFolder folder;
  const std::string scenario = folder.file("small.yaml", small_scenario());
  const std::string table = (folder.path() / "out.csv").string();
  ASSERT_EQ(lamina({"sweep", scenario, "--axis", "micro_batches=4,8", "--axis",
                    "strategy.schedule=layered_modular,gpipe", "-o", table})
                .code,
            0);
  const Outcome outcome =
      lamina({"plot", table, "--x", "micro_batches", "--y", "step_time_s", "--by", "strategy.schedule"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("gpipe"));
}

TEST(Plot, RefusesWhatItCannotDo) {
  const TemporaryFolder folder;
  const std::string table = folder.file("out.csv", kTable);
  const auto fails = [&](std::vector<std::string> arguments, int code, const std::string& text) {
    arguments.insert(arguments.begin(), "plot");
    const Outcome outcome = lamina(arguments);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(text));
    EXPECT_THAT(outcome.out, IsEmpty());
  };
  fails({table, "--x", "speed", "--y", "step_time_s"}, 2, "no column \"speed\"; it has layout, rate, step_time_s");
  fails({table, "--x", "rate", "--y", "step_time_s"}, 3, "--by");
  fails({table, "--x", "rate"}, 2, "--y");
  fails({table, "--x", "rate", "--y", "layout", "--by", "layout"}, 3, "not a number");
  fails({table, "--x", "rate", "--y", "step_time_s", "--by", "layout", "-o", "x.png"}, 2, ".svg");
  fails({table, "--x", "rate", "--y", "step_time_s", "--by", "layout", "-o", table}, 2, "out.csv");
  fails({table, "--x", "rate", "--y", "step_time_s", "--by", "layout", "--within", "nan"}, 2, "nan");
  fails({"missing.csv", "--x", "rate", "--y", "step_time_s"}, 3, "missing.csv");
  fails({folder.path().string(), "--x", "rate", "--y", "step_time_s"}, 3, "folder");
  fails({folder.file("binary.csv", std::string("a,b\n\0,1\n", 8)), "--x", "a", "--y", "b"}, 3, "binary.csv:2");
  std::string many = "layout,x,y\n";
  for (int i = 0; i < 9; ++i) {
    many += std::to_string(i) + ",1,2\n";
  }
  fails({folder.file("many.csv", many), "--x", "x", "--y", "y", "--by", "layout", "-o",
         (folder.path() / "many.svg").string()},
        2, "--by makes 9 groups; a picture holds 8");
}

}  // namespace
}  // namespace lamina::cli_test
