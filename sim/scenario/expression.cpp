#include "sim/scenario/expression.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/scenario/expression_parser.hpp"

namespace lamina::scenario {
namespace {

using Operator = Expression::Operator;

/// Why there is no value; stays inside this file.
struct NoValue {
  std::string reason;
};

double number_of(const Operand& operand) {
  if (const auto* word = std::get_if<std::string>(&operand)) {
    throw NoValue{fmt::format("\"{}\" is a word, not a number", *word)};
  }
  return std::get<double>(operand);
}

bool are_equal(const Operand& left, const Operand& right) {
  if (left.index() != right.index()) {
    throw NoValue{"a word is compared with a number"};
  }
  return left == right;
}

double divided(double left, double right) {
  if (right == 0) {
    throw NoValue{"division by zero"};
  }
  return left / right;
}

/// With the sign of the divisor.
double modulo(double left, double right) {
  if (right == 0) {
    throw NoValue{"division by zero"};
  }
  const double rest = std::fmod(left, right);
  return rest != 0 && (rest < 0) != (right < 0) ? rest + right : rest;
}

double of_two(Operator operation, double left, double right) {
  switch (operation) {
    case Operator::kLess:
      return left < right ? 1 : 0;
    case Operator::kAtMost:
      return left <= right ? 1 : 0;
    case Operator::kMore:
      return left > right ? 1 : 0;
    case Operator::kAtLeast:
      return left >= right ? 1 : 0;
    case Operator::kAdd:
      return left + right;
    case Operator::kSubtract:
      return left - right;
    case Operator::kMultiply:
      return left * right;
    case Operator::kDivide:
      return divided(left, right);
    case Operator::kModulo:
      return modulo(left, right);
    case Operator::kMinimum:
      return std::min(left, right);
    default:
      return std::max(left, right);
  }
}

double of_one(Operator operation, double value) {
  switch (operation) {
    case Operator::kNegate:
      return -value;
    case Operator::kFloor:
      return std::floor(value);
    case Operator::kCeiling:
      return std::ceil(value);
    case Operator::kRound:
      return std::round(value);
    case Operator::kLogarithm:
      if (!(value > 0)) {
        throw NoValue{fmt::format("log2 of {}", value)};
      }
      return std::log2(value);
    default:
      return value == 0 ? 1 : 0;  // not
  }
}

/// Evaluates the nodes under one node; `and` and `or` stop at the first operand that decides.
class Evaluation {
 public:
  Evaluation(const std::vector<Expression::Node>& nodes, std::span<const Operand> values)
      : nodes_(nodes), values_(values) {}

  [[nodiscard]] Operand of(std::size_t index) const {
    const Expression::Node& node = nodes_[index];
    switch (node.operation) {
      case Operator::kNumber:
        return node.number;
      case Operator::kWord:
        return node.word;
      case Operator::kName:
        return values_[node.name];
      case Operator::kOr:
      case Operator::kAnd: {
        const bool first = number(node, 0) != 0;
        const bool decided = first == (node.operation == Operator::kOr);
        return (decided ? first : number(node, 1) != 0) ? 1.0 : 0.0;
      }
      case Operator::kEqual:
      case Operator::kUnequal:
        return are_equal(of(node.operands[0]), of(node.operands[1])) == (node.operation == Operator::kEqual) ? 1.0
                                                                                                             : 0.0;
      case Operator::kKnown: {
        const Operand operand = of(node.operands[0]);
        const auto* word = std::get_if<std::string>(&operand);
        return word != nullptr && word->empty() ? 0.0 : 1.0;
      }
      default:
        return arithmetic(node);
    }
  }

 private:
  [[nodiscard]] double number(const Expression::Node& node, std::size_t operand) const {
    return number_of(of(node.operands[operand]));
  }

  [[nodiscard]] double arithmetic(const Expression::Node& node) const {
    double result = number(node, 0);
    if (node.operands.size() == 1) {
      return of_one(node.operation, result);
    }
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
      result = of_two(node.operation, result, number(node, i));
    }
    return result;
  }

  const std::vector<Expression::Node>& nodes_;
  std::span<const Operand> values_;
};

}  // namespace

tl::expected<Expression, ExpressionFault> Expression::parse(std::string_view text) {
  try {
    return ExpressionParser(text).parse();
  } catch (ExpressionFault& fault) {
    return tl::unexpected(std::move(fault));
  }
}

tl::expected<Operand, std::string> Expression::evaluate(std::span<const Operand> values) const {
  try {
    return Evaluation(nodes_, values).of(nodes_.size() - 1);
  } catch (NoValue& none) {
    return tl::unexpected(std::move(none.reason));
  }
}

}  // namespace lamina::scenario
