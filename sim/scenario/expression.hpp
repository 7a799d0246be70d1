#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

/// Conditions and values over names, as a sweep writes them: `tensor_parallel * data_parallel <= devices`.
namespace lamina::scenario {

/// A number (conditions: 1 or 0) or a word.
using Operand = std::variant<double, std::string>;

/// Where in the text what is wrong.
struct ExpressionFault {
  std::size_t column = 1;  ///< from 1, bytes
  std::string problem;     ///< a complete sentence
  std::string allowed;     ///< may be empty
};

struct ExpressionName {
  std::string name;
  std::size_t column = 1;  ///< of its first use
};

/// Grammar, loosest first: `or`; `and`; `not`; one of == != < <= > >= (not chained); + -; * / %; unary -; numbers,
/// words in quotes, `true`, `false`, names with dots, parentheses, and min, max (two or more arguments), floor, ceil,
/// round, log2, known.
/// `/` does not round; `a % b` has the sign of b. Words can only be compared with == and !=; known(a) is false for the
/// empty word, the empty cell of a table.
class Expression {
 public:
  [[nodiscard]] static tl::expected<Expression, ExpressionFault> parse(std::string_view text);

  [[nodiscard]] const std::string& text() const { return text_; }

  /// Each name once, in the order of first use.
  [[nodiscard]] const std::vector<ExpressionName>& names() const { return names_; }

  /// `values[i]` stands for `names()[i]`.
  /// @return the value, or why there is none: division by zero, a word where a number is needed
  [[nodiscard]] tl::expected<Operand, std::string> evaluate(std::span<const Operand> values) const;

  enum class Operator {
    kNumber,
    kWord,
    kName,
    kOr,
    kAnd,
    kNot,
    kEqual,
    kUnequal,
    kLess,
    kAtMost,
    kMore,
    kAtLeast,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kModulo,
    kNegate,
    kMinimum,
    kMaximum,
    kFloor,
    kCeiling,
    kRound,
    kLogarithm,
    kKnown,
  };

  struct Node {
    Operator operation = Operator::kNumber;
    double number = 0;
    std::string word;
    std::size_t name = 0;               ///< index into names()
    std::vector<std::size_t> operands;  ///< indices of nodes, all before this one
  };

 private:
  friend class ExpressionParser;

  std::string text_;
  std::vector<ExpressionName> names_;
  std::vector<Node> nodes_;  ///< the last one is the whole
};

}  // namespace lamina::scenario
