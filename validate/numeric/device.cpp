#include "validate/numeric/device.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::validate::numeric {
namespace {

using scenario::ShardingLevel;

constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

std::vector<float> only_owned(std::vector<float> values, const std::vector<char>& owned) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = owned[i] != 0 ? values[i] : kPoison;
  }
  return values;
}

/// Units take `shared` buffers round robin, or have one each.
std::size_t buffers_of(bool shares, int shared, std::size_t units) {
  return shares ? std::min(static_cast<std::size_t>(shared), units) : units;
}

}  // namespace

Device::Device(const scenario::Strategy& strategy, const Shape& whole, std::vector<Unit> units)
    : units_(std::move(units)) {
  const ShardingLevel level = strategy.sharding.level;
  replicated_ = strategy.data_parallel > 1;
  sharded_ = replicated_ && level != ShardingLevel::kNone;
  whole_weights_ = !replicated_ || level != ShardingLevel::kFull;
  const bool whole_gradients = !replicated_ || level == ShardingLevel::kNone || level == ShardingLevel::kOptimizer;
  offloads_state_ = strategy.offload.state;
  host_updates_ = offloads_state_ && strategy.offload.update_on == scenario::OffloadUpdate::kHost;
  const bool round_robin = strategy.sharding.residency == scenario::Residency::kBuffers && !strategy.schedule_file;
  weights_.resize(buffers_of(!whole_weights_ && round_robin, strategy.sharding.weight_buffers, units_.size()));
  gradients_.resize(buffers_of(!whole_gradients && round_robin, strategy.sharding.gradient_buffers, units_.size()));
  for (int unit = 0; unit < static_cast<int>(units_.size()); ++unit) {
    const Unit& at = units_[static_cast<std::size_t>(unit)];
    const std::vector<float> layer = initial_weights(whole, at.layer, at.own_matrix);
    std::vector<float> part;
    for (const std::size_t place : at.places) {
      part.push_back(layer[place]);
    }
    State& held = states_.emplace_back();
    held.master = only_owned(part, at.owned);
    held.master_here = !offloads_state_;
    if (sharded_ && offloads_state_ && whole_weights_ && !host_updates_) {
      held.shard = held.master;
    }
    if (!sharded_ && !host_updates_) {
      weight_buffer(unit) = {unit, part};
    }
  }
}

int Device::unit_of(int stage, int layer) const {
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    if (units_[unit].stage == stage && units_[unit].layer == layer) {
      return static_cast<int>(unit);
    }
  }
  throw error::InternalError(fmt::format("layer {} of stage {} is not on this rank", layer, stage));
}

std::span<const float> Device::weights(int unit) const {
  const Buffer& buffer = weights_[static_cast<std::size_t>(unit) % weights_.size()];
  if (buffer.unit != unit) {
    throw error::InternalError(fmt::format("the weights of {} are not here", name(unit)));
  }
  return buffer.values;
}

std::vector<float> Device::shard(int unit) {
  State& held = state(unit);
  if (!held.shard.empty()) {
    return whole_weights_ ? held.shard : std::exchange(held.shard, {});
  }
  if (!held.master_here) {
    throw error::InternalError(fmt::format("the shard of the weights of {} is not here", name(unit)));
  }
  return held.master;
}

void Device::restore(int unit, std::vector<float> whole) {
  weight_buffer(unit) = {unit, std::move(whole)};
}

void Device::drop(int unit) {
  if (weight_buffer(unit).unit == unit) {
    weight_buffer(unit) = {};
  }
}

void Device::copy_weights_in(int unit) {
  if (sharded_) {
    state(unit).shard = state(unit).master;
  } else {
    weight_buffer(unit) = {unit, state(unit).master};
  }
}

