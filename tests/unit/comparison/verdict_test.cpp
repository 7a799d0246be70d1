#include "sim/comparison/verdict.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/comparison/parts.hpp"
#include "sim/comparison/rank.hpp"
#include "tests/unit/comparison/comparison_fixture.hpp"

namespace lamina::comparison {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Layouts;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Verdict, NamesTheDifferenceItsReasonAndItsPrice) {
  const Layouts layouts;
  report::Entry winner = layouts.entry("layered_modular", 6, 0.2);
  winner.report.roles[0].peak_activations = 8;
  winner.report.memory.peak_bytes = 20 * Layouts::kGibibyte;
  const report::Ranking ranking = rank({layouts.entry("gpipe", 6, 0.9), winner}, {});
  EXPECT_EQ(
      ranking.verdict,
      "layered_modular is 11.3 % faster than gpipe (6.20 s instead of 6.90 s) because its bubble is 200 ms instead "
      "of 900 ms, with 2.00 times the activations and 20.0 GiB instead of 10.0 GiB of memory a device.");
}

TEST(Verdict, NamesWhatTheWinnerLosesElsewhere) {
  const Layouts layouts;
  report::RoleTimes exposed;
  exposed.compute_s = 6;
  exposed.exposed_s[static_cast<std::size_t>(graph::Traffic::kRestore)] = 0.5;
  const report::Ranking ranking = rank({layouts.entry("a", exposed), layouts.entry("b", 6, 1)}, {});
  EXPECT_THAT(ranking.verdict,
              HasSubstr("because its bubble is 0 s instead of 1.00 s, although it waits 500 ms instead "
                        "of 0 s for gathered weights"));
}

TEST(Verdict, CountsTheEqualsOfTheRunnerUp) {
  const Layouts layouts;
  EXPECT_THAT(rank({layouts.entry("a", 6, 0), layouts.entry("b", 6, 1), layouts.entry("c", 6, 1)}, {}).verdict,
              StartsWith("a is 16.7 % faster than b and 1 equal ("));
}

TEST(Verdict, CountsInTimesFromTwiceOn) {
  const Layouts layouts;
  EXPECT_THAT(rank({layouts.entry("a", 6, 0), layouts.entry("b", 6, 9)}, {}).verdict,
              StartsWith("a is 2.50 times as fast as b (6.00 s instead of 15.0 s) because"));
}

TEST(Verdict, LooksFurtherWhenTheRunnerUpIsClose) {
  const Layouts layouts;
  const report::Ranking ranking =
      rank({layouts.entry("a", 10, 1), layouts.entry("b", 10, 1.05), layouts.entry("c", 10, 3)}, {});
  EXPECT_THAT(ranking.verdict,
              AllOf(StartsWith("a is 0.5 % faster than b"), HasSubstr("; and it is 18.2 % faster than c"),
                    HasSubstr("its bubble is 1.00 s instead of 3.00 s")));
}

TEST(Verdict, SaysThatEqualsAreEqualAndWhatDistinguishesThem) {
  const Layouts layouts;
  report::Entry big = layouts.entry("gpipe", 10, 1);
  big.report.memory.peak_bytes = 40 * Layouts::kGibibyte;
  const report::Ranking ranking = rank({big, layouts.entry("1f1b", 10, 1.001), layouts.entry("slow", 10, 2)}, {});
  EXPECT_THAT(
      ranking.verdict,
      AllOf(StartsWith("1f1b and gpipe are equally fast (11.0 s, within 0.1 %); 1f1b needs the least memory (10.0 "
                       "GiB a device, gpipe 40.0 GiB)"),
            HasSubstr("; 1f1b is 9.1 % faster than slow")));
}

TEST(Verdict, DistinguishesEqualsByTheirNetworkWhenMemoryDoesNot) {
  const Layouts layouts;
  report::Entry thirsty = layouts.entry("thirsty", 10, 1);
  thirsty.need = {report::NeedKind::kFound, 5e9, 11};
  report::Entry modest = layouts.entry("modest", 10, 1);
  modest.need = {report::NeedKind::kFound, 1e9, 11};
  EXPECT_THAT(rank({thirsty, modest}, {}).verdict,
              HasSubstr("modest needs the least network (1.00 GB/s a port, thirsty 5.00 GB/s)"));
  EXPECT_THAT(rank({thirsty, thirsty}, {}).verdict, HasSubstr("do not distinguish them"));
}

TEST(Verdict, SaysWhatTheNetworkMakesOfTheDifference) {
  const Layouts layouts;
  report::Entry winner = layouts.entry("a", 10, 1);
  winner.need = {report::NeedKind::kFound, 1e9, 10.9};
  report::Entry other = layouts.entry("b", 10, 2);
  other.need = {report::NeedKind::kFound, 1e9, 10.8};
  EXPECT_THAT(rank({winner, other}, {}).verdict, HasSubstr("; on an ideal network b would be faster"));
  other.need.ideal_step_s = 11.2;  // 2.75 % behind instead of 9.1 %
  EXPECT_THAT(rank({winner, other}, {}).verdict, HasSubstr("on an ideal network it would be only 2.8 % faster"));
  other.need.ideal_step_s = 10.9;
  EXPECT_THAT(rank({winner, other}, {}).verdict, HasSubstr("on an ideal network both would be equal"));
  other.need.ideal_step_s = 11.9;  // the network has next to no part in it
  EXPECT_THAT(rank({winner, other}, {}).verdict, Not(HasSubstr("ideal network")));
}

