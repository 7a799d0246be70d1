#include "sim/scenario/axis_range.hpp"

#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "sim/scenario/fault.hpp"
#include "sim/scenario/reader.hpp"

namespace lamina::scenario {
namespace {

constexpr double kSlack = 1e-9;  ///< relative; a step that meets `to` this closely is the end

/// "10" and "Gbit/s" of "10 Gbit/s".
std::pair<std::string, std::string> split_unit(const std::string& text) {
  const auto is_digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  std::size_t end = text.find_first_not_of("+-.0123456789");
  if (end == std::string::npos) {
    return {text, ""};
  }
  if (text[end] == 'e' || text[end] == 'E') {
    const std::size_t digits = end + (end + 1 < text.size() && (text[end + 1] == '-' || text[end + 1] == '+') ? 2 : 1);
    if (is_digit(digits)) {
      end = digits;
      while (is_digit(end)) {
        ++end;
      }
    }
  }
  const std::size_t unit = text.find_first_not_of(' ', end);
  return {text.substr(0, end), unit == std::string::npos ? "" : text.substr(unit)};
}

/// One range; numbers count in the unit of `from`.
class Range {
 public:
  Range(const Schema& schema, const AxisKey& key, const Tree& tree)
      : reader_(schema.section("sweep range"), tree, key.name), key_(key) {
    if (key.spec == nullptr || key.spec->kind == ValueKind::kBoolean || unit_of_text("1").empty()) {
      fail(tree.position.location(), key.name, {"Only keys that take numbers can have a range."});
    }
    const Tree& from = *reader_.value("from");
    first_ = read_numeric(*key.spec, from, reader_.path("from"));
    unit_ = split_unit(from.text).second;
    if (!unit_.empty()) {
      scale_ = read_numeric(unlimited(), scalar(fmt::format("1 {}", unit_), from.position), reader_.path("from"));
    }
    last_ = read_numeric(*key.spec, *reader_.value("to"), reader_.path("to")) / scale_;
    first_ = unit_.empty() ? first_ : first_ / scale_;
  }

  [[nodiscard]] std::vector<Tree> values() const {
    const int ways = (reader_.has("step") ? 1 : 0) + (reader_.has("factor") ? 1 : 0) + (reader_.has("points") ? 1 : 0);
    if (ways != 1) {
      fail(reader_.tree().position.location(), key_.name,
           {ways == 0 ? "The range does not say how it advances." : "The range says twice how it advances.", "",
            "exactly one of step, factor and points"});
    }
    if (last_ < first_) {
      reader_.fail_at("to", {"The range ends before it starts.", describe(*reader_.value("to")),
                             fmt::format("at least {}", describe(*reader_.value("from")))});
    }
    std::vector<double> numbers = reader_.has("step") ? by_step() : reader_.has("factor") ? by_factor() : by_points();
    std::vector<Tree> result;
    for (const double number : numbers) {
      std::string text = text_of(number);
      if (result.empty() || result.back().text != text) {
        result.push_back(scalar(std::move(text), reader_.tree().position));
      }
    }
    return result;
  }

 private:
  [[nodiscard]] std::string unit_of_text(const std::string& otherwise) const {
    const std::string unit = unit_of(key_.spec->kind);
    const bool number = key_.spec->kind == ValueKind::kInteger || key_.spec->kind == ValueKind::kNumber;
    return number ? otherwise : unit;
  }

  /// The key's kind without its limits: for differences and units.
  [[nodiscard]] KeySpec unlimited() const {
    KeySpec spec = *key_.spec;
    spec.minimum = -1e300;
    spec.minimum_excluded = false;
    spec.maximum = 1e300;
    return spec;
  }

  void check_count(double count) const {
    if (!(count <= kMostSteps)) {
      fail(reader_.tree().position.location(), key_.name,
           {fmt::format("The range has {:.0f} values.", count), "", fmt::format("at most {}", kMostSteps)});
    }
  }

  [[nodiscard]] std::vector<double> by_step() const {
    const double step = read_numeric(unlimited(), *reader_.value("step"), reader_.path("step")) / scale_;
    if (!(step > 0)) {
      reader_.fail_at("step", {"The range never ends: its step is not positive.", describe(*reader_.value("step"))});
    }
    const double count = std::floor((last_ - first_) / step * (1 + kSlack) + kSlack) + 1;
    check_count(count);
    std::vector<double> numbers;
    for (int i = 0; i < static_cast<int>(count); ++i) {
      numbers.push_back(first_ + i * step);
    }
    return numbers;
  }

