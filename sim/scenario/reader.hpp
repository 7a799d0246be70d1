#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/fault.hpp"
#include "sim/scenario/schema.hpp"
#include "sim/scenario/tree.hpp"
#include "sim/units/quantity.hpp"

namespace lamina::scenario {

/// Value of a numeric key in SI base units (booleans 0 or 1), checked against the key's kind and range.
/// `path` is the key's path for messages.
/// @throws ScenarioError
[[nodiscard]] double read_numeric(const KeySpec& spec, const Tree& value, const std::string& path);

/// Word of a text or choice key, checked against its choices.
[[nodiscard]] std::string read_word(const KeySpec& spec, const Tree& value, const std::string& path);

/// Typed access to one mapping through its section of the schema: values that are absent come from the table's default,
/// and a key that the table does not know cannot be asked for (InternalError).
class SectionReader {
 public:
  /// Expands the section's shorthand, then checks that the value is a mapping, that it has no unknown key and that no
  /// required key is missing. @throws ScenarioError
  SectionReader(const Section& section, Tree value, std::string path);

  [[nodiscard]] bool has(std::string_view key) const { return tree_.find(key) != nullptr; }

  /// nullptr if absent.
  [[nodiscard]] const Tree* value(std::string_view key) const;
  [[nodiscard]] std::string path(std::string_view key) const;

  [[nodiscard]] int integer(std::string_view key) const { return static_cast<int>(number(key)); }

  [[nodiscard]] std::int64_t large_integer(std::string_view key) const {
    return static_cast<std::int64_t>(number(key));
  }

  [[nodiscard]] double number(std::string_view key) const;

  [[nodiscard]] bool boolean(std::string_view key) const { return number(key) != 0; }

  [[nodiscard]] std::string text(std::string_view key) const;

  template <class Quantity>
  [[nodiscard]] Quantity quantity(std::string_view key) const {
    return Quantity(number(key));
  }

  [[nodiscard]] std::int64_t large_integer_or(std::string_view key, std::int64_t otherwise) const {
    return has(key) ? large_integer(key) : otherwise;
  }

  [[nodiscard]] std::string text_or(std::string_view key, const std::string& otherwise) const {
    return has(key) ? text(key) : otherwise;
  }

  /// Fails with the parent's place unless the key is there.
  void require(std::string_view key) const;
  /// Fails at the key's value, or at the mapping when the key is absent.
  [[noreturn]] void fail_at(std::string_view key, const Detail& detail) const;

  [[nodiscard]] const Tree& tree() const { return tree_; }

  [[nodiscard]] const Section& section() const { return section_; }

 private:
  [[nodiscard]] const KeySpec& spec(std::string_view key) const;

  const Section& section_;
  Tree tree_;
  std::string path_;
};

/// Opens every item of a list of mappings (kItems). @throws ScenarioError: no list, an item that is no mapping, an
/// unknown kind, and what SectionReader refuses
[[nodiscard]] std::vector<SectionReader> read_items(const Schema& schema, const KeySpec& spec, const Tree& value,
                                                    const std::string& path);

/// "a, b and c".
[[nodiscard]] std::string enumerate(const std::vector<std::string>& words);

/// "more than 0", "1 to 1024", "" when unlimited; quantities in the SI base unit.
[[nodiscard]] std::string describe_range(const KeySpec& spec);

/// " B/s", with the blank: the SI base unit of a quantity, "" for other kinds.
[[nodiscard]] std::string unit_of(ValueKind kind);

/// Reads a plug-in choice: `name`, or `{name: ..., parameters}`; `default_name` when there is no value or no name in
/// it. Paths of files are taken from `folder` unless they come from the command line.
[[nodiscard]] PluginChoice read_plugin(const Schema& schema, std::string_view kind, const Tree* value,
                                       const std::string& default_name, const Position& parent, const std::string& path,
                                       const std::filesystem::path& folder);

}  // namespace lamina::scenario
