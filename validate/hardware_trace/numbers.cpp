#include "validate/hardware_trace/numbers.hpp"

#include <charconv>
#include <limits>
#include <string>

namespace lamina::validate::hardware_trace {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct Decimal {
  bool negative = false;
  std::string digits;      ///< without point
  std::int64_t point = 0;  ///< digits before the point
};

std::optional<Decimal> split(std::string_view text) {
  constexpr std::size_t kLongest = 400;
  Decimal result;
  if (text.empty() || text.size() > kLongest) {
    return std::nullopt;
  }
  if (text.front() == '-' || text.front() == '+') {
    result.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  bool seen_point = false;
  std::size_t i = 0;
  for (; i < text.size() && (is_digit(text[i]) || (text[i] == '.' && !seen_point)); ++i) {
    if (text[i] == '.') {
      seen_point = true;
      continue;
    }
    result.digits += text[i];
    result.point += seen_point ? 0 : 1;
  }
  if (result.digits.empty()) {
    return std::nullopt;
  }
  if (i == text.size()) {
    return result;
  }
  if (text[i] != 'e' && text[i] != 'E') {
    return std::nullopt;
  }
  text.remove_prefix(i + 1);
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
  }
  int exponent = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (fault != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  result.point += exponent;
  return result;
}

}  // namespace

std::optional<std::int64_t> scaled_decimal(std::string_view text, int shift) {
  const auto decimal = split(text);
  if (!decimal) {
    return std::nullopt;
  }
  const std::int64_t whole = decimal->point + shift;  // digits of the result
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  std::int64_t value = 0;
  for (std::int64_t i = 0; i < whole; ++i) {
    const bool given = i < static_cast<std::int64_t>(decimal->digits.size());
    const int digit = given ? decimal->digits[static_cast<std::size_t>(i)] - '0' : 0;
    if (value > (kLargest - digit) / 10) {
      return std::nullopt;
    }
    value = value * 10 + digit;
    if (value == 0 && !given) {
      break;
    }
  }
  return decimal->negative ? -value : value;
}

}  // namespace lamina::validate::hardware_trace
