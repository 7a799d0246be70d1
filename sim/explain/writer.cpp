#include "sim/explain/writer.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace lamina::explain {
namespace {

struct Prefix {
  double factor;
  const char* name;
};

constexpr std::array<Prefix, 11> kPrefixes = {{{1e21, "Z"},
                                               {1e18, "E"},
                                               {1e15, "P"},
                                               {1e12, "T"},
                                               {1e9, "G"},
                                               {1e6, "M"},
                                               {1e3, "k"},
                                               {1.0, ""},
                                               {1e-3, "m"},
                                               {1e-6, "u"},
                                               {1e-9, "n"}}};

std::string scaled(double value, const char* unit, double smallest_factor) {
  for (const Prefix& prefix : kPrefixes) {
    if (prefix.factor >= smallest_factor && std::abs(value) >= prefix.factor) {
      return fmt::format("{:.4g} {}{}", value / prefix.factor, prefix.name, unit);
    }
  }
  return fmt::format("{:.4g} {}", value, unit);
}

constexpr double kNano = 1e-9;

}  // namespace

std::string text_of(Flops value) {
  return scaled(value.value(), "FLOP", 1);
}

std::string text_of(Bytes value) {
  return scaled(value.value(), "B", 1);
}

std::string text_of(Seconds value) {
  // Minutes and hours do not occur in one layer or step; thousands of seconds stay seconds.
  return value.value() >= 1 ? fmt::format("{:.4g} s", value.value()) : scaled(value.value(), "s", kNano);
}

std::string text_of(BytesPerSecond value) {
  return scaled(value.value(), "B/s", 1);
}

std::string text_of(FlopsPerSecond value) {
  return scaled(value.value(), "FLOP/s", 1);
}

std::string memory_of(Bytes value) {
  constexpr double kStep = 1024;
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double scaled_value = value.value();
  std::size_t unit = 0;
  while (scaled_value >= kStep && unit + 1 < kUnits.size()) {
    scaled_value /= kStep;
    ++unit;
  }
  return fmt::format("{:.4g} {}", scaled_value, kUnits.at(unit));
}

std::string count_of(double value) {
  constexpr double kExact = 1e6;  // small whole numbers are more useful unscaled
  if (std::abs(value) < kExact) {
    return fmt::format("{:g}", value);
  }
  return scaled(value, "", 1);
}

void Writer::section(std::string_view title) {
  result_ += fmt::format("{}{}\n", result_.empty() ? "" : "\n", title);
}

void Writer::text(std::string_view line) {
  result_ += fmt::format("  {}\n", line);
}

void Writer::entry(std::string_view name, std::string_view text) {
  if (!text.empty()) {
    result_ += fmt::format("  {}: {}\n", name, text);
  }
}

void Writer::number(std::string_view name, std::string_view value, std::string_view formula, std::string_view source) {
  result_ += fmt::format("  {:<34} {:>14}  = {}{}\n", name, value, formula,
                         source.empty() ? std::string() : fmt::format("  [{}]", source));
}

}  // namespace lamina::explain
