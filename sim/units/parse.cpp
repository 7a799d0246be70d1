#include "sim/units/parse.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <vector>

#include <fmt/core.h>

namespace lamina::units {
namespace {

struct Unit {
  std::string name;
  double factor;
  double divisor = 1;  ///< 5 us is 5 / 1e6: correctly rounded, which 5 * 1e-6 is not always
};

/// Spellings that are refused, each with what to write instead.
struct Ambiguous {
  std::string_view spelling;
  std::string_view meaning;
  std::string_view nearest;
};

struct Prefix {
  std::string_view name;
  double factor;
};

constexpr Prefix kDecimalPrefixes[] = {{"", 1},     {"k", 1e3},  {"M", 1e6}, {"G", 1e9},
                                       {"T", 1e12}, {"P", 1e15}, {"E", 1e18}};
constexpr Prefix kBinaryPrefixes[] = {{"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30},
                                      {"Ti", 0x1p40}, {"Pi", 0x1p50}, {"Ei", 0x1p60}};

std::vector<Unit> decimal_units(std::string_view base, double factor) {
  std::vector<Unit> units;
  for (const Prefix& prefix : kDecimalPrefixes) {
    units.push_back({std::string(prefix.name) + std::string(base), prefix.factor * factor});
  }
  return units;
}

std::vector<Unit> byte_units(std::string_view base) {
  std::vector<Unit> units = decimal_units(base, 1);
  for (const Prefix& prefix : kBinaryPrefixes) {
    units.push_back({std::string(prefix.name) + std::string(base), prefix.factor});
  }
  return units;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char character) { return static_cast<char>(std::tolower(character)); });
  return lower;
}

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

/// Splits "12.5 GB/s" into 12.5 and "GB/s". Only what looks like a decimal number is taken, so that "0x10", "inf" and
/// "1,000" leave a rest behind.
Parsed<double> take_number(std::string_view& text) {
  const bool negative = !text.empty() && text.front() == '-';
  std::string_view digits = text;
  if (!digits.empty() && (digits.front() == '-' || digits.front() == '+')) {
    digits.remove_prefix(1);
  }
  const bool starts_well =
      !digits.empty() && (is_digit(digits[0]) || (digits.size() > 1 && digits[0] == '.' && is_digit(digits[1])));
  if (!starts_well) {
    const std::string word = lower_case(digits);
    const bool special =
        word.starts_with("nan") || word.starts_with(".nan") || word.starts_with("inf") || word.starts_with(".inf");
    return tl::unexpected(
        ParseError{special ? "the number must be finite" : "this does not start with a number", "", ""});
  }
  double value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status == std::errc::result_out_of_range || !std::isfinite(value)) {
    return tl::unexpected(ParseError{"the number is outside what a double can hold", "", ""});
  }
  text = digits.substr(static_cast<std::size_t>(end - digits.data()));
  return negative ? -value : value;
}

/// Text as it goes into a message: at most 40 bytes of it, whatever the user wrote.
std::string_view excerpt(std::string_view text) { return text.substr(0, 40); }

const Unit* find_unit(const std::vector<Unit>& units, std::string_view name) {
  const auto found = std::find_if(units.begin(), units.end(), [&](const Unit& unit) { return unit.name == name; });
  return found == units.end() ? nullptr : &*found;
}

/// The first unit that is spelled the same but for case.
std::string same_but_for_case(const std::vector<Unit>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (lower_case(unit.name) == lower_case(name)) {
      return unit.name;
    }
  }
  return "";
}

ParseError unknown_unit(const std::vector<Unit>& units, const std::vector<Ambiguous>& ambiguous, std::string_view name,
                        std::string_view allowed) {
  for (const Ambiguous& entry : ambiguous) {
    if (entry.spelling == name) {
      return {fmt::format("the unit \"{}\" can be read in two ways: {}", name, entry.meaning), std::string(allowed),
              std::string(entry.nearest)};
    }
  }
  const bool separator = !name.empty() && (name.front() == ',' || name.front() == '_' || name.front() == '\'');
  if (separator) {
    return {"numbers take neither thousands separators nor a decimal comma", std::string(allowed), ""};
  }
  return {fmt::format("the unit \"{}\" does not fit here", excerpt(name)), std::string(allowed), same_but_for_case(units, name)};
}

