#include "sim/scenario/reader.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "sim/catalog/catalog.hpp"
#include "sim/catalog/likely_name.hpp"
#include "sim/error/error.hpp"
#include "sim/scenario/merge.hpp"
#include "sim/units/parse.hpp"

namespace lamina::scenario {
namespace {

template <class Value>
units::Parsed<double> as_number(const units::Parsed<Value>& parsed) {
  if (!parsed) {
    return tl::unexpected(parsed.error());
  }
  if constexpr (requires { parsed->value(); }) {
    return parsed->value();
  } else {
    return static_cast<double>(*parsed);
  }
}

units::Parsed<double> parse_boolean(std::string_view text) {
  if (text == "true" || text == "false") {
    return text == "true" ? 1.0 : 0.0;
  }
  return tl::unexpected(units::ParseError{"this is neither true nor false", "true or false", ""});
}

units::Parsed<double> parse_as(ValueKind kind, const std::string& text) {
  switch (kind) {
    case ValueKind::kInteger:
      return as_number(units::parse_integer(text));
    case ValueKind::kNumber:
      return as_number(units::parse_number(text));
    case ValueKind::kBoolean:
      return parse_boolean(text);
    case ValueKind::kSeconds:
      return as_number(units::parse_seconds(text));
    case ValueKind::kBytes:
      return as_number(units::parse_bytes(text));
    case ValueKind::kBytesPerSecond:
      return as_number(units::parse_bytes_per_second(text));
    case ValueKind::kFlops:
      return as_number(units::parse_flops(text));
    case ValueKind::kFlopsPerSecond:
      return as_number(units::parse_flops_per_second(text));
    default:
      throw error::InternalError("a key that is no number was read as one");
  }
}

std::string expected_shape(ValueKind kind) {
  switch (kind) {
    case ValueKind::kInteger:
      return "a whole number";
    case ValueKind::kNumber:
      return "a number";
    case ValueKind::kBoolean:
      return "true or false";
    case ValueKind::kSeconds:
      return "a time with its unit, for example \"5 us\"";
    case ValueKind::kBytes:
      return "a size with its unit, for example \"80 GiB\"";
    case ValueKind::kBytesPerSecond:
      return "a rate with its unit, for example \"400 Gbit/s\"";
    case ValueKind::kFlops:
      return "an amount of work with its unit, for example \"1.5 TFLOP\"";
    case ValueKind::kFlopsPerSecond:
      return "a rate of work with its unit, for example \"312 TFLOP/s\"";
    case ValueKind::kFile:
      return "the path of a file";
    default:
      return "a word";
  }
}

void require_scalar(const KeySpec& spec, const Tree& value, const std::string& path) {
  if (!value.is_scalar()) {
    const std::string allowed = spec.choices.empty() ? expected_shape(spec.kind) : enumerate(spec.choices);
    fail(value.position.location(), path,
         {value.is_null() ? "The key has no value." : "The value has the wrong type.", describe(value), allowed});
  }
}

std::string sentence(std::string clause) {
  clause[0] = static_cast<char>(clause[0] >= 'a' && clause[0] <= 'z' ? clause[0] - 'a' + 'A' : clause[0]);
  return clause + ".";
}

/// "must be positive" reads better than "outside the range" for the commonest mistakes.
std::string range_problem(const KeySpec& spec, double value) {
  if (value < 0 && spec.minimum >= 0) {
    return "The value must not be negative.";
  }
  if (value == 0 && (spec.minimum > 0 || spec.minimum_excluded)) {
    return "The value must not be zero.";
  }
  return "The value is out of range.";
}

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

void refuse_unknown_keys(const Section& section, const Tree& tree, const std::string& path) {
  for (const TreeEntry& entry : tree.entries) {
    if (section.find(entry.key) != nullptr) {
      continue;
    }
    std::string problem = "There is no such key.";
    if (entry.key == "<<") {
      problem = "YAML merge keys are not supported; catalogue entries can be changed with `base:`.";
    }
    fail(entry.position.location(), joined(path, entry.key.substr(0, 80)),
         {problem, "", enumerate(section.key_names()), catalog::nearest_name(entry.key, section.key_names())});
  }
}

}  // namespace

std::string unit_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::kSeconds:
      return " s";
    case ValueKind::kBytes:
      return " B";
    case ValueKind::kBytesPerSecond:
      return " B/s";
    case ValueKind::kFlops:
      return " FLOP";
    case ValueKind::kFlopsPerSecond:
      return " FLOP/s";
    default:
      return "";
  }
}

