#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "sim/units/quantity.hpp"

/// Text to quantities: "400 Gbit/s", "80 GiB", "312 TFLOP/s", "5 us".
///
/// A quantity is a decimal number, optional blanks, and a unit. Units are case-sensitive, because case carries meaning:
/// `B` is a byte and `bit` a bit; k, M, G, T, P, E are powers of 1000 and Ki, Mi, Gi, Ti, Pi powers of 1024. Spellings
/// that people read in two ways (Gb/s, Gbps, GBps, TFLOPS, KB) are refused with the spellings to choose from. Numbers
/// are finite; "nan", "inf" and a bare number without unit are errors. The sign is not judged here.
namespace lamina::units {

/// Why a text is no quantity, in parts fit for an error message.
struct ParseError {
  std::string problem;  ///< a clause without final full stop: "a unit is missing"
  std::string allowed;  ///< the spellings that would do
  std::string nearest;  ///< the unit that was probably meant; "" if none is near
};

template <class Value>
using Parsed = tl::expected<Value, ParseError>;

/// "5 us", "1.5 ms", "2 min"; units ns, us (also µs), ms, s, min, h, d.
[[nodiscard]] Parsed<Seconds> parse_seconds(std::string_view text);

/// "80 GiB", "80 GB"; units B, kB to EB, KiB to EiB.
[[nodiscard]] Parsed<Bytes> parse_bytes(std::string_view text);

/// "25 GB/s", "400 Gbit/s"; byte units as above, bit units bit/s, kbit/s to Ebit/s (8 bits = 1 byte).
[[nodiscard]] Parsed<BytesPerSecond> parse_bytes_per_second(std::string_view text);

/// "1.5 TFLOP"; units FLOP, kFLOP to EFLOP.
[[nodiscard]] Parsed<Flops> parse_flops(std::string_view text);

/// "312 TFLOP/s"; units FLOP/s, kFLOP/s to EFLOP/s.
[[nodiscard]] Parsed<FlopsPerSecond> parse_flops_per_second(std::string_view text);

/// A finite decimal number without unit: "0.5", "-2", "300e9". No thousands separators, no decimal comma, no
/// hexadecimal.
[[nodiscard]] Parsed<double> parse_number(std::string_view text);

/// A whole number without unit, in decimal digits: "8", "-2". "8.0" and "1e3" are refused.
[[nodiscard]] Parsed<std::int64_t> parse_integer(std::string_view text);

}  // namespace lamina::units