TEST(Verdict, MentionsFasterLayoutsThatDoNotFit) {
  const Layouts layouts;
  report::Entry big = layouts.entry("big", 9, 0.9);
  big.report.fits = false;
  report::Entry slow = layouts.entry("slow and big", 10, 5);
  slow.report.fits = false;
  const report::Ranking ranking = rank({big, slow, layouts.entry("a", 10, 1), layouts.entry("b", 10, 2)}, {});
  EXPECT_THAT(ranking.verdict,
              AllOf(StartsWith("a is "), HasSubstr(" big would take 10.0 % less time, but does not fit into memory."),
                    Not(HasSubstr("slow and big"))));
}

TEST(Verdict, OfNothingThatFitsNamesTheNearest) {
  const Layouts layouts;
  report::Entry a = layouts.entry("a", 10, 1);
  a.report.fits = false;
  a.report.memory.peak_bytes = 100 * Layouts::kGibibyte;
  report::Entry b = layouts.entry("b", 10, 2);
  b.report.fits = false;
  b.report.memory.peak_bytes = 90 * Layouts::kGibibyte;
  EXPECT_EQ(rank({a, b}, {}).verdict, "Nothing fits into memory: b comes nearest with 90.0 GiB of 80.0 GiB.");
}

TEST(Verdict, OfOneSaysWhyItIsAlone) {
  const Layouts layouts;
  const report::Entry a = layouts.entry("a", 10, 1);
  EXPECT_THAT(rank({a}, {}).verdict, HasSubstr("nothing to compare it with"));
  EXPECT_THAT(rank({a}, {{"b", "", "No."}}).verdict, HasSubstr("nothing else can run"));
  report::Entry big = a;
  big.report.fits = false;
  EXPECT_THAT(rank({a, big}, {}).verdict, HasSubstr("nothing else fits"));
}

TEST(Parts, OfAStepAddUpToIt) {
  report::RoleTimes times;
  times.compute_s = 1;
  times.bubble_s = 2;
  times.tail_s = 4;
  times.exposed_s = {0, 8, 16, 32, 64, 128};
  double sum = 0;
  for (const double part : parts_of(times)) {
    sum += part;
  }
  EXPECT_DOUBLE_EQ(sum, 255);
}

/// The words by which a part is recognised in a verdict, in the order of Part.
constexpr std::array<const char*, kParts> kWords = {
    "busiest rank computes",       "bubble is",        "messages between stages",
    "reduction of gradients",      "gathered weights", "tensor-parallel exchanges",
    "copies from and to the host", "the step goes on"};

/// Parts that differ by orders of magnitude as well as little.
report::RoleTimes random_times(std::mt19937& random) {
  std::uniform_real_distribution<double> exponent(-4, 0.5);
  const auto draw = [&] { return std::pow(10, exponent(random)); };
  report::RoleTimes times;
  times.compute_s = 5 + draw();
  times.bubble_s = draw();
  times.tail_s = draw();
  for (std::size_t traffic = 1; traffic < times.exposed_s.size(); ++traffic) {
    times.exposed_s[traffic] = draw();
  }
  return times;
}

TEST(Verdict, NamesFirstThePartThatSavesMost) {
  const Layouts layouts;
  std::mt19937 random(11);
  int named = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const report::RoleTimes a = random_times(random);
    const report::RoleTimes b = random_times(random);
    const report::Ranking ranking = rank({layouts.entry("a", a), layouts.entry("b", b)}, {});
    if (ranking.entries[1].rank == 1) {
      continue;  // equal
    }
    const bool a_wins = ranking.entries[0].name == "a";
    const auto better = parts_of(a_wins ? a : b);
    const auto other = parts_of(a_wins ? b : a);
    std::array<double, kParts> gains{};
    for (std::size_t part = 0; part < kParts; ++part) {
      gains[part] = other[part] - better[part];
    }
    const auto largest = static_cast<std::size_t>(std::max_element(gains.begin(), gains.end()) - gains.begin());
    const std::size_t begin = ranking.verdict.find("because ");
    ASSERT_NE(begin, std::string::npos) << ranking.verdict;
    std::size_t first = std::string::npos;
    std::size_t first_part = kParts;
    for (std::size_t part = 0; part < kParts; ++part) {
      if (const std::size_t place = ranking.verdict.find(kWords[part], begin); place < first) {
        first = place;
        first_part = part;
      }
    }
    EXPECT_EQ(first_part, largest) << ranking.verdict;
    ++named;
  }
  EXPECT_GT(named, 1900);
}

}  // namespace
}  // namespace lamina::comparison
