#include "sim/scenario/axis_key.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/catalog/catalog.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/scenario/merge.hpp"
#include "sim/scenario/reader.hpp"
#include "sim/units/parse.hpp"

namespace lamina::scenario {
namespace {

bool is_numeric(ValueKind kind) {
  switch (kind) {
    case ValueKind::kInteger:
    case ValueKind::kNumber:
    case ValueKind::kBoolean:
    case ValueKind::kSeconds:
    case ValueKind::kBytes:
    case ValueKind::kBytesPerSecond:
    case ValueKind::kFlops:
    case ValueKind::kFlopsPerSecond:
      return true;
    default:
      return false;
  }
}

/// Keys of the scenario and of its sections, for "did you mean".
std::vector<std::string> known_keys(const Schema& schema) {
  std::vector<std::string> names;
  for (const Alias& alias : override_aliases()) {
    names.emplace_back(alias.name);
  }
  for (const KeySpec& top : schema.section("scenario").keys) {
    names.push_back(top.name);
    if (top.kind == ValueKind::kSection || top.kind == ValueKind::kReference) {
      for (const KeySpec& inner : schema.section(top.target).keys) {
        names.push_back(fmt::format("{}.{}", top.name, inner.name));
      }
    }
  }
  return names;
}

/// "strategy.tensor_parallel" for "tensor_parallel" and for "strategy.tensor_paralel".
std::string nearest_key(const Schema& schema, const std::string& key) {
  const std::vector<std::string> known = known_keys(schema);
  const auto inner = std::find_if(known.begin(), known.end(), [&](const std::string& name) {
    return name.size() > key.size() && name.ends_with(fmt::format(".{}", key));
  });
  return inner != known.end() ? *inner : catalog::nearest_name(key, known);
}

[[noreturn]] void refuse_key(const Schema& schema, const std::string& key, const Section& section,
                             const std::string& part, const Position& position) {
  std::string nearest = nearest_key(schema, key);
  if (nearest.empty()) {
    nearest = catalog::nearest_name(part, section.key_names());
  }
  fail(position.location(), key.substr(0, 80),
       {fmt::format("An axis varies a key that does not exist: there is no \"{}\" in {}.", part.substr(0, 80),
                    section.name == "scenario" ? "a scenario" : fmt::format("\"{}\"", section.title)),
        "", enumerate(section.key_names()), nearest});
}

/// A parameter that several plug-ins of the kind may have: any of them, as the choice may vary, too.
const KeySpec* plugin_parameter(const Schema& schema, std::string_view kind, const std::string& name) {
  for (const catalog::PluginInfo& plugin : schema.plugins(kind)) {
    if (const KeySpec* spec = schema.plugin_section(kind, plugin.name).find(name)) {
      return spec;
    }
  }
  return nullptr;
}

void refuse_parameter(const Schema& schema, std::string_view kind, const std::string& key, const std::string& name,
                      const Position& position) {
  std::vector<std::string> names;
  for (const catalog::PluginInfo& plugin : schema.plugins(kind)) {
    for (const catalog::ParameterSpec& parameter : plugin.parameters) {
      names.push_back(parameter.name);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  fail(position.location(), key.substr(0, 80),
       {fmt::format("No {} has a parameter \"{}\".", kind, name.substr(0, 80)), "", enumerate(names),
        catalog::nearest_name(name, names)});
}

std::optional<Operand> operand_of(const AxisKey& key, const Tree& value) {
  if (!value.is_scalar()) {
    const TreeEntry* name = value.find("name") != nullptr ? value.find("name") : value.find("base");
    return name == nullptr || !name->value.is_scalar() ? std::nullopt : std::optional<Operand>(name->value.text);
  }
  if (key.spec != nullptr && is_numeric(key.spec->kind)) {
    return read_numeric(*key.spec, value, key.name);
  }
  if (value.text == "true" || value.text == "false") {
    return value.text == "true" ? 1.0 : 0.0;
  }
  const auto number = units::parse_number(value.text);
  return number && key.spec == nullptr ? Operand(*number) : Operand(value.text);
}

void check_value(const Context& context, const AxisKey& key, const Tree& value) {
  if (key.spec == nullptr) {
    return;
  }
  const KeySpec& spec = *key.spec;
  if (is_numeric(spec.kind)) {
    (void)read_numeric(spec, value, key.name);
  } else if (spec.kind == ValueKind::kChoice) {
    (void)read_word(spec, value, key.name);
  } else if (spec.kind == ValueKind::kPlugin) {
    (void)read_plugin(context.schema, spec.target, &value, spec.default_value, value.position, key.name,
                      context.folder);
  } else if (spec.kind == ValueKind::kReference && value.is_scalar()) {
    (void)context.catalogue.resolve(spec.target, value, key.name);
  }
}

}  // namespace

AxisKey find_axis_key(const Schema& schema, const std::string& key, const Position& position) {
  const std::vector<std::string> path = key_path(key, position);
  AxisKey result;
  for (const std::string& part : path) {
    result.name += (result.name.empty() ? "" : ".") + part;
  }
  const Section* section = &schema.section("scenario");
  for (std::size_t i = 0; i < path.size(); ++i) {
    const KeySpec* spec = section->find(path[i]);
    if (spec == nullptr) {
      refuse_key(schema, result.name, *section, path[i], position);
    }
    if (i + 1 == path.size()) {
      result.spec = spec;
    } else if (spec->kind == ValueKind::kPlugin) {
      result.spec = path.size() == i + 2 ? plugin_parameter(schema, spec->target, path[i + 1]) : nullptr;
      if (result.spec == nullptr) {
        refuse_parameter(schema, spec->target, result.name, path[i + 1], position);
      }
      break;
    } else if (spec->kind == ValueKind::kSection || spec->kind == ValueKind::kReference) {
      section = &schema.section(spec->target);
    } else {
      break;  // lists and mappings of names: load() judges what is inside
    }
  }
  if (path.front() == "sweep" || path.front() == "schema_version") {
    fail(position.location(), key, {"This key cannot be varied."});
  }
  return result;
}

Setting read_setting(const Context& context, const AxisKey& key, const Tree& value) {
  if (value.is_null()) {
    fail(value.position.location(), key.name, {"A value of the axis is empty."});
  }
  Setting setting;
  setting.position = value.position;
  if (value.is_scalar() && value.text.starts_with('=')) {
    auto expression = Expression::parse(std::string_view(value.text).substr(1));
    if (!expression) {
      fail(value.position.location(), key.name,
           {expression.error().problem, fmt::format("column {} of \"{}\"", expression.error().column + 1, value.text),
            expression.error().allowed});
    }
    setting.text = value.text;
    setting.expression = std::move(*expression);
    return setting;
  }
  check_value(context, key, value);
  setting.text = flow_text(value);
  setting.operand = operand_of(key, value);
  setting.value = value;
  return setting;
}

SweptKey swept(const AxisKey& key) {
  if (key.spec == nullptr) {
    return {key.name, false, ""};
  }
  return {key.name, key.spec->kind == ValueKind::kInteger, unit_of(key.spec->kind)};
}

std::string flow_text(const Tree& tree) {
  std::string text;
  switch (tree.kind) {
    case Tree::Kind::kNull:
      return "null";
    case Tree::Kind::kScalar:
      return tree.text;
    case Tree::Kind::kList:
      for (const Tree& item : tree.items) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", flow_text(item));
      }
      return fmt::format("[{}]", text);
    case Tree::Kind::kMapping:
      for (const TreeEntry& entry : tree.entries) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", entry.key, flow_text(entry.value));
      }
      return fmt::format("{{{}}}", text);
  }
  return text;
}

}  // namespace lamina::scenario
