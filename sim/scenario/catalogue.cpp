#include "sim/scenario/catalogue.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "sim/catalog/catalog.hpp"
#include "sim/error/error.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/scenario/merge.hpp"
#include "sim/scenario/reader.hpp"
#include "sim/scenario/text_file.hpp"

namespace lamina::scenario {
namespace {

constexpr std::string_view kFamilies = "families";
constexpr std::string_view kCalibration = "calibration";
constexpr std::string_view kFamilyName = "x<N>";
constexpr int kLargestMember = 1000;
constexpr int kLongestChain = 8;  ///< entries that are based on entries

std::vector<std::filesystem::path> yaml_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code status;
  for (std::filesystem::directory_iterator entry(folder, status), end; !status && entry != end;
       entry.increment(status)) {
    if (entry->path().extension() == ".yaml") {
      files.push_back(entry->path());
    }
  }
  if (status) {
    throw error::EnvironmentError(
        fmt::format("{}: the catalogue folder cannot be read: {}", folder.string(), status.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_of(const Tree& entry, std::string_view key) {
  const TreeEntry* found = entry.find(key);
  return found != nullptr && found->value.is_scalar() ? found->value.text : "";
}

std::string changed_keys(const Tree& changes) {
  std::string keys;
  for (const TreeEntry& change : changes.entries) {
    keys += (keys.empty() ? "" : ", ") + change.key;
  }
  return keys;
}

/// "x-160", "X_160" and "x0160" are what people write for x160. "" beyond the family.
std::string nearest_member(std::string_view name) {
  if (name.empty() || (name[0] != 'x' && name[0] != 'X')) {
    return "";
  }
  std::string_view digits = name.substr(1);
  const std::size_t first = digits.find_first_not_of("-_ ");
  digits = first == std::string_view::npos ? "" : digits.substr(first);
  const bool all_digits = !digits.empty() && digits.size() < 5 &&
                          std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!all_digits) {
    return "";
  }
  int layers = 0;
  for (const char digit : digits) {
    layers = 10 * layers + (digit - '0');
  }
  return layers >= 1 && layers <= kLargestMember ? fmt::format("x{}", layers) : "";
}

/// The first name that `typed` begins ("dgx-a100" for dgx-a100-40gb), else the nearest one.
std::string likeliest_name(const std::string& typed, const std::vector<std::string>& names) {
  constexpr std::size_t kShortestPrefix = 3;
  const auto longer = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return typed.size() >= kShortestPrefix && name.starts_with(typed);
  });
  return longer != names.end() ? *longer : catalog::nearest_name(typed, names);
}

}  // namespace

bool make_family_member(const std::string& name, const Position& position, Tree& model) {
  int n = 0;
  const char* end = name.data() + name.size();
  const bool well_formed = name.size() > 1 && name[0] == 'x' && name[1] >= '1' && name[1] <= '9';
  if (!well_formed) {
    return false;
  }
  const auto [stop, status] = std::from_chars(name.data() + 1, end, n);
  if (status != std::errc() || stop != end || n > kLargestMember) {
    return false;
  }
  const bool even = n % 2 == 0;
  model = mapping(position);
  const auto set = [&](std::string_view key, std::string value) { model.set(key, scalar(std::move(value), position)); };
  set("name", name);
  set("layers", fmt::format("{}", n));
  set("hidden", fmt::format("{}", n * n));
  set("sequence_length", fmt::format("{}", 16 * n));
  set("heads", fmt::format("{}", even ? n / 2 : n));
  set("head_size", fmt::format("{}", even ? 2 * n : n));
  set("feed_forward", fmt::format("{}", 4 * n * n));
  set("vocabulary", "0");
  set("biases", "false");
  return true;
}

Catalogue::Catalogue(const std::filesystem::path& folder, const Schema& schema) : schema_(schema) {
  for (const std::string_view part : {"models", "hardware"}) {
    for (const std::filesystem::path& file : yaml_files(folder / part)) {
      read_file(parse_yaml(read_text_file(file, kLargestFile), file.string()), part, {std::string(kFamilies)});
    }
  }
}

void Catalogue::add_hardware_file(const std::filesystem::path& file) {
  read_file(parse_yaml(read_text_file(file, kLargestHardwareFile), file.string()), "hardware",
            {std::string(kCalibration)});
}

void Catalogue::read_file(const Tree& root, std::string_view folder, const std::vector<std::string>& passed_over) {
  std::vector<std::string> allowed;
  for (const CatalogueKind& kind : catalogue_kinds()) {
    if (kind.folder == folder) {
      allowed.emplace_back(kind.plural);
    }
  }
  allowed.insert(allowed.end(), passed_over.begin(), passed_over.end());
  if (!root.is_mapping()) {
    fail(root.position.location(), "", {"A catalogue file is a mapping.", describe(root), enumerate(allowed)});
  }
  for (const TreeEntry& group : root.entries) {
    const bool known = std::find(allowed.begin(), allowed.end(), group.key) != allowed.end();
    if (!known || !group.value.is_mapping()) {
      fail(group.position.location(), group.key,
           {"A catalogue file holds mappings from names to definitions.", "", enumerate(allowed),
            known ? "" : catalog::nearest_name(group.key, allowed)});
    }
    for (const TreeEntry& entry : group.value.entries) {
      if (group.key == kFamilies) {
        families_[entry.key] = entry.value;
      }
      for (const CatalogueKind& kind : catalogue_kinds()) {
        if (kind.plural == group.key) {
          add_entry(kind.kind, entry);
        }
      }
    }
  }
}

void Catalogue::add_entry(std::string_view kind, const TreeEntry& entry) {
  Tree definition = entry.value;
  if (!definition.is_mapping()) {
    fail(definition.position.location(), entry.key, {"A catalogue entry is a mapping.", describe(definition)});
  }
  if (definition.find("name") == nullptr) {
    definition.set("name", scalar(entry.key, entry.position));
  }
  const bool fresh = entries_[std::string(kind)].emplace(entry.key, std::move(definition)).second;
  if (!fresh) {
    fail(entry.position.location(), entry.key, {fmt::format("The catalogue has two entries of this name ({}).", kind)});
  }
}

Tree Catalogue::entry(std::string_view kind, const Tree& name, const std::string& path) const {
  if (!name.is_scalar()) {
    fail(name.position.location(), path,
         {"The value has the wrong type.", describe(name), "the name of a catalogue entry"});
  }
  if (kind == "model") {
    Tree member;
    if (make_family_member(name.text, name.position, member)) {
      const auto family = families_.find(std::string(kFamilyName));
      member.set("source", scalar(family == families_.end() ? "" : text_of(family->second, "source"), name.position));
      return member;
    }
  }
  std::vector<std::string> names;
  if (const auto group = entries_.find(kind); group != entries_.end()) {
    if (const auto found = group->second.find(name.text); found != group->second.end()) {
      return found->second;
    }
    for (const auto& [known, definition] : group->second) {
      names.push_back(known);
    }
  }
  std::string nearest = kind == "model" ? nearest_member(name.text) : "";
  if (nearest.empty()) {
    nearest = likeliest_name(name.text, names);
  }
  if (kind == "model") {
    names.emplace_back("x1 to x1000");
  }
  fail(name.position.location(), path,
       {fmt::format("The catalogue has no {} of this name.", kind), describe(name), enumerate(names), nearest});
}

Tree Catalogue::resolve(std::string_view kind, Tree value, const std::string& path) const {
  return resolve(kind, std::move(value), path, 0);
}

Tree Catalogue::resolve(std::string_view kind, Tree value, const std::string& path, int depth) const {
  const Section& section = schema_.section(kind);
  const Position position = value.position;
  const bool bare_name = value.is_scalar();
  value = expand_shorthand(section, std::move(value));
  if (!value.is_mapping() || value.find("base") == nullptr) {
    return value;  // a whole definition, or a wrong type that the reader reports
  }
  if (depth > kLongestChain) {
    fail(position.location(), path, {"Catalogue entries are based on each other in a circle."});
  }
  Tree base = resolve(kind, entry(kind, value.find("base")->value, path), path, depth + 1);
  value.erase("base");
  if (!bare_name && depth == 0 && !value.entries.empty()) {
    const std::string source = text_of(base, "source");
    if (value.find("source") == nullptr) {
      base.set("source", scalar(fmt::format("{}{}changed in the scenario: {}", source, source.empty() ? "" : "; ",
                                            changed_keys(value)),
                                position));
    }
    base.set("name", scalar(text_of(base, "name") + " (changed)", position));
  }
  Tree whole = overlay(schema_, section, std::move(base), value);
  whole.position = position;
  return whole;
}

std::vector<CatalogueEntry> Catalogue::list() const {
  std::vector<CatalogueEntry> result;
  for (const auto& [kind, group] : entries_) {
    for (const auto& [name, definition] : group) {
      const Tree whole = resolve(kind, definition, name, 1);
      result.push_back({kind, name, text_of(whole, "summary"), text_of(whole, "source")});
    }
  }
  for (const auto& [name, definition] : families_) {
    result.push_back({"model", name, text_of(definition, "summary"), text_of(definition, "source")});
  }
  std::sort(result.begin(), result.end(), [](const CatalogueEntry& a, const CatalogueEntry& b) {
    return std::pair(a.kind, a.name) < std::pair(b.kind, b.name);
  });
  return result;
}

}  // namespace lamina::scenario
