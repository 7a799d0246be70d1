#include "sim/sweep/grid.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/sweep/names.hpp"

namespace lamina::sweep {
namespace {

/// Two values differ by less than a rounding error.
bool is_whole(double value) {
  return std::abs(value - std::round(value)) <= 1e-9 * std::max(1.0, std::abs(value));
}

std::string with_commas(double count) {
  std::string digits = fmt::format("{:.0f}", count);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace

Grid::Grid(const scenario::Loader& loader, scenario::SweepSpec spec)
    : loader_(loader), spec_(std::move(spec)), keys_(spec_.keys()) {
  names_ = std::make_unique<NameTable>(loader, spec_);
  double combinations = 1;
  for (const scenario::Factor& factor : spec_.factors) {
    combinations *= static_cast<double>(factor.steps.size());
  }
  if (combinations > kMostCombinations) {
    refuse("sweep", fmt::format("The sweep has {} combinations.", with_commas(combinations)), "",
           fmt::format("at most {}", with_commas(kMostCombinations)));
  }
  combinations_ = static_cast<std::int64_t>(combinations);
  enumerate();
}

Grid::~Grid() = default;

void Grid::enumerate() {
  std::vector<std::uint32_t> steps(spec_.factors.size(), 0);
  std::vector<std::int64_t> excluded(spec_.filters.size(), 0);
  std::int64_t points = 0;
  for (std::int64_t combination = 0; combination < combinations_; ++combination) {
    names_->choose(steps);
    bool kept = true;
    for (std::size_t f = 0; kept && f < spec_.filters.size(); ++f) {
      const auto value = names_->evaluate(spec_.filters[f].condition);
      const auto* number = value ? std::get_if<double>(&*value) : nullptr;
      kept = !value || number == nullptr || *number != 0;  // point() says what is wrong with the others
      excluded[f] += kept ? 0 : 1;
    }
    if (kept) {
      refuse_circles();
      steps_.insert(steps_.end(), steps.begin(), steps.end());
      ++points;
    }
    if (points > spec_.limit) {
      refuse("sweep.limit",
             fmt::format("The sweep has more than {} points.", with_commas(static_cast<double>(spec_.limit))),
             fmt::format("{} combinations", with_commas(static_cast<double>(combinations_))),
             "fewer values, more conditions (where), or a higher limit");
    }
    for (std::size_t f = steps.size(); f-- > 0;) {
      if (++steps[f] < spec_.factors[f].steps.size()) {
        break;
      }
      steps[f] = 0;
    }
  }
  if (points == 0) {
    refuse_empty(excluded);
  }
}

/// Here rather than at a row: a circle is a fault of the file.
void Grid::refuse_circles() const {
  for (std::size_t column = 0; column < keys_.size(); ++column) {
    const scenario::Setting* setting = names_->setting(column);
    if (setting != nullptr && setting->expression) {
      (void)names_->evaluate(*setting->expression);
    }
  }
}

void Grid::refuse(const char* key, const std::string& problem, const std::string& read,
                  const std::string& allowed) const {
  error::ScenarioFault fault;
  fault.location.file = loader_.file().string();
  fault.key = key;
  fault.problem = problem;
  fault.read = read;
  fault.allowed = allowed;
  throw error::ScenarioError(std::move(fault));
}

void Grid::refuse_empty(const std::vector<std::int64_t>& excluded) const {
  std::string counts;
  for (std::size_t f = 0; f < excluded.size(); ++f) {
    counts += fmt::format("{}\"{}\" excludes {}", f == 0 ? "" : ", ", spec_.filters[f].condition.text(), excluded[f]);
  }
  refuse("sweep.where", fmt::format("None of the {} combinations meets the conditions.", combinations_), counts, "");
}

std::int64_t Grid::size() const {
  return static_cast<std::int64_t>(steps_.size() / std::max<std::size_t>(1, spec_.factors.size()));
}

Point Grid::point(std::int64_t index) const {
  if (index < 0 || index >= size()) {
    throw error::InternalError(fmt::format("the sweep has no point {}", index));
  }
  const std::size_t factors = spec_.factors.size();
  names_->choose(std::span(steps_).subspan(static_cast<std::size_t>(index) * factors, factors));
  Point point;
  point.index = index;
  for (std::size_t column = 0; column < keys_.size(); ++column) {
    const scenario::Setting* setting = names_->setting(column);
    if (setting == nullptr || !setting->expression) {
      point.texts.push_back(setting == nullptr ? "" : setting->text);
      if (setting != nullptr) {
        point.changes.push_back({keys_[column], setting->value});
      }
      continue;
    }
    const auto value = names_->evaluate(*setting->expression);
    const auto* number = value ? std::get_if<double>(&*value) : nullptr;
    if (!value || (number != nullptr && names_->key(column).whole && !is_whole(*number))) {
      point.infeasible = value ? fmt::format("{} {} is {:.6g}, no whole number.", keys_[column], setting->text, *number)
                               : fmt::format("{} {} has no value: {}.", keys_[column], setting->text, value.error());
      point.texts.push_back(value ? fmt::format("{:.6g}", *number) : "");
      continue;
    }
    std::string text = names_->text_of(column, *value);
    point.texts.push_back(text);
    point.changes.push_back({keys_[column], scenario::scalar(std::move(text), setting->position)});
  }
  for (const scenario::Filter& filter : spec_.filters) {
    const auto value = names_->evaluate(filter.condition);
    if (point.infeasible.empty() && (!value || std::holds_alternative<std::string>(*value))) {
      point.infeasible = fmt::format("The condition \"{}\" has no value: {}.", filter.condition.text(),
                                     value ? "it is a word" : value.error());
    }
  }
  return point;
}

}  // namespace lamina::sweep
