#include "sim/scenario/merge.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "sim/catalog/catalog.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/scenario/reader.hpp"

namespace lamina::scenario {
namespace {

constexpr std::string_view kEveryKey = "*";

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (true) {
    const std::size_t dot = path.find('.', start);
    parts.emplace_back(path.substr(start, dot - start));
    if (dot == std::string_view::npos) {
      return parts;
    }
    start = dot + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::size_t first) {
  std::string joined;
  for (std::size_t i = first; i < parts.size(); ++i) {
    joined += (i == first ? "" : ".") + parts[i];
  }
  return joined;
}

/// "strategy.recompute" for "recompute", which is not a key of the scenario itself but of one of its sections only.
std::string path_of_nested(const Schema& schema, const Section& top, const std::string& key) {
  std::string found;
  for (const KeySpec& spec : top.keys) {
    const bool has = spec.kind == ValueKind::kSection && schema.section(spec.target).find(key) != nullptr;
    if (has && !found.empty()) {
      return "";
    }
    found = has ? fmt::format("{}.{}", spec.name, key) : found;
  }
  return found;
}

void refuse_key_without_section(const Schema& schema, const std::vector<std::string>& path, const std::string& key,
                                const Position& position) {
  const Section& top = schema.section("scenario");
  if (top.find(path.front()) != nullptr) {
    return;
  }
  if (const std::string nested = path_of_nested(schema, top, path.front()); !nested.empty()) {
    fail(position.location(), key.substr(0, 80), {"There is no such key.", "", enumerate(top.key_names()), nested});
  }
}

/// The mapping under `key`, made or unfolded where needed.
Tree& descend(const Schema& schema, Tree& parent, const KeySpec* spec, const std::string& key,
              const Position& position) {
  TreeEntry* entry = parent.find(key);
  if (entry == nullptr) {
    parent.set(key, mapping(position));
    return parent.find(key)->value;
  }
  if (spec != nullptr && spec->kind == ValueKind::kPlugin && entry->value.is_scalar()) {
    Tree chosen = mapping(entry->value.position);
    chosen.set("name", std::move(entry->value));
    entry->value = std::move(chosen);
  } else if (spec != nullptr && !spec->target.empty() && spec->kind != ValueKind::kPlugin) {
    entry->value = expand_shorthand(schema.section(spec->target), std::move(entry->value));
  }
  if (!entry->value.is_mapping()) {
    entry->position = position;
    entry->value = mapping(position);
  }
  return entry->value;
}

/// The entry of a list that `index` names.
Tree& entry_of(Tree& list, const std::string& index, const std::string& key, const Position& position) {
  const bool digits = !index.empty() && index.size() < 7 &&
                      std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; });
  const std::size_t number = digits ? std::stoul(index) : list.items.size();
  if (number >= list.items.size()) {
    fail(position.location(), key.substr(0, 80),
         {"The list has no such entry.", fmt::format("\"{}\"", index.substr(0, 20)),
          list.items.empty() ? "none: the list is empty" : fmt::format("0 to {}", list.items.size() - 1)});
  }
  return list.items[number];
}

/// What describes the keys of `item` in the list `spec`; nullptr when that is not known.
const Section* section_of_item(const Schema& schema, const KeySpec& spec, const Tree& item) {
  const TreeEntry* kind = item.find("kind");
  return schema.item_section(spec, kind == nullptr ? "" : kind->value.text);
}

bool is_section_like(const KeySpec& spec) {
  return spec.kind == ValueKind::kSection || spec.kind == ValueKind::kReference;
}

}  // namespace

std::vector<std::string> key_path(const std::string& key, const Position& position) {
  std::vector<std::string> parts = split_path(key);
  for (const Alias& alias : override_aliases()) {
    if (alias.name == parts.front()) {
      const std::vector<std::string> full = split_path(alias.key);
      parts.erase(parts.begin());
      parts.insert(parts.begin(), full.begin(), full.end());
      break;
    }
  }
  const bool empty_part = std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); });
  if (empty_part || parts.size() > static_cast<std::size_t>(kDeepestNesting)) {
    fail(position.location(), "",
         {"The key of an override is a dotted path.", fmt::format("\"{}\"", key.substr(0, 80)),
          "for example strategy.micro_batches=8 or tp=4"});
  }
  return parts;
}

