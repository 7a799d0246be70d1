#include "sim/catalog/parameters.hpp"

#include <utility>

#include "sim/error/error.hpp"

namespace lamina::catalog {

void Parameters::set_number(std::string name, double value) { numbers_[std::move(name)] = value; }

void Parameters::set_choice(std::string name, std::string value) { choices_[std::move(name)] = std::move(value); }

int Parameters::integer(std::string_view name) const { return static_cast<int>(number(name)); }

double Parameters::number(std::string_view name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) {
    throw error::InternalError("parameter was not declared: " + std::string(name));
  }
  return found->second;
}

bool Parameters::boolean(std::string_view name) const { return number(name) != 0; }

const std::string& Parameters::choice(std::string_view name) const {
  const auto found = choices_.find(name);
  if (found == choices_.end()) {
    throw error::InternalError("parameter was not declared: " + std::string(name));
  }
  return found->second;
}

bool Parameters::has(std::string_view name) const { return numbers_.contains(name) || choices_.contains(name); }

}  // namespace lamina::catalog
