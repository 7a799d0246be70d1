#pragma once

#include <string>

#include "sim/error/error.hpp"

namespace lamina::scenario {

/// What a message says beside the place and the key; empty parts are left out.
struct Detail {
  std::string problem;
  std::string read = {};
  std::string allowed = {};
  std::string nearest = {};
};

/// Throws the ScenarioError.
[[noreturn]] void fail(const error::Location& location, const std::string& key, const Detail& detail);

}  // namespace lamina::scenario
