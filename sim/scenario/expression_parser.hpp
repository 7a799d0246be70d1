#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/expression.hpp"

namespace lamina::scenario {

/// Recursive descent over the text of one expression; throws ExpressionFault, which Expression::parse turns into a
/// value.
class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) { expression_.text_ = std::string(text); }

  [[nodiscard]] Expression parse();

 private:
  using Operator = Expression::Operator;

  struct Symbol {
    std::string_view text;
    Operator operation;
  };

  [[noreturn]] void refuse(std::size_t at, std::string problem, std::string allowed = "") const;
  void skip_blanks();
  [[nodiscard]] bool take(std::string_view symbol);
  [[nodiscard]] bool take_word(std::string_view word);
  [[nodiscard]] std::string_view word_at(std::size_t at) const;
  void refuse_foreign_symbols() const;

  [[nodiscard]] std::size_t disjunction();
  [[nodiscard]] std::size_t conjunction();
  [[nodiscard]] std::size_t negation();
  [[nodiscard]] std::size_t comparison();
  [[nodiscard]] std::size_t sum();
  [[nodiscard]] std::size_t product();
  [[nodiscard]] std::size_t unary();
  [[nodiscard]] std::size_t primary();
  [[nodiscard]] std::size_t number();
  [[nodiscard]] std::size_t quoted();
  [[nodiscard]] std::size_t name_or_call();
  [[nodiscard]] std::size_t call(std::string_view name, std::size_t at);
  [[nodiscard]] std::size_t name(std::string_view name, std::size_t at);

  [[nodiscard]] std::size_t add(Operator operation, std::vector<std::size_t> operands);

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Expression expression_;
};

}  // namespace lamina::scenario
