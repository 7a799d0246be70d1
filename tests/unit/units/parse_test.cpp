#include "sim/units/parse.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lamina::units {
namespace {

using testing::HasSubstr;

struct Case {
  std::string text;
  double value;
};

/// Readable parameter names in failures.
void PrintTo(const Case& which, std::ostream* out) {
  *out << '"' << which.text << '"';
}

class ParseSeconds : public testing::TestWithParam<Case> {};

TEST_P(ParseSeconds, GivesSeconds) {
  const auto parsed = parse_seconds(GetParam().text);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().problem;
  EXPECT_EQ(parsed->value(), GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(Units, ParseSeconds,
                         testing::Values(Case{"5 us", 5e-6}, Case{"7 us", 7e-6}, Case{"1.5 ms", 1.5e-3},
                                         Case{"300 ns", 3e-7}, Case{"2 min", 120}, Case{"1 h", 3600},
                                         Case{"7 d", 604800}, Case{"2 s", 2}, Case{"0.5s", 0.5},
                                         Case{"  3   ms ", 3e-3}, Case{"3\u00b5s", 3e-6}, Case{"3 \u03bcs", 3e-6},
                                         Case{"1e-3 s", 1e-3}, Case{"-2 s", -2}, Case{"+2 s", 2}, Case{".5 s", 0.5},
                                         Case{"0 us", 0}));

class ParseBytes : public testing::TestWithParam<Case> {};

TEST_P(ParseBytes, GivesBytes) {
  const auto parsed = parse_bytes(GetParam().text);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().problem;
  EXPECT_EQ(parsed->value(), GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(Units, ParseBytes,
                         testing::Values(Case{"80 GiB", 85899345920.0}, Case{"80 GB", 8e10}, Case{"1 B", 1},
                                         Case{"1 kB", 1e3}, Case{"1 MB", 1e6}, Case{"1 TB", 1e12}, Case{"1 PB", 1e15},
                                         Case{"1 EB", 1e18}, Case{"1 KiB", 1024}, Case{"1 MiB", 1048576},
                                         Case{"2 TiB", 2199023255552.0}, Case{"1 PiB", 0x1p50}, Case{"1 EiB", 0x1p60},
                                         Case{"1.5KiB", 1536}));

class ParseRate : public testing::TestWithParam<Case> {};

TEST_P(ParseRate, GivesBytesPerSecond) {
  const auto parsed = parse_bytes_per_second(GetParam().text);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().problem;
  EXPECT_EQ(parsed->value(), GetParam().value);
}

// One byte is eight bits: 400 Gbit/s = 50 GB/s.
INSTANTIATE_TEST_SUITE_P(Units, ParseRate,
                         testing::Values(Case{"400 Gbit/s", 5e10}, Case{"25 Gbit/s", 3.125e9},
                                         Case{"10 Gbit/s", 1.25e9}, Case{"8 bit/s", 1}, Case{"8 kbit/s", 1e3},
                                         Case{"8 Mbit/s", 1e6}, Case{"1.6 Tbit/s", 2e11}, Case{"25 GB/s", 2.5e10},
                                         Case{"2039 GB/s", 2.039e12}, Case{"3.35 TB/s", 3.35e12},
                                         Case{"1 GiB/s", 1073741824}, Case{"1 B/s", 1}));

TEST(ParseFlops, GivesOperationsAndRates) {
  EXPECT_EQ(parse_flops("1.5 TFLOP")->value(), 1.5e12);
  EXPECT_EQ(parse_flops("3 FLOP")->value(), 3);
  EXPECT_EQ(parse_flops("2 EFLOP")->value(), 2e18);
  EXPECT_EQ(parse_flops_per_second("312 TFLOP/s")->value(), 312e12);
  EXPECT_EQ(parse_flops_per_second("2.25 PFLOP/s")->value(), 2.25e15);
  EXPECT_EQ(parse_flops_per_second("10 GFLOP/s")->value(), 1e10);
}

template <class Value>
ParseError error_of(const Parsed<Value>& parsed) {
  return parsed.has_value() ? ParseError{"no error", "", ""} : parsed.error();
}

TEST(ParseQuantity, RefusesABareNumberAndSaysWhatIsAllowed) {
  EXPECT_EQ(error_of(parse_bytes("80")).problem, "the number has no unit");
  EXPECT_THAT(error_of(parse_bytes("80")).allowed, HasSubstr("\"80 GiB\""));
  EXPECT_EQ(error_of(parse_seconds("0")).problem, "the number has no unit");
  EXPECT_EQ(error_of(parse_bytes_per_second("25e9")).problem, "the number has no unit");
}

TEST(ParseQuantity, RefusesTheUnitOfAnotherDimension) {
  EXPECT_EQ(error_of(parse_bytes("80 s")).problem, "the unit \"s\" does not fit here");
  EXPECT_EQ(error_of(parse_bytes("80 GB/s")).problem, "the unit \"GB/s\" does not fit here");
  EXPECT_EQ(error_of(parse_bytes_per_second("80 GB")).problem, "the unit \"GB\" does not fit here");
  EXPECT_EQ(error_of(parse_flops("1 TFLOP/s")).problem, "the unit \"TFLOP/s\" does not fit here");
  EXPECT_EQ(error_of(parse_seconds("5 GiB")).problem, "the unit \"GiB\" does not fit here");
}

TEST(ParseQuantity, RefusesSpellingsThatAreReadInTwoWaysAndNamesTheNearest) {
  EXPECT_EQ(error_of(parse_bytes_per_second("400 Gbps")).nearest, "Gbit/s");
  EXPECT_EQ(error_of(parse_bytes_per_second("400 Gb/s")).nearest, "Gbit/s");
  EXPECT_EQ(error_of(parse_bytes_per_second("50 GBps")).nearest, "GB/s");
  EXPECT_EQ(error_of(parse_bytes("1 KB")).nearest, "kB");
  EXPECT_EQ(error_of(parse_bytes("1 Gb")).nearest, "GB");
  EXPECT_EQ(error_of(parse_flops_per_second("312 TFLOPS")).nearest, "TFLOP/s");
  EXPECT_EQ(error_of(parse_flops("312 TFLOPs")).nearest, "TFLOP");
  EXPECT_EQ(error_of(parse_seconds("5 m")).nearest, "min");
  EXPECT_THAT(error_of(parse_bytes_per_second("400 Gb/s")).problem, HasSubstr("two ways"));
}

TEST(ParseQuantity, NamesTheUnitThatDiffersOnlyInCase) {
  EXPECT_EQ(error_of(parse_bytes("80 gib")).nearest, "GiB");
  EXPECT_EQ(error_of(parse_bytes_per_second("25 gb/s")).nearest, "GB/s");
  EXPECT_EQ(error_of(parse_bytes_per_second("25 GBIT/S")).nearest, "Gbit/s");
  EXPECT_EQ(error_of(parse_seconds("5 US")).nearest, "us");
  EXPECT_EQ(error_of(parse_flops_per_second("312 Tflop/s")).nearest, "TFLOP/s");
}

TEST(ParseQuantity, RefusesNumbersThatAreNotFinite) {
  for (const char* text : {"nan s", ".nan s", "NaN s", "inf s", ".inf s", "-inf s", "-.Inf s", "+.inf s"}) {
    EXPECT_EQ(error_of(parse_seconds(text)).problem, "the number must be finite") << text;
  }
  EXPECT_EQ(error_of(parse_seconds("1e999 s")).problem, "the number is outside what a double can hold");
  EXPECT_EQ(error_of(parse_bytes("1e300 EB")).problem, "the number is outside what a double can hold");
}

TEST(ParseQuantity, RefusesTextThatIsNoNumber) {
  EXPECT_EQ(error_of(parse_seconds("")).problem, "the value is empty");
  EXPECT_EQ(error_of(parse_seconds("   ")).problem, "the value is empty");
  EXPECT_EQ(error_of(parse_seconds("five us")).problem, "this does not start with a number");
  EXPECT_EQ(error_of(parse_seconds("- 5 us")).problem, "this does not start with a number");
  EXPECT_EQ(error_of(parse_seconds("--5 us")).problem, "this does not start with a number");
  EXPECT_EQ(error_of(parse_seconds(". s")).problem, "this does not start with a number");
}

TEST(ParseQuantity, RefusesSeparatorsAndHexadecimal) {
  EXPECT_THAT(error_of(parse_bytes("1,000 B")).problem, HasSubstr("separators"));
  EXPECT_THAT(error_of(parse_bytes("1_000 B")).problem, HasSubstr("separators"));
  EXPECT_THAT(error_of(parse_bytes("1'000 B")).problem, HasSubstr("separators"));
  EXPECT_FALSE(parse_bytes("0x10 B").has_value());
  EXPECT_FALSE(parse_bytes("1 2 B").has_value());
  EXPECT_FALSE(parse_bytes("1 B B").has_value());
}

TEST(ParseQuantity, KeepsMessagesShortWhateverWasWritten) {
  const std::string unit(100'000, 'x');
  EXPECT_LT(error_of(parse_bytes("1 " + unit)).problem.size(), 100U);
}

TEST(ParseNumber, TakesFiniteDecimalsWithoutUnit) {
  EXPECT_EQ(*parse_number("0.5"), 0.5);
  EXPECT_EQ(*parse_number("300e9"), 3e11);
  EXPECT_EQ(*parse_number("-2"), -2);
  EXPECT_EQ(*parse_number(" 7 "), 7);
  EXPECT_EQ(error_of(parse_number("nan")).problem, "the number must be finite");
  EXPECT_EQ(error_of(parse_number("5 us")).problem, "\"us\" after the number is not expected");
  EXPECT_EQ(error_of(parse_number("0x10")).problem, "\"x10\" after the number is not expected");
  EXPECT_EQ(error_of(parse_number("")).problem, "the value is empty");
}

TEST(ParseInteger, TakesDigitsOnly) {
  EXPECT_EQ(*parse_integer("8"), 8);
  EXPECT_EQ(*parse_integer("-8"), -8);
  EXPECT_EQ(*parse_integer("+8"), 8);
  EXPECT_EQ(*parse_integer(" 9223372036854775807 "), 9223372036854775807);
  EXPECT_EQ(error_of(parse_integer("9223372036854775808")).problem, "the number is too large");
  for (const char* text : {"8.0", "1e3", "eight", "0x8", "8 us", "1,000", "+-8", "+"}) {
    EXPECT_EQ(error_of(parse_integer(text)).problem, "this is not a whole number") << text;
  }
  EXPECT_EQ(error_of(parse_integer("")).problem, "the value is empty");
}

}  // namespace
}  // namespace lamina::units
