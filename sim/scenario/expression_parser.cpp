#include "sim/scenario/expression_parser.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/units/parse.hpp"

namespace lamina::scenario {
namespace {

constexpr int kDeepest = 100;
constexpr std::size_t kLongest = 4096;
constexpr const char* kOperandWords = "a number, a name, a word in quotes or a parenthesis";

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct Function {
  std::string_view name;
  Expression::Operator operation;
  bool several;
};

constexpr std::array<Function, 7> kFunctions = {{{"min", Expression::Operator::kMinimum, true},
                                                 {"max", Expression::Operator::kMaximum, true},
                                                 {"floor", Expression::Operator::kFloor, false},
                                                 {"ceil", Expression::Operator::kCeiling, false},
                                                 {"round", Expression::Operator::kRound, false},
                                                 {"log2", Expression::Operator::kLogarithm, false},
                                                 {"known", Expression::Operator::kKnown, false}}};

}  // namespace

void ExpressionParser::refuse(std::size_t at, std::string problem, std::string allowed) const {
  throw ExpressionFault{at + 1, std::move(problem), std::move(allowed)};
}

Expression ExpressionParser::parse() {
  if (text_.size() > kLongest) {
    refuse(0, "The expression is too long.", fmt::format("at most {} characters", kLongest));
  }
  (void)disjunction();
  skip_blanks();
  refuse_foreign_symbols();
  if (at_ < text_.size()) {
    refuse(at_, fmt::format("\"{}\" is not expected here.", text_.substr(at_, 20)),
           "an operator (and, or, ==, !=, <, <=, >, >=, +, -, *, /, %) or the end");
  }
  return std::move(expression_);
}

void ExpressionParser::skip_blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
    ++at_;
  }
}

bool ExpressionParser::take(std::string_view symbol) {
  skip_blanks();
  if (text_.substr(at_, symbol.size()) != symbol) {
    return false;
  }
  at_ += symbol.size();
  return true;
}

std::string_view ExpressionParser::word_at(std::size_t at) const {
  std::size_t end = at;
  while (end < text_.size() && (is_letter(text_[end]) || (end > at && (is_digit(text_[end]) || text_[end] == '.')))) {
    ++end;
  }
  return text_.substr(at, end - at);
}

bool ExpressionParser::take_word(std::string_view word) {
  skip_blanks();
  if (word_at(at_) != word) {
    return false;
  }
  at_ += word.size();
  return true;
}

/// What other languages write.
void ExpressionParser::refuse_foreign_symbols() const {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kForeign = {
      {{"&", "and"}, {"|", "or"}, {"!", "not, !="}, {"=", "=="}, {"^", "a product"}, {",", "and"}}};
  for (const auto& [symbol, ours] : kForeign) {
    if (text_.substr(at_, symbol.size()) == symbol && text_.substr(at_, 2) != "!=") {
      refuse(at_,
             fmt::format("There is no operator \"{}\".",
                         text_.substr(at_, text_.substr(at_, 2) == "&&" || text_.substr(at_, 2) == "||" ? 2 : 1)),
             std::string(ours));
    }
  }
}

std::size_t ExpressionParser::add(Operator operation, std::vector<std::size_t> operands) {
  Expression::Node node;
  node.operation = operation;
  node.operands = std::move(operands);
  expression_.nodes_.push_back(std::move(node));
  return expression_.nodes_.size() - 1;
}

std::size_t ExpressionParser::disjunction() {
  if (++depth_ > kDeepest) {
    refuse(at_, "The expression is nested too deeply.", fmt::format("at most {} levels", kDeepest));
  }
  std::size_t left = conjunction();
  while (take_word("or")) {
    left = add(Operator::kOr, {left, conjunction()});
  }
  --depth_;
  return left;
}

std::size_t ExpressionParser::conjunction() {
  std::size_t left = negation();
  while (take_word("and")) {
    left = add(Operator::kAnd, {left, negation()});
  }
  return left;
}

std::size_t ExpressionParser::negation() {
  int count = 0;
  while (take_word("not")) {
    ++count;
  }
  std::size_t result = comparison();
  for (; count > 0; --count) {
    result = add(Operator::kNot, {result});
  }
  return result;
}

std::size_t ExpressionParser::comparison() {
  constexpr std::array<Symbol, 6> kSymbols = {{{"==", Operator::kEqual},
                                               {"!=", Operator::kUnequal},
                                               {"<=", Operator::kAtMost},
                                               {">=", Operator::kAtLeast},
                                               {"<", Operator::kLess},
                                               {">", Operator::kMore}}};
  const auto symbol_here = [&] {
    return std::find_if(kSymbols.begin(), kSymbols.end(), [&](const Symbol& s) { return take(s.text); });
  };
  const std::size_t left = sum();
  const auto symbol = symbol_here();
  if (symbol == kSymbols.end()) {
    return left;
  }
  const std::size_t result = add(symbol->operation, {left, sum()});
  const std::size_t next = at_;
  if (symbol_here() != kSymbols.end()) {
    refuse(next, "Comparisons cannot be chained.", "a < b and b < c");
  }
  return result;
}

