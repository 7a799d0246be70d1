#include "sim/scenario/schema.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "sim/error/error.hpp"
#include "sim/scenario/schema_keys.hpp"

namespace lamina::scenario {
namespace {

ValueKind kind_of(catalog::ParameterKind kind) {
  switch (kind) {
    case catalog::ParameterKind::kInteger:
      return ValueKind::kInteger;
    case catalog::ParameterKind::kNumber:
      return ValueKind::kNumber;
    case catalog::ParameterKind::kBoolean:
      return ValueKind::kBoolean;
    case catalog::ParameterKind::kChoice:
      return ValueKind::kChoice;
    case catalog::ParameterKind::kSeconds:
      return ValueKind::kSeconds;
    case catalog::ParameterKind::kBytesPerSecond:
      return ValueKind::kBytesPerSecond;
    case catalog::ParameterKind::kFile:
      return ValueKind::kFile;
  }
  throw error::InternalError("a parameter has an unknown kind");
}

std::string plugin_section_name(std::string_view kind, std::string_view plugin) {
  return fmt::format("{} {}", kind, plugin);
}

Section section_of(std::string_view kind, const catalog::PluginInfo& plugin) {
  Section section;
  section.name = plugin_section_name(kind, plugin.name);
  section.title = section.name;
  section.help = plugin.summary;
  section.shorthand = "name";
  section.keys.push_back(
      with_default_text("the default of the key", key("name", ValueKind::kText, "Name of the plug-in.")));
  for (const catalog::ParameterSpec& parameter : plugin.parameters) {
    KeySpec spec = key(parameter.name, kind_of(parameter.kind), parameter.help);
    spec.required = parameter.default_value.empty();
    spec.default_value = parameter.default_value;
    spec.choices = parameter.choices;
    spec.minimum = parameter.minimum;
    spec.maximum = parameter.maximum;
    section.keys.push_back(std::move(spec));
  }
  return section;
}

std::vector<std::string> names_of(const std::vector<catalog::PluginInfo>& plugins) {
  std::vector<std::string> names;
  for (const catalog::PluginInfo& plugin : plugins) {
    names.push_back(plugin.name);
  }
  return names;
}

void append(std::vector<Section>& sections, std::vector<Section> more) {
  std::move(more.begin(), more.end(), std::back_inserter(sections));
}

}  // namespace

const KeySpec* Section::find(std::string_view key) const {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const KeySpec& spec) { return spec.name == key; });
  return found == keys.end() ? nullptr : &*found;
}

std::vector<std::string> Section::key_names() const {
  std::vector<std::string> names;
  for (const KeySpec& spec : keys) {
    names.push_back(spec.name);
  }
  return names;
}

Schema::Schema(const Plugins& plugins) : plugins_(plugins) {
  append(sections_, top_sections());
  append(sections_, model_sections());
  append(sections_, hardware_sections());
  append(sections_, strategy_sections());
  append(sections_, disturbance_sections());
  for (Section& section : sections_) {
    if (section.name == "collectives") {
      section.keys.front().choices = names_of(plugins_.collectives);
    }
  }
  for (const std::string_view kind : {kScheduleKind, kTopologyKind, kCostModelKind}) {
    for (const catalog::PluginInfo& plugin : this->plugins(kind)) {
      sections_.push_back(section_of(kind, plugin));
    }
  }
}

const Section& Schema::section(std::string_view name) const {
  const auto found =
      std::find_if(sections_.begin(), sections_.end(), [&](const Section& section) { return section.name == name; });
  if (found == sections_.end()) {
    throw error::InternalError(fmt::format("the scenario schema has no section \"{}\"", name));
  }
  return *found;
}

const Section& Schema::plugin_section(std::string_view kind, std::string_view plugin) const {
  return section(plugin_section_name(kind, plugin));
}

const Section* Schema::item_section(const KeySpec& list, std::string_view kind) const {
  if (list.choices.empty()) {
    return &section(list.target);
  }
  const bool known = std::find(list.choices.begin(), list.choices.end(), kind) != list.choices.end();
  return known ? &section(fmt::format("{} {}", list.target, kind)) : nullptr;
}

const std::vector<catalog::PluginInfo>& Schema::plugins(std::string_view kind) const {
  return kind == kScheduleKind   ? plugins_.schedules
         : kind == kTopologyKind ? plugins_.topologies
                                 : plugins_.cost_models;
}

std::vector<Alias> override_aliases() {
  return {{"dp", "strategy.data_parallel"},
          {"pp", "strategy.pipeline_parallel"},
          {"tp", "strategy.tensor_parallel"},
          {"sp", "strategy.sequence_parallel"},
          {"mbs", "strategy.micro_batch_size"},
          {"gbs", "strategy.global_batch"},
          {"micro_batches", "strategy.micro_batches"},
          {"schedule", "strategy.schedule"},
          {"schedule_file", "strategy.schedule_file"}};
}

std::vector<CatalogueKind> catalogue_kinds() {
  return {{"model", "models", "models"},
          {"node", "nodes", "hardware"},
          {"accelerator", "accelerators", "hardware"},
          {"device_link", "device_links", "hardware"},
          {"host_path", "host_paths", "hardware"},
          {"network", "networks", "hardware"}};
}

}  // namespace lamina::scenario
