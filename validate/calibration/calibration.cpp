#include "validate/calibration/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::validate::calibration {
namespace {

struct Unit {
  double factor = 1;
  const char* name = "";
};

/// The largest unit that the value fills, else the smallest.
std::string in_units(double value, const std::vector<Unit>& units) {
  const auto fits = std::find_if(units.begin(), units.end(), [&](const Unit& unit) { return value >= unit.factor; });
  const Unit& unit = fits == units.end() ? units.back() : *fits;
  return fmt::format("{:.6g} {}", value / unit.factor, unit.name);
}

}  // namespace

std::string plural_of(Kind kind) {
  constexpr std::array<const char*, 4> kNames = {"accelerators", "device_links", "host_paths", "networks"};
  return kNames.at(static_cast<std::size_t>(kind));
}

void leave_out(std::vector<LeftOut>& list, const std::string& reason, std::int64_t rows) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const LeftOut& entry) { return entry.reason == reason; });
  if (found == list.end()) {
    list.push_back({reason, rows});
  } else {
    found->rows += rows;
  }
}

Residual residual_of(std::string range, const std::vector<double>& fitted, const std::vector<double>& measured,
                     const std::vector<std::string>& names) {
  if (fitted.size() != measured.size() || names.size() != measured.size()) {
    throw error::InternalError("residuals of unequal lists");
  }
  Residual result;
  result.range = std::move(range);
  result.points = static_cast<std::int64_t>(measured.size());
  std::vector<double> differences;
  std::vector<double> sizes;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    differences.push_back(fitted[i] / measured[i] - 1);
    sizes.push_back(std::abs(differences.back()));
    worst = sizes[i] > sizes[worst] ? i : worst;
  }
  result.median = median_of(sizes);
  result.bias = median_of(differences);
  if (!sizes.empty()) {
    result.worst = sizes[worst];
    result.worst_at = names[worst];
  }
  return result;
}

double median_of(std::vector<double> values) {
  if (values.empty()) {
    return kUnknown;
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::string as_name(const std::string& text) {
  std::string name;
  for (const char letter : text) {
    const bool capital = letter >= 'A' && letter <= 'Z';
    const bool kept = capital || (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    if (kept) {
      name += static_cast<char>(capital ? letter - 'A' + 'a' : letter);
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) {
    name.pop_back();
  }
  return name.empty() ? "measured" : name;
}

std::string rate_text(double bytes_per_second) {
  return in_units(bytes_per_second, {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}});
}

std::string time_text(double seconds) {
  return in_units(seconds, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}});
}

std::string work_rate_text(double flops_per_second) {
  return in_units(flops_per_second, {{1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1, "FLOP/s"}});
}

std::string size_text(double bytes) {
  constexpr double kKibi = 1024;
  return in_units(bytes, {{kKibi * kKibi * kKibi, "GiB"}, {kKibi * kKibi, "MiB"}, {kKibi, "KiB"}, {1, "B"}});
}

}  // namespace lamina::validate::calibration
