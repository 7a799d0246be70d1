#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/catalog/parameters.hpp"
#include "sim/error/error.hpp"

namespace lamina::catalog {

/// The name in `candidates` with the least edit distance to `name`, or "" when nothing is near (distance over a third of
/// the longer name).
[[nodiscard]] std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// Registered implementations of one interface, in registration order (alphabetical by file: see CMake's glob).
template <class Interface>
class Catalog {
 public:
  struct Entry {
    PluginInfo info;
    std::unique_ptr<const Interface> implementation;
  };

  void add(PluginInfo info, std::unique_ptr<const Interface> implementation) {
    if (find(info.name) != nullptr) {
      throw error::InternalError("plug-in registered twice: " + info.name);
    }
    entries_.push_back({std::move(info), std::move(implementation)});
  }

  /// nullptr when there is no such name.
  [[nodiscard]] const Entry* find(std::string_view name) const {
    for (const Entry& entry : entries_) {
      if (entry.info.name == name) {
        return &entry;
      }
    }
    return nullptr;
  }

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

  [[nodiscard]] std::vector<PluginInfo> infos() const {
    std::vector<PluginInfo> result;
    for (const Entry& entry : entries_) {
      result.push_back(entry.info);
    }
    return result;
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace lamina::catalog
