#pragma once

#include <string>

#include "sim/catalog/catalog.hpp"
#include "sim/error/error.hpp"

namespace lamina::pipeline {

/// The plug-in that a scenario names; the loader has checked that there is one.
template <class Interface>
[[nodiscard]] const Interface& chosen(const catalog::Catalog<Interface>& catalog, const std::string& name) {
  const auto* entry = catalog.find(name);
  if (entry == nullptr) {
    throw error::InternalError("the scenario loader let an unknown plug-in pass: " + name);
  }
  return *entry->implementation;
}

}  // namespace lamina::pipeline