std::string enumerate(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  return text;
}

std::string describe_range(const KeySpec& spec) {
  const bool below = spec.minimum > -1e300;
  const bool above = spec.maximum < 1e300;
  const std::string unit = unit_of(spec.kind);
  const auto format = [&](double bound) {
    return bound == static_cast<double>(static_cast<std::int64_t>(bound))
               ? fmt::format("{}{}", static_cast<std::int64_t>(bound), unit)
               : fmt::format("{}{}", bound, unit);
  };
  if (below && above) {
    return spec.minimum == spec.maximum ? format(spec.minimum)
           : spec.minimum_excluded ? fmt::format("more than {}, at most {}", format(spec.minimum), format(spec.maximum))
                                   : fmt::format("{} to {}", format(spec.minimum), format(spec.maximum));
  }
  if (below) {
    return fmt::format("{} {}", spec.minimum_excluded ? "more than" : "at least", format(spec.minimum));
  }
  return above ? fmt::format("at most {}", format(spec.maximum)) : "";
}

double read_numeric(const KeySpec& spec, const Tree& value, const std::string& path) {
  require_scalar(spec, value, path);
  const units::Parsed<double> number = parse_as(spec.kind, value.text);
  if (!number) {
    fail(value.position.location(), path,
         {sentence(number.error().problem), describe(value), number.error().allowed, number.error().nearest});
  }
  const bool too_small = *number < spec.minimum || (spec.minimum_excluded && *number == spec.minimum);
  if (too_small || *number > spec.maximum) {
    fail(value.position.location(), path, {range_problem(spec, *number), describe(value), describe_range(spec)});
  }
  return *number;
}

std::string read_word(const KeySpec& spec, const Tree& value, const std::string& path) {
  require_scalar(spec, value, path);
  const bool known =
      spec.choices.empty() || std::find(spec.choices.begin(), spec.choices.end(), value.text) != spec.choices.end();
  if (!known) {
    fail(value.position.location(), path,
         {"The value is none of the choices.", describe(value), enumerate(spec.choices),
          catalog::likely_name(value.text, spec.choices)});
  }
  return value.text;
}

SectionReader::SectionReader(const Section& section, Tree value, std::string path)
    : section_(section), tree_(expand_shorthand(section, std::move(value))), path_(std::move(path)) {
  if (!tree_.is_mapping()) {
    fail(tree_.position.location(), path_,
         {tree_.is_null() ? "The key has no value." : "The value has the wrong type.", describe(tree_),
          "a mapping with " + enumerate(section_.key_names())});
  }
  refuse_unknown_keys(section_, tree_, path_);
  for (const KeySpec& spec : section_.keys) {
    if (spec.required) {
      require(spec.name);
    }
  }
}

const KeySpec& SectionReader::spec(std::string_view key) const {
  const KeySpec* found = section_.find(key);
  if (found == nullptr) {
    throw error::InternalError(fmt::format("the scenario schema has no key \"{}\" in \"{}\"", key, section_.name));
  }
  return *found;
}

const Tree* SectionReader::value(std::string_view key) const {
  const TreeEntry* entry = tree_.find(spec(key).name);
  return entry == nullptr ? nullptr : &entry->value;
}

std::string SectionReader::path(std::string_view key) const {
  return joined(path_, key);
}

double SectionReader::number(std::string_view key) const {
  const KeySpec& known = spec(key);
  const Tree* found = value(key);
  if (found == nullptr && known.default_value.empty()) {
    throw error::InternalError(fmt::format("the key \"{}\" has no default and was read without asking", path(key)));
  }
  return read_numeric(known, found == nullptr ? scalar(known.default_value, tree_.position) : *found, path(key));
}

std::string SectionReader::text(std::string_view key) const {
  const KeySpec& known = spec(key);
  const Tree* found = value(key);
  return found == nullptr ? known.default_value : read_word(known, *found, path(key));
}

