#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/schema.hpp"

/// Words in which the tables of schema_*.cpp are written.
namespace lamina::scenario {

inline KeySpec key(std::string name, ValueKind kind, std::string help) {
  KeySpec spec;
  spec.name = std::move(name);
  spec.kind = kind;
  spec.help = std::move(help);
  return spec;
}

inline KeySpec required(KeySpec spec) {
  spec.required = true;
  return spec;
}

/// A default as it would be written in the file.
inline KeySpec with_default(std::string value, KeySpec spec) {
  spec.default_value = std::move(value);
  return spec;
}

/// A default that depends on other keys, in words.
inline KeySpec with_default_text(std::string text, KeySpec spec) {
  spec.default_text = std::move(text);
  return spec;
}

inline KeySpec positive(KeySpec spec) {
  spec.minimum = 0;
  spec.minimum_excluded = true;
  return spec;
}

inline KeySpec not_negative(KeySpec spec) {
  spec.minimum = 0;
  return spec;
}

inline KeySpec at_least(double minimum, KeySpec spec) {
  spec.minimum = minimum;
  return spec;
}

inline KeySpec between(double minimum, double maximum, KeySpec spec) {
  spec.minimum = minimum;
  spec.maximum = maximum;
  return spec;
}

inline KeySpec one_of(std::vector<std::string> choices, KeySpec spec) {
  spec.choices = std::move(choices);
  return spec;
}

inline KeySpec to(std::string target, KeySpec spec) {
  spec.target = std::move(target);
  return spec;
}

/// A list of mappings, described by the sections "target KIND".
inline KeySpec items(std::string target, std::vector<std::string> kinds, std::string name, std::string help) {
  KeySpec spec = key(std::move(name), ValueKind::kItems, std::move(help));
  spec.target = std::move(target);
  spec.choices = std::move(kinds);
  return spec;
}

inline KeySpec instead_of(std::string sibling, KeySpec spec) {
  spec.replaces = std::move(sibling);
  return spec;
}

}  // namespace lamina::scenario