Parsed<double> parse_quantity(std::string_view text, const std::vector<Unit>& units,
                              const std::vector<Ambiguous>& ambiguous, std::string_view allowed) {
  std::string_view rest = trimmed(text);
  if (rest.empty()) {
    return tl::unexpected(ParseError{"the value is empty", std::string(allowed), ""});
  }
  const Parsed<double> number = take_number(rest);
  if (!number) {
    return tl::unexpected(ParseError{number.error().problem, std::string(allowed), ""});
  }
  const std::string_view name = trimmed(rest);
  if (name.empty()) {
    return tl::unexpected(ParseError{"the number has no unit", std::string(allowed), ""});
  }
  const Unit* unit = find_unit(units, name);
  if (unit == nullptr) {
    return tl::unexpected(unknown_unit(units, ambiguous, name, allowed));
  }
  const double value = *number * unit->factor / unit->divisor;
  if (!std::isfinite(value)) {
    return tl::unexpected(ParseError{"the number is outside what a double can hold", std::string(allowed), ""});
  }
  return value;
}

template <class Value>
Parsed<Value> as(const Parsed<double>& number) {
  if (!number) {
    return tl::unexpected(number.error());
  }
  return Value(*number);
}

std::vector<Ambiguous> ambiguous_bytes() {
  return {{"KB", "1000 or 1024 bytes; write kB or KiB", "kB"}, {"b", "bits or bytes; write B for bytes", "B"},
          {"kb", "bits or bytes; write kB for bytes", "kB"},   {"Mb", "bits or bytes; write MB for bytes", "MB"},
          {"Gb", "bits or bytes; write GB for bytes", "GB"},   {"Tb", "bits or bytes; write TB for bytes", "TB"}};
}

std::vector<Ambiguous> ambiguous_rates() {
  return {{"Kb/s", "bits or bytes; write kbit/s or kB/s", "kbit/s"},
          {"kb/s", "bits or bytes; write kbit/s or kB/s", "kbit/s"},
          {"Mb/s", "bits or bytes; write Mbit/s or MB/s", "Mbit/s"},
          {"Gb/s", "bits or bytes; write Gbit/s or GB/s", "Gbit/s"},
          {"Tb/s", "bits or bytes; write Tbit/s or TB/s", "Tbit/s"},
          {"kbps", "bits or bytes; write kbit/s or kB/s", "kbit/s"},
          {"Mbps", "bits or bytes; write Mbit/s or MB/s", "Mbit/s"},
          {"Gbps", "bits or bytes; write Gbit/s or GB/s", "Gbit/s"},
          {"Tbps", "bits or bytes; write Tbit/s or TB/s", "Tbit/s"},
          {"MBps", "bits or bytes; write MB/s or Mbit/s", "MB/s"},
          {"GBps", "bits or bytes; write GB/s or Gbit/s", "GB/s"},
          {"TBps", "bits or bytes; write TB/s or Tbit/s", "TB/s"},
          {"KB/s", "1000 or 1024 bytes; write kB/s or KiB/s", "kB/s"}};
}

std::vector<Ambiguous> ambiguous_flops() {
  return {{"GFLOPS", "an amount or a rate; write GFLOP or GFLOP/s", "GFLOP"},
          {"TFLOPS", "an amount or a rate; write TFLOP or TFLOP/s", "TFLOP"},
          {"PFLOPS", "an amount or a rate; write PFLOP or PFLOP/s", "PFLOP"},
          {"GFLOPs", "an amount or a rate; write GFLOP or GFLOP/s", "GFLOP"},
          {"TFLOPs", "an amount or a rate; write TFLOP or TFLOP/s", "TFLOP"},
          {"PFLOPs", "an amount or a rate; write PFLOP or PFLOP/s", "PFLOP"}};
}