Tree expand_shorthand(const Section& section, Tree tree) {
  if (!tree.is_scalar() || section.shorthand.empty()) {
    return tree;
  }
  Tree expanded = mapping(tree.position);
  if (section.shorthand == kEveryKey) {
    for (const KeySpec& spec : section.keys) {
      expanded.set(spec.name, tree);
    }
  } else {
    expanded.set(section.shorthand, std::move(tree));
  }
  return expanded;
}

namespace {

/// Sets the last key of a path, and drops the sibling that it replaces.
void set_last(Tree& parent, const KeySpec* spec, const std::string& key, Tree value) {
  if (spec != nullptr && !spec->replaces.empty()) {
    const TreeEntry* sibling = parent.find(spec->replaces);
    const bool from_file = sibling != nullptr && sibling->position.line > 0;
    if (from_file) {  // two overrides that contradict each other stay, and are reported
      parent.erase(spec->replaces);
    }
  }
  parent.set(key, std::move(value));
  parent.find(key)->position.line = 0;  // values of a sweep may stand in the file, too
}

/// Goes down `path` from `root`; lists are entered by the number of an entry.
void set_at(const Schema& schema, Tree& root, const std::vector<std::string>& path, Tree value,
            const std::string& key) {
  const Position position = value.position;
  const Section* section = &schema.section("scenario");
  Tree* parent = &root;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const KeySpec* spec = section == nullptr ? nullptr : section->find(path[i]);
    TreeEntry* entry = parent->find(path[i]);
    if (spec != nullptr && spec->kind == ValueKind::kItems) {
      Tree nothing;
      Tree& item = entry_of(entry == nullptr ? nothing : entry->value, path[++i], key, position);
      if (i + 1 == path.size()) {
        item = std::move(value);
        return;
      }
      section = section_of_item(schema, *spec, item);
      parent = &item;
      continue;
    }
    parent = &descend(schema, *parent, spec, path[i], position);
    if (spec != nullptr && spec->kind == ValueKind::kValues) {
      parent->set(join(path, i + 1), std::move(value));
      return;
    }
    section = spec != nullptr && is_section_like(*spec) ? &schema.section(spec->target) : nullptr;
  }
  set_last(*parent, section == nullptr ? nullptr : section->find(path.back()), path.back(), std::move(value));
}

}  // namespace

Tree value_of(const Override& change) {
  const std::string source =
      fmt::format("{} {}={}", change.option, change.key.substr(0, 200), change.value.substr(0, 200));
  const Position position{std::make_shared<const std::string>(source), 0, 0};
  if (change.value.size() > kLargestFile) {
    fail(position.location(), change.key,
         {"The value is too long.", "", fmt::format("at most {} bytes", kLargestFile)});
  }
  Tree value = parse_yaml(change.value, source, false);
  value.position = position;
  return value;
}

void set_key(const Schema& schema, Tree& root, const std::string& key, Tree value) {
  const Position position = value.position;
  const std::vector<std::string> path = key_path(key, position);
  refuse_key_without_section(schema, path, key, position);
  set_at(schema, root, path, std::move(value), key);
}

Tree overlay(const Schema& schema, const Section& section, Tree base, const Tree& changes) {
  for (const TreeEntry& change : changes.entries) {
    const KeySpec* spec = section.find(change.key);
    TreeEntry* below = base.find(change.key);
    const bool names_base = change.value.find("base") != nullptr;
    const bool merges = spec != nullptr && below != nullptr && is_section_like(*spec) && change.value.is_mapping() &&
                        !(spec->kind == ValueKind::kReference && names_base);
    if (!merges) {
      base.set(change.key, change.value);
      base.find(change.key)->position = change.position;
      continue;
    }
    const Section& inner = schema.section(spec->target);
    below->value = overlay(schema, inner, expand_shorthand(inner, std::move(below->value)), change.value);
    below->value.position = change.value.position;
  }
  return base;
}

}  // namespace lamina::scenario
