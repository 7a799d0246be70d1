#include "sim/scenario/expression.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lamina::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Value of a text in which a is 6, b is 4 and word is "gpipe".
Operand value_of(const std::string& text) {
  const auto expression = Expression::parse(text);
  EXPECT_TRUE(expression.has_value()) << text;
  std::vector<Operand> values;
  for (const ExpressionName& name : expression->names()) {
    values.push_back(name.name == "a" ? Operand(6.0) : name.name == "b" ? Operand(4.0) : Operand("gpipe"));
  }
  const auto value = expression->evaluate(values);
  EXPECT_TRUE(value.has_value()) << text << ": " << (value ? "" : value.error());
  return *value;
}

double number(const std::string& text) {
  return std::get<double>(value_of(text));
}

TEST(Expression, BindsAsArithmeticDoes) {
  EXPECT_EQ(number("1 + 2 * 3"), 7);
  EXPECT_EQ(number("(1 + 2) * 3"), 9);
  EXPECT_EQ(number("10 - 4 - 3"), 3);
  EXPECT_EQ(number("64 / 4 / 2"), 8);
  EXPECT_EQ(number("-a + 10"), 4);
  EXPECT_EQ(number("2 * -3"), -6);
  EXPECT_EQ(number("1.5e3 + .5"), 1500.5);
}

TEST(Expression, DividesWithoutRoundingAndTakesRestsWithTheSignOfTheDivisor) {
  EXPECT_EQ(number("a / b"), 1.5);
  EXPECT_EQ(number("a % b"), 2);
  EXPECT_EQ(number("-1 % 4"), 3);
  EXPECT_EQ(number("1 % -4"), -3);
}

TEST(Expression, ConditionsAreOneOrZero) {
  EXPECT_EQ(number("a > b"), 1);
  EXPECT_EQ(number("a <= b"), 0);
  EXPECT_EQ(number("a == 6 and b != 4"), 0);
  EXPECT_EQ(number("a == 6 or b != 4"), 1);
  EXPECT_EQ(number("not a == 6"), 0);
  EXPECT_EQ(number("not not a"), 1);
  EXPECT_EQ(number("true and not false"), 1);
}

TEST(Expression, AndBindsCloserThanOrAndComparisonsCloserThanNot) {
  EXPECT_EQ(number("true or false and false"), 1);
  EXPECT_EQ(number("(true or false) and false"), 0);
  EXPECT_EQ(number("not a + 1 == 6"), 1);
}

TEST(Expression, AndAndOrStopWhereTheAnswerIsKnown) {
  EXPECT_EQ(number("false and 1 / 0 > 0"), 0);
  EXPECT_EQ(number("true or 1 / 0 > 0"), 1);
}

TEST(Expression, ComparesWords) {
  EXPECT_EQ(number("word == 'gpipe'"), 1);
  EXPECT_EQ(number("word != \"gpipe\" or a % 4 == 0"), 0);
}

TEST(Expression, HasAFewFunctions) {
  EXPECT_EQ(number("min(a, b, 5)"), 4);
  EXPECT_EQ(number("max(a, b)"), 6);
  EXPECT_EQ(number("floor(a / b)"), 1);
  EXPECT_EQ(number("ceil(a / b)"), 2);
  EXPECT_EQ(number("round(2.4)"), 2);
  EXPECT_EQ(number("log2(1024)"), 10);
}

TEST(Expression, KnownIsFalseForAnEmptyWordOnly) {
  const auto known = [](const Operand& operand) {
    return std::get<double>(Expression::parse("known(cell)")->evaluate(std::vector<Operand>{operand}).value());
  };
  EXPECT_EQ(known(std::string()), 0);
  EXPECT_EQ(known(std::string("no")), 1);
  EXPECT_EQ(known(0.0), 1);
}

TEST(Expression, NamesComeOnceWithTheirColumn) {
  const auto expression = Expression::parse("tensor_parallel * cluster.nodes + tensor_parallel");
  ASSERT_TRUE(expression.has_value());
  ASSERT_EQ(expression->names().size(), 2U);
  EXPECT_EQ(expression->names()[0].name, "tensor_parallel");
  EXPECT_EQ(expression->names()[1].name, "cluster.nodes");
  EXPECT_EQ(expression->names()[1].column, 19U);
}

struct Wrong {
  const char* text;
  std::size_t column;
  const char* problem;
};

class WrongExpression : public testing::TestWithParam<Wrong> {};

TEST_P(WrongExpression, SaysWhatIsWrongAndWhere) {
  const auto expression = Expression::parse(GetParam().text);
  ASSERT_FALSE(expression.has_value()) << GetParam().text;
  EXPECT_EQ(expression.error().column, GetParam().column) << expression.error().problem;
  EXPECT_THAT(expression.error().problem, HasSubstr(GetParam().problem));
}

INSTANTIATE_TEST_SUITE_P(Faults, WrongExpression,
                         testing::Values(Wrong{"", 1, "ends where a value"}, Wrong{"1 +", 4, "ends where a value"},
                                         Wrong{"(a + 1", 1, "parenthesis is not closed"},
                                         Wrong{"a + 1)", 6, "not expected"}, Wrong{"1 < a < 3", 7, "chained"},
                                         Wrong{"a && b", 3, "\"&&\""}, Wrong{"a = 1", 3, "\"=\""},
                                         Wrong{"a || b", 3, "\"||\""}, Wrong{"bandwidth > 25GB", 15, "without a unit"},
                                         Wrong{"sqrt(2)", 1, "no function"}, Wrong{"min(1)", 1, "1 argument"},
                                         Wrong{"word == 'gpipe", 9, "quote is not closed"},
                                         Wrong{"1.2.3", 1, "no number"}, Wrong{"a and or b", 7, "value is expected"},
                                         Wrong{"a $ b", 3, "not expected"}));

TEST(Expression, RefusesEndlessNesting) {
  std::string nested;
  for (int level = 0; level < 2000; ++level) {
    nested += '(';
  }
  EXPECT_FALSE(Expression::parse(nested).has_value());
  EXPECT_FALSE(Expression::parse(std::string(100'000, '1')).has_value());
}

TEST(Expression, WithoutAValueThereIsAReason) {
  const auto reason = [](const std::string& text) {
    const auto expression = Expression::parse(text);
    std::vector<Operand> values(expression->names().size(), Operand("gpipe"));
    return expression->evaluate(values).error();
  };
  EXPECT_EQ(reason("1 / 0"), "division by zero");
  EXPECT_EQ(reason("1 % 0"), "division by zero");
  EXPECT_THAT(reason("schedule + 1"), HasSubstr("is a word"));
  EXPECT_THAT(reason("schedule == 1"), HasSubstr("compared with a number"));
  EXPECT_THAT(reason("log2(0)"), HasSubstr("log2"));
}

}  // namespace
}  // namespace lamina::scenario
