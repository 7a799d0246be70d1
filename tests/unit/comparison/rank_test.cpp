#include "sim/comparison/rank.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "tests/unit/comparison/comparison_fixture.hpp"

namespace lamina::comparison {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Layouts;

std::vector<std::string> names_of(const report::Ranking& ranking) {
  std::vector<std::string> names;
  for (const report::Entry& entry : ranking.entries) {
    names.push_back(entry.name);
  }
  return names;
}

std::vector<int> ranks_of(const report::Ranking& ranking) {
  std::vector<int> ranks;
  for (const report::Entry& entry : ranking.entries) {
    ranks.push_back(entry.rank);
  }
  return ranks;
}

TEST(Rank, IsByStepTime) {
  const Layouts layouts;
  const report::Ranking ranking =
      rank({layouts.entry("slow", 10, 5), layouts.entry("fast", 10, 1), layouts.entry("middle", 10, 2)}, {});
  EXPECT_THAT(names_of(ranking), ElementsAre("fast", "middle", "slow"));
  EXPECT_THAT(ranks_of(ranking), ElementsAre(1, 2, 3));
  EXPECT_DOUBLE_EQ(ranking.entries[0].behind, 0);
  EXPECT_DOUBLE_EQ(ranking.entries[1].behind, 12.0 / 11 - 1);
  EXPECT_DOUBLE_EQ(ranking.entries[2].behind, 15.0 / 11 - 1);
  EXPECT_EQ(ranking.by, report::RankedBy::kStepTime);
  EXPECT_THAT(ranking.warnings, IsEmpty());
}

TEST(Rank, PutsWhatDoesNotFitLast) {
  const Layouts layouts;
  report::Entry big = layouts.entry("big", 10, 0);
  big.report.fits = false;
  const report::Ranking ranking = rank({big, layouts.entry("slow", 10, 5), layouts.entry("fast", 10, 1)}, {});
  EXPECT_THAT(names_of(ranking), ElementsAre("fast", "slow", "big"));
  EXPECT_THAT(ranks_of(ranking), ElementsAre(1, 2, 3));
  EXPECT_LT(ranking.entries[2].behind, 0);
}

TEST(Rank, OfEqualsIsByMemoryThenByNetwork) {
  const Layouts layouts;
  report::Entry big = layouts.entry("big", 10, 1);
  big.report.memory.peak_bytes *= 2;
  report::Entry thirsty = layouts.entry("thirsty", 10, 1.005);
  thirsty.need = {report::NeedKind::kFound, 5e9, 11};
  report::Entry modest = layouts.entry("modest", 10, 1.009);
  modest.need = {report::NeedKind::kFound, 1e9, 11};
  report::Entry hopeless = layouts.entry("hopeless", 10, 1.001);
  hopeless.need.kind = report::NeedKind::kMoreThanAny;
  const report::Ranking ranking = rank({hopeless, big, thirsty, modest, layouts.entry("later", 10, 1.02)}, {});
  EXPECT_THAT(names_of(ranking), ElementsAre("modest", "thirsty", "hopeless", "big", "later"));
  EXPECT_THAT(ranks_of(ranking), ElementsAre(1, 1, 1, 1, 5));
}

TEST(Rank, OfDifferentBatchesIsByTokensPerSecondAndDevice) {
  const Layouts layouts;
  report::Entry twice = layouts.entry("twice", 10, 1);  // 21 s would be as good as 10.5 s of half the tokens
  twice.report.tokens_per_step *= 2;
  report::Entry few = layouts.entry("few", 10, 0.5);
  report::Entry many = layouts.entry("many", 5, 1);  // on twice the devices
  many.report.devices *= 2;
  const report::Ranking ranking = rank({few, many, twice}, {});
  EXPECT_EQ(ranking.by, report::RankedBy::kTokensPerDevice);
  EXPECT_THAT(names_of(ranking), ElementsAre("twice", "few", "many"));
  EXPECT_DOUBLE_EQ(ranking.entries[1].behind, 10.5 / (11.0 / 2) - 1);
  EXPECT_DOUBLE_EQ(ranking.entries[2].behind, 6.0 * 2 / (11.0 / 2) - 1);
  EXPECT_THAT(ranking.warnings, ElementsAre(HasSubstr("tokens per second and device")));
  EXPECT_THAT(ranking.verdict, HasSubstr("for the same tokens per device"));
}

TEST(Rank, WarnsOfDifferentModels) {
  Layouts one;
  Layouts other;
  other.scenario().model.name = "another";
  const report::Ranking ranking = rank({one.entry("a", 10, 1), other.entry("b", 10, 2)}, {});
  EXPECT_THAT(ranking.warnings, ElementsAre(HasSubstr("different models (model, another)")));
}

TEST(Rank, KeepsRefusals) {
  const Layouts layouts;
  const report::Ranking ranking = rank({layouts.entry("a", 10, 1)}, {{"b", "file.yaml", "It has no pipeline."}});
  ASSERT_EQ(ranking.refusals.size(), 1U);
  EXPECT_EQ(ranking.refusals[0].name, "b");
  EXPECT_THAT(rank({}, ranking.refusals).entries, IsEmpty());
  EXPECT_THAT(rank({}, ranking.refusals).verdict, IsEmpty());
}

TEST(Rank, ExplainsTheStepByTheBusiestRole) {
  const Layouts layouts;
  report::Entry entry = layouts.entry("a", 10, 1);
  report::Role role = entry.report.roles.front();
  role.times.compute_s = 10.5;
  role.times.bubble_s = 0.5;
  entry.report.roles.push_back(role);
  const report::Ranking ranking = rank({entry}, {});
  EXPECT_EQ(ranking.entries[0].busiest_role, 1);
  EXPECT_DOUBLE_EQ(report::busiest_times(ranking.entries[0]).compute_s, 10.5);
}

TEST(Rank, OfEquallyBusyRolesTakesTheOneThatEndsTheStep) {
  const Layouts layouts;
  report::Entry entry = layouts.entry("a", 10, 1);
  entry.report.roles.push_back(entry.report.roles.front());
  entry.report.critical_role = 1;
  EXPECT_EQ(rank({entry}, {}).entries[0].busiest_role, 1);
}

TEST(Rank, RefusesAnEntryWithoutAStep) {
  EXPECT_THROW((void)rank({report::Entry{}}, {}), error::InternalError);
}

}  // namespace
}  // namespace lamina::comparison