std::size_t ExpressionParser::sum() {
  std::size_t left = product();
  while (true) {
    if (take("+")) {
      left = add(Operator::kAdd, {left, product()});
    } else if (take("-")) {
      left = add(Operator::kSubtract, {left, product()});
    } else {
      return left;
    }
  }
}

std::size_t ExpressionParser::product() {
  std::size_t left = unary();
  while (true) {
    if (take("*")) {
      left = add(Operator::kMultiply, {left, unary()});
    } else if (take("/")) {
      left = add(Operator::kDivide, {left, unary()});
    } else if (take("%")) {
      left = add(Operator::kModulo, {left, unary()});
    } else {
      return left;
    }
  }
}

std::size_t ExpressionParser::unary() {
  bool negative = false;
  while (take("-")) {
    negative = !negative;
  }
  const std::size_t operand = primary();
  return negative ? add(Operator::kNegate, {operand}) : operand;
}

std::size_t ExpressionParser::primary() {
  skip_blanks();
  if (at_ == text_.size()) {
    refuse(at_, "The expression ends where a value is expected.", kOperandWords);
  }
  const char c = text_[at_];
  const std::size_t start = at_;
  if (take("(")) {
    const std::size_t inner = disjunction();
    if (!take(")")) {
      refuse_foreign_symbols();
      refuse(start, "This parenthesis is not closed.");
    }
    return inner;
  }
  if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
    return number();
  }
  if (c == '"' || c == '\'') {
    return quoted();
  }
  if (is_letter(c)) {
    return name_or_call();
  }
  refuse_foreign_symbols();
  refuse(at_, fmt::format("\"{}\" is no value.", text_.substr(at_, 20)), kOperandWords);
}

std::size_t ExpressionParser::number() {
  std::size_t end = at_;
  while (end < text_.size() && (is_digit(text_[end]) || text_[end] == '.')) {
    ++end;
  }
  if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
    std::size_t exponent = end + 1;
    exponent += exponent < text_.size() && (text_[exponent] == '+' || text_[exponent] == '-') ? 1 : 0;
    if (exponent < text_.size() && is_digit(text_[exponent])) {
      end = exponent;
      while (end < text_.size() && is_digit(text_[end])) {
        ++end;
      }
    }
  }
  if (end < text_.size() && is_letter(text_[end])) {
    refuse(end, "Numbers stand without a unit; quantities count in B, B/s, s, FLOP and FLOP/s.", "for example 25e9");
  }
  const auto value = units::parse_number(text_.substr(at_, end - at_));
  if (!value) {
    refuse(at_, fmt::format("\"{}\" is no number.", text_.substr(at_, end - at_)));
  }
  at_ = end;
  const std::size_t node = add(Operator::kNumber, {});
  expression_.nodes_[node].number = *value;
  return node;
}

std::size_t ExpressionParser::quoted() {
  const std::size_t end = text_.find(text_[at_], at_ + 1);
  if (end == std::string_view::npos) {
    refuse(at_, "This quote is not closed.");
  }
  const std::size_t node = add(Operator::kWord, {});
  expression_.nodes_[node].word = std::string(text_.substr(at_ + 1, end - at_ - 1));
  at_ = end + 1;
  return node;
}

std::size_t ExpressionParser::name_or_call() {
  const std::size_t start = at_;
  const std::string_view word = word_at(at_);
  if (word == "and" || word == "or" || word == "not") {
    refuse(at_, fmt::format("\"{}\" stands where a value is expected.", word), kOperandWords);
  }
  at_ += word.size();
  if (word == "true" || word == "false") {
    const std::size_t node = add(Operator::kNumber, {});
    expression_.nodes_[node].number = word == "true" ? 1 : 0;
    return node;
  }
  return take("(") ? call(word, start) : name(word, start);
}

std::size_t ExpressionParser::call(std::string_view name, std::size_t at) {
  const auto* function =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& f) { return f.name == name; });
  if (function == kFunctions.end()) {
    refuse(at, fmt::format("There is no function \"{}\".", name), "min, max, floor, ceil, round, log2 or known");
  }
  std::vector<std::size_t> arguments;
  do {
    arguments.push_back(disjunction());
  } while (take(","));
  if (!take(")")) {
    refuse_foreign_symbols();
    refuse(at, fmt::format("The parenthesis after \"{}\" is not closed.", name));
  }
  if (function->several ? arguments.size() < 2 : arguments.size() != 1) {
    refuse(at, fmt::format("\"{}\" was given {} argument{}.", name, arguments.size(), arguments.size() == 1 ? "" : "s"),
           function->several ? "two or more" : "one");
  }
  return add(function->operation, std::move(arguments));
}

std::size_t ExpressionParser::name(std::string_view name, std::size_t at) {
  auto& names = expression_.names_;
  auto known = std::find_if(names.begin(), names.end(), [&](const ExpressionName& n) { return n.name == name; });
  if (known == names.end()) {
    names.push_back({std::string(name), at + 1});
    known = names.end() - 1;
  }
  const std::size_t node = add(Operator::kName, {});
  expression_.nodes_[node].name = static_cast<std::size_t>(known - names.begin());
  return node;
}

}  // namespace lamina::scenario
