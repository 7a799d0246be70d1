#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/scenario/loader.hpp"
#include "sim/scenario/sweep_spec.hpp"

namespace lamina::sweep {

/// What names stand for at one combination of a sweep: values of axes, values computed from them, and the sizes of the
/// strategy, the model and the cluster. Models and clusters are read once per combination of the axes that touch them.
class NameTable {
 public:
  using Value = tl::expected<scenario::Operand, std::string>;

  /// Both must outlive the table.
  NameTable(const scenario::Loader& loader, const scenario::SweepSpec& spec);

  /// `steps[f]`: which step of factor f.
  void choose(std::span<const std::uint32_t> steps);

  /// The setting of a key; nullptr: as in the file.
  [[nodiscard]] const scenario::Setting* setting(std::size_t column) const { return settings_[column]; }

  [[nodiscard]] const scenario::SweptKey& key(std::size_t column) const { return keys_[column]; }

  /// A computed value as it would stand in the file.
  [[nodiscard]] std::string text_of(std::size_t column, const scenario::Operand& value) const;

  /// The value, or why there is none. @throws ScenarioError for values that depend on each other in a circle
  [[nodiscard]] Value evaluate(const scenario::Expression& expression);

 private:
  /// What a name means, whatever the combination.
  struct Binding {
    std::optional<std::size_t> column;
    std::string size;  ///< without alias
  };

  [[nodiscard]] const std::vector<Binding>& bindings(const scenario::Expression& expression);
  [[nodiscard]] Value value_of(const Binding& binding);
  [[nodiscard]] Value value_of_column(std::size_t column);
  [[nodiscard]] Value size_of(const std::string& name);
  [[nodiscard]] tl::expected<double, std::string> number_of(const std::string& name);
  [[nodiscard]] bool is_given(const std::string& strategy_key) const;
  [[nodiscard]] Value product(const std::vector<std::string>& names);
  [[nodiscard]] Value hardware_size(const std::string& name);

  const scenario::Loader& loader_;
  const scenario::SweepSpec& spec_;
  std::vector<scenario::SweptKey> keys_;
  std::vector<std::string> key_names_;
  std::vector<std::size_t> hardware_columns_;  ///< keys under model and cluster
  std::map<std::string, double> strategy_;
  std::map<const scenario::Expression*, std::vector<Binding>> bindings_;
  std::map<std::string, tl::expected<std::map<std::string, double>, std::string>> hardware_;
  std::vector<const scenario::Setting*> settings_;
  std::vector<bool> in_progress_;
};

}  // namespace lamina::sweep
