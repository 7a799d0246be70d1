#include "sim/score/residual.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/score/statistics.hpp"
#include "sim/units/median.hpp"
#include "sim/units/parse.hpp"

namespace lamina::score {
namespace {

/// Of the step, that a family must have to be fitted: a factor of thousands on next to nothing explains no error.
constexpr double kLeastShare = 0.01;

using TimeOf = std::function<double(const StepError&)>;

double mean_error(const std::vector<StepError>& rows, const TimeOf& time_of, double factor) {
  double sum = 0;
  for (const StepError& row : rows) {
    sum += std::abs(relative_error(row.predicted_s + (factor - 1) * time_of(row), row.measured_s));
  }
  return sum / static_cast<double>(rows.size());
}

std::optional<FamilyFit> fit(const std::vector<StepError>& rows, const TimeOf& time_of) {
  FamilyFit result;
  std::vector<std::pair<double, double>> candidates;  // factor, weight
  double weights = 0;
  for (const StepError& row : rows) {
    const double time = time_of(row);
    result.share += time / row.predicted_s / static_cast<double>(rows.size());
    if (time > 0) {
      candidates.emplace_back(1 + (row.measured_s - row.predicted_s) / time, time / row.measured_s);
      weights += time / row.measured_s;
    }
  }
  if (candidates.empty()) {
    return std::nullopt;
  }
  std::sort(candidates.begin(), candidates.end());
  double passed = 0;
  for (const auto& [factor, weight] : candidates) {
    passed += weight;
    result.factor = std::max(0.0, factor);
    if (passed >= weights / 2) {
      break;
    }
  }
  result.mean_absolute = mean_error(rows, time_of, result.factor);
  return result;
}

/// Which group a value is in, and the groups' names in order.
struct Grouping {
  std::map<std::string, std::size_t> group_of;
  std::vector<std::string> labels;
};

std::vector<std::pair<double, std::string>> numbers_of(const std::map<std::string, std::size_t>& counts) {
  std::vector<std::pair<double, std::string>> numbers;
  for (const auto& [cell, count] : counts) {
    if (const auto number = units::parse_number(cell)) {
      numbers.emplace_back(*number, cell);
    }
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

/// Values that are all numbers stand by size, others by their text.
Grouping one_group_per_value(const std::map<std::string, std::size_t>& counts) {
  Grouping grouping;
  const auto numbers = numbers_of(counts);
  if (numbers.size() == counts.size()) {
    for (const auto& [number, cell] : numbers) {
      grouping.group_of[cell] = grouping.labels.size();
      grouping.labels.push_back(cell);
    }
    return grouping;
  }
  for (const auto& [cell, count] : counts) {
    grouping.group_of[cell] = grouping.labels.size();
    grouping.labels.push_back(cell.empty() ? "(empty)" : cell);
  }
  return grouping;
}

Grouping quantile_groups(const std::map<std::string, std::size_t>& counts, std::size_t rows) {
  Grouping grouping;
  std::size_t before = 0;
  std::size_t last = kQuantiles;
  std::string first_cell;
  for (const auto& [number, cell] : numbers_of(counts)) {
    const std::size_t quantile = before * kQuantiles / rows;
    if (quantile != last) {
      grouping.labels.push_back(cell);
      first_cell = cell;
      last = quantile;
    } else {
      grouping.labels.back() = fmt::format("{} to {}", first_cell, cell);
    }
    grouping.group_of[cell] = grouping.labels.size() - 1;
    before += counts.at(cell);
  }
  return grouping;
}

double distance_from_median(const std::vector<double>& errors) {
  const double middle = units::median(errors);
  double sum = 0;
  for (const double error : errors) {
    sum += std::abs(error - middle);
  }
  return sum;
}

}  // namespace

std::vector<FamilyFit> fit_families(const std::vector<StepError>& rows) {
  std::vector<FamilyFit> fits;
  if (rows.empty()) {
    return fits;
  }
  const auto add = [&](std::optional<Family> family, const TimeOf& time_of) {
    auto found = fit(rows, time_of);
    if (found && found->share >= kLeastShare) {
      found->family = family;
      fits.push_back(*found);
    }
  };
  add(std::nullopt, [](const StepError& row) { return row.predicted_s; });
  for (int i = 0; i < kFamilies; ++i) {
    add(static_cast<Family>(i), [i](const StepError& row) { return row.families[static_cast<std::size_t>(i)]; });
  }
  std::stable_sort(fits.begin(), fits.end(),
                   [](const FamilyFit& a, const FamilyFit& b) { return a.mean_absolute < b.mean_absolute; });
  return fits;
}

std::optional<ColumnErrors> errors_by(const std::string& column, const std::vector<std::string>& cells,
                                      const std::vector<double>& errors) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& cell : cells) {
    ++counts[cell];
  }
  const bool few = counts.size() <= kMostGroups;
  const bool one_row_each = few && counts.size() == cells.size();
  if (counts.size() < 2 || one_row_each || (!few && numbers_of(counts).size() != counts.size())) {
    return std::nullopt;
  }
  const Grouping grouping = few ? one_group_per_value(counts) : quantile_groups(counts, cells.size());
  std::vector<std::vector<double>> by_group(grouping.labels.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    by_group[grouping.group_of.at(cells[i])].push_back(errors[i]);
  }
  ColumnErrors result;
  result.column = column;
  double left = 0;
  for (std::size_t i = 0; i < by_group.size(); ++i) {
    const Errors statistics = errors_of(by_group[i]);
    result.groups.push_back(
        {grouping.labels[i], by_group[i].size(), statistics.median_signed, statistics.mean_absolute});
    left += distance_from_median(by_group[i]);
  }
  const double all = distance_from_median(errors);
  result.explained = all > 0 ? 1 - left / all : 0;
  return result;
}

}  // namespace lamina::score