std::span<float> Device::accumulate(int unit) {
  Buffer& buffer = gradient_buffer(unit);
  if (buffer.unit == -1) {
    buffer = {unit, std::vector<float>(state(unit).master.size(), 0)};
  }
  if (buffer.unit != unit) {
    throw error::InternalError(
        fmt::format("the gradient buffer of {} still holds {}, not reduced yet", name(unit), name(buffer.unit)));
  }
  if (!state(unit).used.empty() || !state(unit).on_host.empty()) {
    throw error::InternalError(fmt::format("the gradient of {} grows after its use", name(unit)));
  }
  return buffer.values;
}

std::vector<float> Device::release_gradient(int unit) {
  Buffer& buffer = gradient_buffer(unit);
  if (buffer.unit != unit) {
    throw error::InternalError(fmt::format("there is no gradient of {} to reduce", name(unit)));
  }
  return std::exchange(buffer, {}).values;
}

void Device::add_reduced(int unit, const std::vector<float>& sum) {
  State& held = state(unit);
  if (held.reduced.empty()) {
    held.reduced.assign(sum.size(), 0);
  }
  for (std::size_t i = 0; i < sum.size(); ++i) {
    held.reduced[i] += sum[i];
  }
  held.reduced = only_owned(std::move(held.reduced), units_[static_cast<std::size_t>(unit)].owned);
}

std::vector<float>& Device::final_gradient(int unit) {
  Buffer& buffer = gradient_buffer(unit);
  if (!replicated_) {
    if (buffer.unit != unit) {
      throw error::InternalError(fmt::format("there is no gradient of {}", name(unit)));
    }
    return buffer.values;
  }
  if (buffer.unit == unit || state(unit).reduced.empty()) {
    throw error::InternalError(fmt::format("the gradient of {} is not reduced", name(unit)));
  }
  return state(unit).reduced;
}

void Device::copy_gradient_out(int unit) {
  state(unit).on_host = final_gradient(unit);
}

void Device::copy_state_in(int unit) {
  state(unit).master_here = true;
}

void Device::copy_state_out(int unit) {
  if (!state(unit).master_here) {
    throw error::InternalError(fmt::format("the optimizer state of {} is not here", name(unit)));
  }
  state(unit).master_here = false;
}

void Device::update(int unit, float rate) {
  if (!state(unit).master_here) {
    throw error::InternalError(fmt::format("the optimizer state of {} is not here", name(unit)));
  }
  apply(unit, final_gradient(unit), rate);
  state(unit).shard.clear();
  if (sharded_) {
    drop(unit);  // what was restored is out of date
  } else {
    weight_buffer(unit) = {unit, state(unit).master};
  }
}

void Device::update_on_host(int unit, float rate) {
  if (state(unit).on_host.empty()) {
    throw error::InternalError(fmt::format("the gradient of {} did not reach the host", name(unit)));
  }
  apply(unit, state(unit).on_host, rate);
}

const std::vector<float>& Device::used_gradient(int unit) const {
  return state(unit).used;
}

const std::vector<float>& Device::master(int unit) const {
  return state(unit).master;
}

Device::Buffer& Device::weight_buffer(int unit) {
  return weights_[static_cast<std::size_t>(unit) % weights_.size()];
}

Device::Buffer& Device::gradient_buffer(int unit) {
  return gradients_[static_cast<std::size_t>(unit) % gradients_.size()];
}

std::string Device::name(int unit) const {
  const Unit& at = units_[static_cast<std::size_t>(unit)];
  if (at.part.is_embedding() || at.part.is_head()) {
    return fmt::format("the {} (stage {})", at.part.is_head() ? "head" : "embedding", at.stage);
  }
  return fmt::format("layer {} (stage {})", at.layer, at.stage);
}

void Device::apply(int unit, const std::vector<float>& gradient, float rate) {
  State& held = state(unit);
  if (!held.used.empty()) {
    throw error::InternalError(fmt::format("{} is updated twice", name(unit)));
  }
  held.used = only_owned(gradient, units_[static_cast<std::size_t>(unit)].owned);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    held.master[i] -= rate * gradient[i];
  }
}

}  // namespace lamina::validate::numeric
