#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "sim/report/names.hpp"

/// Numbers as all our JSON documents write them; keys stand in the order in which they were set.
namespace lamina::report {

using Json = nlohmann::ordered_json;

/// JSON knows no NaN and no infinity: both become null.
[[nodiscard]] inline Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

/// A count: written without decimal point when it is whole.
[[nodiscard]] inline Json count(double value) {
  constexpr double kLargestExact = 9007199254740992.0;  // 2^53
  if (std::isfinite(value) && std::floor(value) == value && std::abs(value) <= kLargestExact) {
    return Json(static_cast<std::int64_t>(value));
  }
  return number(value);
}

[[nodiscard]] inline Json by_traffic(const std::array<double, graph::kTrafficClasses>& values) {
  Json result = Json::object();
  for (const graph::Traffic traffic : kExposedTraffic) {
    result[std::string(word_for(traffic))] = number(values[index_of(traffic)]);
  }
  return result;
}

/// Names come from users' files and may hold invalid UTF-8, which is replaced, never thrown at the user.
[[nodiscard]] inline std::string document(const Json& root) {
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lamina::report
