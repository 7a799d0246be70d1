#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/error/error.hpp"

/// YAML as a plain tree in which every value knows where it was written. Nothing outside tree.cpp sees yaml-cpp.
namespace lamina::scenario {

/// Line and column count from 1; 0: the whole source (an override from the command line, a default).
struct Position {
  std::shared_ptr<const std::string> source;
  int line = 0;
  int column = 0;

  [[nodiscard]] error::Location location() const;
};

struct TreeEntry;

struct Tree {
  enum class Kind { kNull, kScalar, kList, kMapping };

  Kind kind = Kind::kNull;
  Position position;
  std::string text;                ///< kScalar
  std::vector<Tree> items;         ///< kList
  std::vector<TreeEntry> entries;  ///< kMapping, in file order, keys unique

  [[nodiscard]] bool is_null() const { return kind == Kind::kNull; }

  [[nodiscard]] bool is_scalar() const { return kind == Kind::kScalar; }

  [[nodiscard]] bool is_mapping() const { return kind == Kind::kMapping; }

  /// nullptr when this is no mapping or has no such key.
  [[nodiscard]] const TreeEntry* find(std::string_view key) const;
  [[nodiscard]] TreeEntry* find(std::string_view key);

  /// Replaces or appends.
  void set(std::string_view key, Tree value);
  void erase(std::string_view key);
};

struct TreeEntry {
  std::string key;
  Position position;  ///< of the key
  Tree value;
};

[[nodiscard]] Tree scalar(std::string text, Position position);
[[nodiscard]] Tree mapping(Position position);

/// "nothing", "the text \"abc\"", "a list", "a mapping": what was read, for messages. Long texts are cut.
[[nodiscard]] std::string describe(const Tree& tree);

/// Limits that keep hostile or mistaken input from eating time and memory; far above what a scenario needs. yaml-cpp
/// reads dense flow collections at some 300 kB/s only, which bounds the size: the worst file takes about a second.
inline constexpr std::size_t kLargestFile = std::size_t{256} << 10;  ///< bytes
/// A hardware file of the scenario's own: measured tables are in it, as blocks of text (one value each), which are read
/// far faster than flow collections; kMostValues bounds those.
inline constexpr std::size_t kLargestHardwareFile = std::size_t{4} << 20;
inline constexpr int kMostValues = 100'000;  ///< values and keys after aliases are expanded
inline constexpr int kDeepestNesting = 64;

/// Parses one YAML document. `source` names it in messages; with `line_numbers` false all positions are the whole
/// source. Aliases are expanded; merge keys (`<<`) are ordinary, hence unknown, keys.
/// @throws ScenarioError: syntax, NUL or other control bytes, text that is not UTF-8, a key twice in one mapping, a key
/// that
///   is no text, several documents, nesting or size over the limits, an alias that contains itself
[[nodiscard]] Tree parse_yaml(std::string_view text, const std::string& source, bool line_numbers = true);

}  // namespace lamina::scenario
