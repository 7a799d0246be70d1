#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

// Lamina against a table that others measured; skipped where the table is absent.
namespace lamina::cli_test {
namespace {

/// Lines of a CSV file that are neither comments nor the header.
std::size_t rows_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::size_t lines = 0;
  for (std::string line; std::getline(stream, line);) {
    lines += line.empty() || line.front() == '#' ? 0 : 1;
  }
  return lines - 1;
}

TEST(ScoreMeasured, IsCloserToTheClustersOfVTrainThanItsAuthorsWere) {
  const std::filesystem::path folder = tests::shared_folder() / "measured";
  const std::filesystem::path table = folder / "vtrain_ground_truth_multi.csv";
  if (!std::filesystem::exists(table)) {
    GTEST_SKIP() << table << " is absent";
  }
  const Outcome outcome =
      lamina({"score", "scenarios/measured/vtrain-multi-node.yaml", "--data", folder.string(), "--format", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto score = nlohmann::json::parse(outcome.out).at("datasets").at(0);
  EXPECT_EQ(score.at("rows").size(), rows_in(table));
  EXPECT_EQ(score.at("counts").at("scored"), rows_in(table));
  EXPECT_EQ(score.at("counts").at("malformed"), 0);
  const auto& figure = score.at("figures").at(0);
  EXPECT_EQ(figure.at("figure"), "step.time_s");
  const auto share = figure.at("pairs").at("share").get<double>();
  EXPECT_GT(share, 0.5);  // of a coin
  EXPECT_LE(share, 1);
  constexpr double kPublished = 0.1473;  // mean error of vTrain on all 109 rows (MICRO-57)
  EXPECT_EQ(score.at("peers").at(0).at("mean_absolute_error"), kPublished);
  EXPECT_LT(figure.at("mean_absolute_error").get<double>(), kPublished);
  EXPECT_GT(figure.at("mean_absolute_error").get<double>(), 0);
}

}  // namespace
}  // namespace lamina::cli_test
