#pragma once

#include <string>

/// Numbers as people read them: three significant digits and a unit. NaN and infinities read "n/a".
namespace lamina::report {

/// Three significant digits with thousands separators: "0.0123", "6.10", "61.0", "6,100".
[[nodiscard]] std::string three_digits(double value);

/// Whole number with thousands separators: "38,640".
[[nodiscard]] std::string whole(double value);

/// "6.10 s", "12.3 ms", "45.6 us", "7.00 ns".
[[nodiscard]] std::string seconds(double value);

/// Powers of 1,024: "11.3 GiB".
[[nodiscard]] std::string binary_bytes(double value);

/// Powers of 1,000: "40.1 GB".
[[nodiscard]] std::string decimal_bytes(double value);

/// Powers of 1,000: "25.0 GB/s".
[[nodiscard]] std::string byte_rate(double value);

/// Powers of 1,000 without a unit: "1.01 M".
[[nodiscard]] std::string scaled(double value);

/// Powers of 1,000 in words: "618 billion".
[[nodiscard]] std::string in_words(double value);

/// "85.2 %"; with `with_sign`: "+0.9 %".
[[nodiscard]] std::string percent(double fraction, bool with_sign = false);

/// One unit for all parts of a step, so that columns can be added up by eye.
struct TimeUnit {
  double factor = 1;  ///< times seconds
  const char* name = "s";
};

[[nodiscard]] TimeUnit time_unit_for(double step_s);

/// Three digits in that unit; "-" for nothing.
[[nodiscard]] std::string in_unit(double seconds, const TimeUnit& unit);

}  // namespace lamina::report
