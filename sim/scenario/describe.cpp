#include <string>

#include <fmt/core.h>

#include "sim/scenario/dataset.hpp"
#include "sim/scenario/load.hpp"
#include "sim/scenario/reader.hpp"
#include "sim/scenario/schema.hpp"
#include "sim/scenario/schema_dataset.hpp"

namespace lamina::scenario {
namespace {

constexpr std::string_view kIntroduction = R"(# Scenario files

This page is printed from the table in `sim/scenario/schema*.cpp` that also reads the files: it cannot be out of date.
A test compares the two; `LAMINA_UPDATE_DOCUMENTS=1` makes that test rewrite the page.

A scenario is one YAML document that says what is trained, on which cluster and how. The shortest one:

```yaml
schema_version: 1
model: x32
cluster: {node: dgx-a100-80gb, network: infiniband-hdr}
strategy: {data_parallel: 8, micro_batches: 4}
```

**Keys are strict.** An unknown key, a key that occurs twice or a value of the wrong kind is an error with file, line and
column, the allowed values, and the nearest name.

**Quantities carry their unit**, as in `25 GB/s`; a bare number is refused. Units are case-sensitive:

| quantity | units |
| --- | --- |
| time | `ns` `us` `ms` `s` `min` `h` `d` |
| size | `B` `kB` `MB` `GB` `TB` `PB` `EB` (powers of 1000), `KiB` `MiB` `GiB` `TiB` `PiB` `EiB` (powers of 1024) |
| rate | the sizes with `/s`, or `bit/s` `kbit/s` `Mbit/s` `Gbit/s` `Tbit/s` `Pbit/s` `Ebit/s` |
| work | `FLOP` `kFLOP` `MFLOP` `GFLOP` `TFLOP` `PFLOP` `EFLOP`; with `/s` for rates of work |

Spellings that are read in two ways (`Gb/s`, `Gbps`, `GBps`, `KB`, `TFLOPS`) are refused.

**Catalogue references.** Where a key is marked *reference*, write a name (`network: infiniband-hdr`), a name with changes
(`network: {base: infiniband-hdr, bandwidth: 25 Gbit/s}`) or a whole definition. `lamina list models` and
`lamina list hardware` show the names. A mapping without `base` inside a changed entry changes only the keys that it names:
`node: {base: dgx-a100-80gb, accelerator: {memory: 40 GiB}}`.

**Overrides.** `lamina run FILE --set strategy.micro_batches=8` sets any key; the value is YAML. Overrides are merged before
anything is checked, reach into references (`--set cluster.network.bandwidth="25 Gbit/s"`), and replace what the file says,
also where there are two ways to say it (`micro_batches` drops `global_batch`). A number stands for an entry of a list:
`--set disturb.0.factor=2`. On the command line only, )";

constexpr std::string_view kLimits = R"(

**Limits.** A file has at most {} KiB, {} values after aliases are expanded, and {} levels. It is UTF-8 text; YAML
anchors and aliases work, merge keys (`<<`) do not. A scenario of more than 50 million operations per replica, or a replay of
more than 50 million activities, is refused with the number (exit code 4).
)";

std::string kind_text(const KeySpec& spec) {
  switch (spec.kind) {
    case ValueKind::kText:
      return "text";
    case ValueKind::kFile:
      return "path";
    case ValueKind::kInteger:
      return "whole number";
    case ValueKind::kNumber:
      return "number";
    case ValueKind::kBoolean:
      return "`true` or `false`";
    case ValueKind::kSeconds:
      return "time";
    case ValueKind::kBytes:
      return "size";
    case ValueKind::kBytesPerSecond:
      return "rate";
    case ValueKind::kFlops:
      return "work";
    case ValueKind::kFlopsPerSecond:
      return "rate of work";
    case ValueKind::kSection:
      return "mapping";
    case ValueKind::kReference:
      return "*reference*";
    case ValueKind::kPlugin:
      return "plug-in";
    case ValueKind::kNameList:
      return "list";
    case ValueKind::kItems:
      return "list of mappings";
    case ValueKind::kValues:
      return "mapping of names";
    case ValueKind::kChoice:
      break;
  }
  return "word";
}

std::string value_text(const KeySpec& spec) {
  if (spec.kind == ValueKind::kChoice && !spec.choices.empty()) {
    std::string words;
    for (const std::string& choice : spec.choices) {
      words += fmt::format("{}`{}`", words.empty() ? "" : ", ", choice);
    }
    return words;
  }
  const std::string range = describe_range(spec);
  return range.empty() ? kind_text(spec) : fmt::format("{}, {}", kind_text(spec), range);
}

std::string default_text(const KeySpec& spec) {
  if (spec.required) {
    return "required";
  }
  return spec.default_value.empty() ? spec.default_text : fmt::format("`{}`", spec.default_value);
}

/// `hidden`: a key that the text around the table explains.
std::string table_of(const Section& section, std::string_view hidden = "") {
  std::string text = "| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const KeySpec& spec : section.keys) {
    if (spec.name == hidden) {
      continue;
    }
    text += fmt::format("| `{}` | {} | {} | {} |\n", spec.name, value_text(spec), default_text(spec), spec.help);
  }
  return text;
}

bool is_plugin_section(const Schema& schema, const Section& section) {
  for (const std::string_view kind : {kScheduleKind, kTopologyKind, kCostModelKind}) {
    for (const catalog::PluginInfo& plugin : schema.plugins(kind)) {
      if (section.name == fmt::format("{} {}", kind, plugin.name)) {
        return true;
      }
    }
  }
  return false;
}

std::string plugins_of_kind(const Schema& schema, std::string_view kind, std::string_view key) {
  std::string text = fmt::format("\n## Plug-ins for `{}`\n", key);
  for (const catalog::PluginInfo& plugin : schema.plugins(kind)) {
    text += fmt::format("\n### `{}`\n\n{}", plugin.name, plugin.summary);
    text += plugin.source.empty() ? "\n" : fmt::format(" Source: {}\n", plugin.source);
    if (!plugin.parameters.empty()) {
      text += '\n';
      text += table_of(schema.plugin_section(kind, plugin.name), "name");
    }
  }
  return text;
}

std::string aliases_text() {
  std::string text;
  for (const Alias& alias : override_aliases()) {
    text += fmt::format("{}`{}` stands for `{}`", text.empty() ? "" : ", ", alias.name, alias.key);
  }
  text += '.';
  return text;
}

}  // namespace

std::string describe_dataset() {
  std::string text;
  for (const Section& section : dataset_sections()) {
    text +=
        fmt::format("{}### {}\n\n{}\n\n{}", text.empty() ? "" : "\n", section.title, section.help, table_of(section));
  }
  return text;
}

std::string describe_schema(const Plugins& plugins) {
  const Schema schema(plugins);
  std::string text(kIntroduction);
  text += aliases_text();
  text += fmt::format(fmt::runtime(kLimits), kLargestFile >> 10, kMostValues, kDeepestNesting);
  for (const Section& section : schema.sections()) {
    if (is_plugin_section(schema, section)) {
      continue;
    }
    text += fmt::format("\n## {}{}{}\n\n", section.name == "scenario" ? "" : "`", section.title,
                        section.name == "scenario" ? "" : "`");
    text += section.help.empty() ? "" : fmt::format("{}\n\n", section.help);
    text += table_of(section);
  }
  text += plugins_of_kind(schema, kScheduleKind, "strategy.schedule");
  text += plugins_of_kind(schema, kTopologyKind, "cluster.topology");
  text += plugins_of_kind(schema, kCostModelKind, "simulation.cost_model");
  return text;
}

}  // namespace lamina::scenario