void SectionReader::require(std::string_view key) const {
  if (has(key)) {
    return;
  }
  const KeySpec& missing = spec(key);
  const std::string allowed = missing.choices.empty() ? "" : enumerate(missing.choices);
  fail(tree_.position.location(), path(key),
       {fmt::format("The key \"{}\" is missing. {}", key, missing.help), "", allowed});
}

void SectionReader::fail_at(std::string_view key, const Detail& detail) const {
  const TreeEntry* entry = tree_.find(key);
  const Position& position = entry == nullptr ? tree_.position : entry->value.position;
  fail(position.location(), path(key), detail);
}

std::vector<SectionReader> read_items(const Schema& schema, const KeySpec& spec, const Tree& value,
                                      const std::string& path) {
  if (value.kind != Tree::Kind::kList) {
    fail(value.position.location(), path,
         {value.is_null() ? "The key has no value." : "The value has the wrong type.", describe(value),
          "a list of mappings: each line begins with \"- \""});
  }
  std::vector<SectionReader> readers;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    const Tree& item = value.items[i];
    const std::string place = fmt::format("{}.{}", path, i);
    const TreeEntry* kind = item.find("kind");
    if (!spec.choices.empty() && item.is_mapping() && kind == nullptr) {
      fail(item.position.location(), place + ".kind", {"The key \"kind\" is missing.", "", enumerate(spec.choices)});
    }
    const Section* section = schema.item_section(spec, kind == nullptr ? "" : kind->value.text);
    if (section == nullptr && kind != nullptr) {
      fail(kind->value.position.location(), place + ".kind",
           {"There is no such kind.", describe(kind->value), enumerate(spec.choices),
            catalog::likely_name(kind->value.text, spec.choices)});
    }
    if (section == nullptr) {
      fail(item.position.location(), place, {"The value has the wrong type.", describe(item), "a mapping with `kind`"});
    }
    readers.emplace_back(*section, item, place);
  }
  return readers;
}

namespace {

std::string read_path(const SectionReader& reader, const std::string& key, const std::filesystem::path& folder) {
  const Tree* value = reader.value(key);
  const bool from_command_line = value == nullptr || value->position.line == 0;
  const std::filesystem::path file = reader.text(key);
  return (from_command_line ? file : folder / file).string();
}

}  // namespace

PluginChoice read_plugin(const Schema& schema, std::string_view kind, const Tree* value,
                         const std::string& default_name, const Position& parent, const std::string& path,
                         const std::filesystem::path& folder) {
  Tree chosen = value == nullptr ? scalar(default_name, parent) : *value;
  if (chosen.is_scalar()) {
    Tree whole = mapping(chosen.position);
    whole.set("name", std::move(chosen));
    chosen = std::move(whole);
  }
  std::vector<std::string> names;
  for (const catalog::PluginInfo& plugin : schema.plugins(kind)) {
    names.push_back(plugin.name);
  }
  if (!chosen.is_mapping()) {
    fail(chosen.position.location(), path,
         {chosen.is_null() ? "The key has no value." : "The value has the wrong type.", describe(chosen),
          fmt::format("{}, or a mapping with `name` and parameters", enumerate(names))});
  }
  if (chosen.find("name") == nullptr) {
    chosen.set("name", scalar(default_name, chosen.position));
  }
  const Tree& name = chosen.find("name")->value;
  if (!name.is_scalar() || std::find(names.begin(), names.end(), name.text) == names.end()) {
    fail(name.position.location(), path,
         {fmt::format("There is no such {}.", kind), describe(name), enumerate(names),
          catalog::likely_name(name.text, names)});
  }
  PluginChoice choice;
  choice.name = name.text;
  const SectionReader reader(schema.plugin_section(kind, choice.name), chosen, path);
  for (const KeySpec& spec : reader.section().keys) {
    if (spec.name == "name") {
      continue;
    }
    if (spec.kind == ValueKind::kChoice) {
      choice.parameters.set_choice(spec.name, reader.text(spec.name));
    } else if (spec.kind == ValueKind::kFile) {
      choice.parameters.set_choice(spec.name, read_path(reader, spec.name, folder));
    } else {
      choice.parameters.set_number(spec.name, reader.number(spec.name));
    }
  }
  return choice;
}

}  // namespace lamina::scenario
