#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace lamina::deployment {

/// Distinct values, numbered by first appearance: millions of ranks, links and paths are of a handful of kinds.
template <class Value, class Hash>
class Kinds {
 public:
  /// Number of `value`, which is added if it is new.
  std::int32_t number_of(const Value& value) {
    if (last_ < values_.size() && values_[last_] == value) {
      return static_cast<std::int32_t>(last_);
    }
    const auto [entry, is_new] = numbers_.try_emplace(value, static_cast<std::int32_t>(values_.size()));
    if (is_new) {
      values_.push_back(value);
    }
    last_ = static_cast<std::size_t>(entry->second);
    return entry->second;
  }

  [[nodiscard]] const Value& at(std::int32_t number) const { return values_[static_cast<std::size_t>(number)]; }

  [[nodiscard]] const std::vector<Value>& values() const { return values_; }

 private:
  std::vector<Value> values_;
  std::unordered_map<Value, std::int32_t, Hash> numbers_;
  std::size_t last_ = 0;
};

}  // namespace lamina::deployment
