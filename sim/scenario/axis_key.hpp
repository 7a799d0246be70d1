#pragma once

#include <string>

#include "sim/scenario/resolve.hpp"
#include "sim/scenario/sweep_spec.hpp"

/// Keys of a sweep's axes, and values for them.
namespace lamina::scenario {

/// A key that an axis varies.
struct AxisKey {
  std::string name;               ///< full dotted key
  const KeySpec* spec = nullptr;  ///< nullptr where the table does not reach (parameters of several plug-ins)
};

/// @throws ScenarioError: no such key (with the nearest)
[[nodiscard]] AxisKey find_axis_key(const Schema& schema, const std::string& key, const Position& position);

/// One value, checked as far as the key alone allows.
/// @throws ScenarioError: wrong kind, out of range, unknown name
[[nodiscard]] Setting read_setting(const Context& context, const AxisKey& key, const Tree& value);

[[nodiscard]] SweptKey swept(const AxisKey& key);

/// "{name: interleaved, micro_batch_group_size: 8}", on one line.
[[nodiscard]] std::string flow_text(const Tree& tree);

}  // namespace lamina::scenario