std::vector<Ambiguous> ambiguous_flop_rates() {
  std::vector<Ambiguous> result = ambiguous_flops();
  constexpr std::string_view kRates[] = {"GFLOP/s", "TFLOP/s", "PFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"};
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].nearest = kRates[i];
  }
  return result;
}

}  // namespace

Parsed<Seconds> parse_seconds(std::string_view text) {
  const std::vector<Unit> units = {{"ns", 1, 1e9},      {"us", 1, 1e6}, {"\u00b5s", 1, 1e6},
                                   {"\u03bcs", 1, 1e6}, {"ms", 1, 1e3}, {"s", 1},
                                   {"min", 60},         {"h", 3600},    {"d", 86400}};
  return as<Seconds>(parse_quantity(text, units, {{"m", "metres or minutes; write min or ms", "min"}},
                                    "a number with ns, us, ms, s, min, h or d, for example \"5 us\""));
}

Parsed<Bytes> parse_bytes(std::string_view text) {
  return as<Bytes>(parse_quantity(text, byte_units("B"), ambiguous_bytes(),
                                  "a number with B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of "
                                  "1024), for example \"80 GiB\""));
}

Parsed<BytesPerSecond> parse_bytes_per_second(std::string_view text) {
  std::vector<Unit> units = byte_units("B/s");
  const std::vector<Unit> bits = decimal_units("bit/s", 0.125);
  units.insert(units.end(), bits.begin(), bits.end());
  return as<BytesPerSecond>(parse_quantity(text, units, ambiguous_rates(),
                                           "a number with B/s, kB/s, MB/s, GB/s, TB/s, their KiB/s forms, or Mbit/s, "
                                           "Gbit/s, Tbit/s, for example \"400 Gbit/s\""));
}

Parsed<Flops> parse_flops(std::string_view text) {
  return as<Flops>(parse_quantity(text, decimal_units("FLOP", 1), ambiguous_flops(),
                                  "a number with FLOP, GFLOP, TFLOP or PFLOP, for example \"1.5 TFLOP\""));
}

Parsed<FlopsPerSecond> parse_flops_per_second(std::string_view text) {
  return as<FlopsPerSecond>(parse_quantity(text, decimal_units("FLOP/s", 1), ambiguous_flop_rates(),
                                           "a number with GFLOP/s, TFLOP/s or PFLOP/s, for example \"312 TFLOP/s\""));
}

Parsed<double> parse_number(std::string_view text) {
  constexpr std::string_view kAllowed = "a finite number without unit, for example 0.5 or 3e9";
  std::string_view rest = trimmed(text);
  if (rest.empty()) {
    return tl::unexpected(ParseError{"the value is empty", std::string(kAllowed), ""});
  }
  const Parsed<double> number = take_number(rest);
  if (!number) {
    return tl::unexpected(ParseError{number.error().problem, std::string(kAllowed), ""});
  }
  if (!rest.empty()) {
    return tl::unexpected(
        ParseError{fmt::format("\"{}\" after the number is not expected", excerpt(trimmed(rest))), std::string(kAllowed), ""});
  }
  return number;
}

Parsed<std::int64_t> parse_integer(std::string_view text) {
  constexpr std::string_view kAllowed = "a whole number in digits, for example 8";
  std::string_view digits = trimmed(text);
  const auto refuse = [&](std::string problem) {
    return tl::unexpected(ParseError{std::move(problem), std::string(kAllowed), ""});
  };
  if (digits.empty()) {
    return refuse("the value is empty");
  }
  if (digits.size() > 1 && digits.front() == '+' && is_digit(digits[1])) {
    digits.remove_prefix(1);
  }
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status == std::errc::result_out_of_range) {
    return refuse("the number is too large");
  }
  if (status != std::errc() || end != digits.data() + digits.size()) {
    return refuse("this is not a whole number");
  }
  return value;
}

}  // namespace lamina::units
