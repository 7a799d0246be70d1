#include "sim/report/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

namespace lamina::report {

namespace {

constexpr const char* kNotAvailable = "n/a";

/// Inserts commas into the digits before the decimal point.
std::string with_separators(std::string digits) {
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t position = point; position > first + 3;) {
    position -= 3;
    digits.insert(position, 1, ',');
  }
  return digits;
}

/// Chooses the largest prefix whose factor does not exceed the value as printed (999.6 k becomes 1.00 M).
template <std::size_t Size>
std::string with_prefix(double value, double base, const std::array<std::string_view, Size>& units) {
  if (!std::isfinite(value)) {
    return kNotAvailable;
  }
  std::size_t unit = 0;
  while (unit + 1 < Size && std::abs(value) >= base - 0.5) {
    value /= base;
    ++unit;
  }
  return units[unit].empty() ? three_digits(value) : fmt::format("{} {}", three_digits(value), units[unit]);
}

}  // namespace

std::string three_digits(double value) {
  if (!std::isfinite(value)) {
    return kNotAvailable;
  }
  const double magnitude = std::abs(value);
  if (magnitude == 0) {
    return "0";
  }
  if (magnitude < 1e-3 || magnitude >= 1e9) {
    return fmt::format("{:.2e}", value);
  }
  if (magnitude < 0.9995) {
    // Leading zeros are not significant: 0.0123 has three digits.
    const int decimals = 2 - static_cast<int>(std::floor(std::log10(magnitude)));
    return fmt::format("{:.{}f}", value, decimals);
  }
  if (magnitude < 9.995) {
    return fmt::format("{:.2f}", value);
  }
  if (magnitude < 99.95) {
    return fmt::format("{:.1f}", value);
  }
  return with_separators(fmt::format("{:.0f}", value));
}

std::string whole(double value) {
  if (!std::isfinite(value)) {
    return kNotAvailable;
  }
  if (std::abs(value) >= 1e15) {
    return fmt::format("{:.2e}", value);
  }
  return with_separators(fmt::format("{:.0f}", value));
}

std::string seconds(double value) {
  if (!std::isfinite(value)) {
    return kNotAvailable;
  }
  const double magnitude = std::abs(value);
  if (magnitude == 0 || magnitude >= 0.9995) {
    return three_digits(value) + " s";
  }
  if (magnitude >= 0.9995e-3) {
    return three_digits(value * 1e3) + " ms";
  }
  if (magnitude >= 0.9995e-6) {
    return three_digits(value * 1e6) + " us";
  }
  return three_digits(value * 1e9) + " ns";
}

std::string binary_bytes(double value) {
  return with_prefix(value, 1024, std::array<std::string_view, 6>{"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string decimal_bytes(double value) {
  return with_prefix(value, 1000, std::array<std::string_view, 6>{"B", "kB", "MB", "GB", "TB", "PB"});
}

std::string byte_rate(double value) {
  return with_prefix(value, 1000, std::array<std::string_view, 6>{"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"});
}

std::string scaled(double value) {
  return with_prefix(value, 1000, std::array<std::string_view, 6>{"", "k", "M", "G", "T", "P"});
}

std::string in_words(double value) {
  return with_prefix(value, 1000,
                     std::array<std::string_view, 6>{"", "thousand", "million", "billion", "trillion", "quadrillion"});
}

std::string percent(double fraction, bool with_sign) {
  if (!std::isfinite(fraction)) {
    return kNotAvailable;
  }
  const double value = fraction * 100;
  if (std::abs(value) >= 99999.5) {
    return fmt::format("{}{:.1e} %", with_sign && value > 0 ? "+" : "", value);
  }
  if (std::abs(value) < 0.05) {
    return "0.0 %";  // without a sign
  }
  const int decimals = std::abs(value) < 99.95 ? 1 : 0;
  return with_sign ? fmt::format("{:+.{}f} %", value, decimals) : fmt::format("{:.{}f} %", value, decimals);
}

TimeUnit time_unit_for(double step_s) {
  if (step_s >= 100) {
    return {1, "s"};
  }
  return step_s >= 0.01 ? TimeUnit{1e3, "ms"} : TimeUnit{1e6, "us"};
}

std::string in_unit(double seconds, const TimeUnit& unit) {
  const double value = seconds * unit.factor;
  return std::abs(value) < 0.0005 ? "-" : three_digits(value);
}

}  // namespace lamina::report
