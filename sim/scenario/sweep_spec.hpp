#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/expression.hpp"
#include "sim/scenario/tree.hpp"

/// What a sweep varies, read and checked: plain values.
namespace lamina::scenario {

/// A value of one key at one step of an axis.
struct Setting {
  std::string text;                      ///< as in tables: "8", "400 Gbit/s", "{name: interleaved, ...}"
  Tree value;                            ///< without meaning when there is an expression
  std::optional<Operand> operand;        ///< in expressions: numbers in SI base units, words; mappings have none
  std::optional<Expression> expression;  ///< the value follows from the others
  Position position;
};

struct SweptKey {
  std::string name;    ///< full dotted key
  bool whole = false;  ///< takes whole numbers only
  std::string unit;    ///< " B/s": what a computed number is followed by
};

/// Keys that advance together: an axis has one, a zip group several, a list of points all that occur in it.
struct Factor {
  std::vector<SweptKey> keys;
  std::vector<std::vector<std::optional<Setting>>> steps;  ///< [step][key]; no value: as in the file
};

struct Filter {
  Expression condition;
  Position position;
};

struct SweepSpec {
  std::vector<Factor> factors;  ///< the first one varies slowest; points of `list` come first
  std::vector<Filter> filters;  ///< all must hold
  std::int64_t limit = 0;       ///< most points

  [[nodiscard]] bool empty() const { return factors.empty(); }

  /// All keys, in the order of the factors.
  [[nodiscard]] std::vector<std::string> keys() const;
};

/// Names that expressions know beside the keys of the axes.
[[nodiscard]] const std::vector<std::string>& size_names();

/// The axis, as an index into `keys`, that an expression means: the whole key, its last part ("tensor_parallel"), or an
/// alias ("tp"). Nothing when none, or when two keys end in that name and neither is a strategy key.
[[nodiscard]] std::optional<std::size_t> axis_named(const std::string& name, const std::vector<std::string>& keys);

/// "tensor_parallel" for "tp"; other names as they are.
[[nodiscard]] std::string without_alias(const std::string& name);

}  // namespace lamina::scenario
