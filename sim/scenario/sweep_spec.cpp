#include "sim/scenario/sweep_spec.hpp"

#include "sim/scenario/schema.hpp"

namespace lamina::scenario {

std::vector<std::string> SweepSpec::keys() const {
  std::vector<std::string> names;
  for (const Factor& factor : factors) {
    for (const SweptKey& key : factor.keys) {
      names.push_back(key.name);
    }
  }
  return names;
}

const std::vector<std::string>& size_names() {
  static const std::vector<std::string> names = {
      "data_parallel", "pipeline_parallel", "tensor_parallel", "micro_batch_size",
      "micro_batches", "global_batch",      "ranks",           "layers",
      "hidden",        "sequence_length",   "heads",           "key_value_heads",
      "head_size",     "feed_forward",      "vocabulary",      "nodes",
      "devices",       "devices_per_node"};
  return names;
}

std::string without_alias(const std::string& name) {
  for (const Alias& alias : override_aliases()) {
    if (alias.name == name) {
      return std::string(alias.key.substr(alias.key.rfind('.') + 1));
    }
  }
  return name;
}

std::optional<std::size_t> axis_named(const std::string& name, const std::vector<std::string>& keys) {
  const std::string plain = without_alias(name);
  std::optional<std::size_t> found;
  bool twice = false;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == name || keys[i] == "strategy." + plain) {
      return i;
    }
    const bool is_size = std::find(size_names().begin(), size_names().end(), plain) != size_names().end();
    if (!is_size && (keys[i].ends_with('.' + plain) || keys[i] == plain)) {
      twice = found.has_value();
      found = i;
    }
  }
  return twice ? std::nullopt : found;
}

}  // namespace lamina::scenario
