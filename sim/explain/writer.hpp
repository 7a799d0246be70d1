#pragma once

#include <string>
#include <string_view>

#include "sim/units/quantity.hpp"

namespace lamina::explain {

/// Four significant digits with a decimal prefix: "1.258 TFLOP", "62.21 GB", "3.1 us". Bytes count in powers of 1000.
[[nodiscard]] std::string text_of(Flops value);
[[nodiscard]] std::string text_of(Bytes value);
[[nodiscard]] std::string text_of(Seconds value);
[[nodiscard]] std::string text_of(BytesPerSecond value);
[[nodiscard]] std::string text_of(FlopsPerSecond value);
/// Bytes of device memory, in powers of 1024 as capacities are given: "80 GiB".
[[nodiscard]] std::string memory_of(Bytes value);
/// A number without a unit: "1.258 T".
[[nodiscard]] std::string count_of(double value);

/// Collects the lines of the explanation.
class Writer {
 public:
  /// Starts a section.
  void section(std::string_view title);

  /// A line of plain text inside the section.
  void text(std::string_view line);

  /// One derived number.
  /// @param formula  how it follows, with the numbers put in
  /// @param source   paper and place, or the key of the scenario; may be empty
  void number(std::string_view name, std::string_view value, std::string_view formula, std::string_view source = "");

  /// A name and a longer text, such as the source of a catalogue entry.
  void entry(std::string_view name, std::string_view text);

  [[nodiscard]] const std::string& result() const { return result_; }

 private:
  std::string result_;
};

}  // namespace lamina::explain