  void require_positive_start(const char* why) const {
    if (!(first_ > 0)) {
      reader_.fail_at("from", {fmt::format("{} starts above zero.", why), describe(*reader_.value("from"))});
    }
  }

  [[nodiscard]] std::vector<double> by_factor() const {
    const double factor = reader_.number("factor");
    require_positive_start("A range with a factor");
    if (!(factor > 1)) {
      reader_.fail_at("factor", {"The range never ends: its factor is not above 1.", describe(*reader_.value("factor")),
                                 "more than 1"});
    }
    const double count = std::floor(std::log(last_ / first_) / std::log(factor) + kSlack) + 1;
    check_count(count);
    std::vector<double> numbers;
    double number = first_;
    for (int i = 0; i < static_cast<int>(count); ++i) {
      numbers.push_back(number);
      number *= factor;
    }
    if (is_integer()) {
      refuse_fractions(numbers, "factor");
    }
    return numbers;
  }

  [[nodiscard]] std::vector<double> by_points() const {
    const int points = reader_.integer("points");
    const bool logarithmic = reader_.text("scale") == "log";
    if (logarithmic) {
      require_positive_start("A logarithmic range");
    }
    check_count(points);
    if (points == 1 && last_ != first_) {
      reader_.fail_at("points", {"One point cannot be both ends of the range.", "1", "at least 2"});
    }
    std::vector<double> numbers;
    for (int i = 0; i < points; ++i) {
      const double share = points == 1 ? 0 : static_cast<double>(i) / (points - 1);
      const double between = logarithmic ? first_ * std::pow(last_ / first_, share) : first_ + share * (last_ - first_);
      const double number = i + 1 == points ? last_ : between;
      numbers.push_back(is_integer() ? std::round(number) : number);
    }
    return numbers;
  }

  [[nodiscard]] bool is_integer() const { return key_.spec->kind == ValueKind::kInteger; }

  void refuse_fractions(const std::vector<double>& numbers, const char* key) const {
    for (const double number : numbers) {
      if (std::abs(number - std::round(number)) > kSlack * number) {
        reader_.fail_at(key, {fmt::format("The range reaches {:.6g}, which is no whole number.", number),
                              describe(*reader_.value(key))});
      }
    }
  }

  [[nodiscard]] std::string text_of(double number) const {
    const std::string digits = is_integer() ? fmt::format("{:.0f}", number) : fmt::format("{:.12g}", number);
    return unit_.empty() ? digits : fmt::format("{} {}", digits, unit_);
  }

  SectionReader reader_;
  const AxisKey& key_;
  double first_ = 0;
  double last_ = 0;
  double scale_ = 1;  ///< SI base units per unit of `from`
  std::string unit_;
};

}  // namespace

std::vector<Tree> expand_range(const Schema& schema, const AxisKey& key, const Tree& range) {
  return Range(schema, key, range).values();
}

std::optional<Tree> parse_range(const std::string& text, const Position& position) {
  const std::size_t dots = text.find("..");
  const bool numeric = !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
  if (!numeric || dots == std::string::npos || text.find_first_of(",[{\"'") != std::string::npos) {
    return std::nullopt;
  }
  Tree range = mapping(position);
  const auto set = [&](const char* key, std::string value) { range.set(key, scalar(std::move(value), position)); };
  set("from", text.substr(0, dots));
  std::string rest = text.substr(dots + 2);
  std::size_t mark = rest.find_last_of("*:+");
  const bool exponent =
      mark != std::string::npos && mark > 0 && rest[mark] == '+' && (rest[mark - 1] == 'e' || rest[mark - 1] == 'E');
  mark = exponent ? std::string::npos : mark;
  if (mark == std::string::npos) {
    set("to", rest);
    set("step", "1");
    return range;
  }
  set("to", rest.substr(0, mark));
  std::string amount = rest.substr(mark + 1);
  if (rest[mark] == ':' && amount.ends_with("log")) {
    set("scale", "log");
    amount.resize(amount.size() - 3);
  }
  set(rest[mark] == '*' ? "factor" : rest[mark] == '+' ? "step" : "points", amount);
  return range;
}

}  // namespace lamina::scenario
