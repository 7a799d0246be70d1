#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lamina::validate::hardware_trace {

/// Dates lie within 1966 and 2049, durations below ten years: every difference and sum of them stays in 64 bits.
inline constexpr std::int64_t kEarliestNs = -100'000'000'000'000'000;
inline constexpr std::int64_t kLatestNs = 2'500'000'000'000'000'000;
inline constexpr std::int64_t kLongestNs = 300'000'000'000'000'000;

/// A decimal number times 10^shift as a whole number, exactly; further digits are cut off. "1669783687929439.25" with
/// shift 3 is 1669783687929439250. Nothing for what is no number (NaN, infinities) or does not fit.
[[nodiscard]] std::optional<std::int64_t> scaled_decimal(std::string_view text, int shift);

}  // namespace lamina::validate::hardware_trace
