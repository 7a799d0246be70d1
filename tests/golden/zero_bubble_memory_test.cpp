// Measured memory of Qi et al., arXiv 2401.10241, table 4: the scenarios in scenarios/published/zero-bubble must come
// within 10 %, with nothing tuned.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/load.hpp"
#include "tests/support/paths.hpp"

namespace lamina {
namespace {

const std::filesystem::path kScenarios = tests::source_folder() / "scenarios";

std::vector<std::string> rows() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kScenarios / "published/zero-bubble")) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

report::Report replayed(const std::string& name) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  const scenario::Scenario scenario = scenario::load_file(kScenarios / "published/zero-bubble" / (name + ".yaml"),
                                                          kScenarios, pipeline::plugins_of(catalogs));
  const auto result = pipeline::simulate(scenario, catalogs);
  if (!result) {
    throw std::runtime_error(result.error().reason);
  }
  return result->report;
}

class ZeroBubbleMemory : public ::testing::TestWithParam<std::string> {};

TEST_P(ZeroBubbleMemory, IsWithinATenthOfTheMeasuredPeak) {
  const report::Report report = replayed(GetParam());
  ASSERT_EQ(report.reference.size(), 1U);
  const report::ReferenceRow& row = report.reference.front();
  EXPECT_EQ(row.reference.name, "memory.peak_bytes");
  EXPECT_LE(row.reference.tolerance, 0.1);
  EXPECT_FALSE(row.reference.expected_difference.has_value());
  EXPECT_TRUE(row.agrees) << "simulated " << row.measured << ", published " << row.reference.value << ", "
                          << 100 * row.relative_difference << " %";
  EXPECT_TRUE(report.fits) << report.why_not;  // all of them ran on 80 GB
}

INSTANTIATE_TEST_SUITE_P(Table4, ZeroBubbleMemory, ::testing::ValuesIn(rows()), [](const auto& row) {
  std::string name = row.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
});

TEST(ZeroBubbleMemoryTable, HasFourSchedulesOfTwoModels) {
  EXPECT_EQ(rows().size(), 8U);
}

}  // namespace
}  // namespace lamina
