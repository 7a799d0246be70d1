#include "sim/sweep/names.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/sweep/fault_text.hpp"

namespace lamina::sweep {

NameTable::NameTable(const scenario::Loader& loader, const scenario::SweepSpec& spec)
    : loader_(loader), spec_(spec), key_names_(spec.keys()), strategy_(loader.strategy_sizes()) {
  for (const scenario::Factor& factor : spec.factors) {
    keys_.insert(keys_.end(), factor.keys.begin(), factor.keys.end());
  }
  for (std::size_t column = 0; column < keys_.size(); ++column) {
    const std::string& name = keys_[column].name;
    if (name.starts_with("model") || name.starts_with("cluster")) {
      hardware_columns_.push_back(column);
    }
  }
  settings_.resize(keys_.size());
  in_progress_.resize(keys_.size());
}

void NameTable::choose(std::span<const std::uint32_t> steps) {
  std::size_t column = 0;
  for (std::size_t f = 0; f < spec_.factors.size(); ++f) {
    for (const auto& setting : spec_.factors[f].steps[steps[f]]) {
      settings_[column++] = setting ? &*setting : nullptr;
    }
  }
}

const std::vector<NameTable::Binding>& NameTable::bindings(const scenario::Expression& expression) {
  const auto [found, fresh] = bindings_.try_emplace(&expression);
  if (fresh) {
    for (const scenario::ExpressionName& name : expression.names()) {
      found->second.push_back({scenario::axis_named(name.name, key_names_), scenario::without_alias(name.name)});
    }
  }
  return found->second;
}

NameTable::Value NameTable::evaluate(const scenario::Expression& expression) {
  std::vector<scenario::Operand> values;
  for (const Binding& binding : bindings(expression)) {
    Value value = value_of(binding);
    if (!value) {
      return value;
    }
    values.push_back(std::move(*value));
  }
  return expression.evaluate(values);
}

NameTable::Value NameTable::value_of(const Binding& binding) {
  if (binding.column && settings_[*binding.column] != nullptr) {
    return value_of_column(*binding.column);
  }
  return size_of(binding.size);
}

NameTable::Value NameTable::value_of_column(std::size_t column) {
  const scenario::Setting& setting = *settings_[column];
  if (setting.operand) {
    return *setting.operand;
  }
  if (!setting.expression) {
    return tl::unexpected(fmt::format("{} is neither a number nor a word here", key_names_[column]));
  }
  if (in_progress_[column]) {
    error::ScenarioFault fault;
    fault.location = setting.position.location();
    fault.key = key_names_[column];
    fault.problem = "Values that are computed from each other go round in a circle.";
    fault.read = setting.text;
    throw error::ScenarioError(std::move(fault));
  }
  in_progress_[column] = true;
  Value value = evaluate(*setting.expression);
  in_progress_[column] = false;
  return value;
}

std::string NameTable::text_of(std::size_t column, const scenario::Operand& value) const {
  const auto* number = std::get_if<double>(&value);
  return number == nullptr     ? std::get<std::string>(value)
         : keys_[column].whole ? fmt::format("{:.0f}", *number)
                               : fmt::format("{:.12g}{}", *number, keys_[column].unit);
}

/// By an axis or in the file.
bool NameTable::is_given(const std::string& strategy_key) const {
  const auto axis = std::find(key_names_.begin(), key_names_.end(), "strategy." + strategy_key);
  const bool on_axis =
      axis != key_names_.end() && settings_[static_cast<std::size_t>(axis - key_names_.begin())] != nullptr;
  return on_axis || strategy_.contains(strategy_key);
}

tl::expected<double, std::string> NameTable::number_of(const std::string& name) {
  const Value value = value_of({scenario::axis_named(name, key_names_), name});
  if (!value) {
    return tl::unexpected(value.error());
  }
  const auto* number = std::get_if<double>(&*value);
  return number != nullptr ? tl::expected<double, std::string>(*number)
                           : tl::unexpected(fmt::format("{} is no number here", name));
}

NameTable::Value NameTable::product(const std::vector<std::string>& names) {
  double result = 1;
  for (const std::string& name : names) {
    const auto factor = number_of(name);
    if (!factor) {
      return tl::unexpected(factor.error());
    }
    result *= *factor;
  }
  return result;
}

NameTable::Value NameTable::size_of(const std::string& name) {
  if (name == "ranks") {
    return product({"data_parallel", "pipeline_parallel", "tensor_parallel"});
  }
  // An axis of one of the two replaces the other.
  const auto on_axis = [&](const char* key) {
    const auto axis = std::find(key_names_.begin(), key_names_.end(), fmt::format("strategy.{}", key));
    return axis != key_names_.end() && settings_[static_cast<std::size_t>(axis - key_names_.begin())] != nullptr;
  };
  const bool is_micro = name == "micro_batches";
  const bool is_batch = name == "global_batch";
  const char* other = is_micro ? "global_batch" : "micro_batches";
  if ((is_micro || is_batch) && (on_axis(other) || (!strategy_.contains(name) && is_given(other)))) {
    const Value share = product({"micro_batch_size", "data_parallel"});
    const auto from = share ? number_of(other) : tl::unexpected(share.error());
    if (!from) {
      return tl::unexpected(from.error());
    }
    const double divisor = std::get<double>(*share);
    if (is_micro && divisor == 0) {
      return tl::unexpected(std::string("division by zero in micro_batches"));
    }
    return is_micro ? *from / divisor : *from * divisor;
  }
  if (const auto known = strategy_.find(name); known != strategy_.end()) {
    return known->second;
  }
  return hardware_size(name);
}

NameTable::Value NameTable::hardware_size(const std::string& name) {
  std::string which;
  std::vector<scenario::Change> changes;
  for (const std::size_t column : hardware_columns_) {
    const scenario::Setting* setting = settings_[column];
    if (setting == nullptr) {
      which += '\n';
      continue;
    }
    if (!setting->expression) {
      which += setting->text + '\n';
      changes.push_back({key_names_[column], setting->value});
      continue;
    }
    const Value value = value_of_column(column);
    if (!value) {
      return value;
    }
    const std::string text = text_of(column, *value);
    which += text + '\n';
    changes.push_back({key_names_[column], scenario::scalar(text, setting->position)});
  }
  auto found = hardware_.find(which);
  if (found == hardware_.end()) {
    try {
      found = hardware_.emplace(which, loader_.sizes(changes)).first;
    } catch (const error::ScenarioError& problem) {
      found = hardware_.emplace(which, tl::unexpected(short_text(problem.fault()))).first;
    }
  }
  if (!found->second) {
    return tl::unexpected(found->second.error());
  }
  const auto size = found->second->find(name);
  if (size == found->second->end()) {
    return tl::unexpected(fmt::format("the scenario says nothing of {} here", name));
  }
  return size->second;
}

}  // namespace lamina::sweep
