#include "sim/cli/plugin_choices.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/catalog/catalog.hpp"
#include "sim/cli/command.hpp"

namespace lamina::cli {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string::npos) {
      return parts;
    }
    start = end + 1;
  }
}

std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  const std::string nearest = catalog::nearest_name(name, known);
  return nearest.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", nearest);
}

const catalog::PluginInfo& find_plugin(const ChoiceKind& kind, const std::string& name,
                                       const std::vector<catalog::PluginInfo>& known) {
  std::vector<std::string> names;
  for (const catalog::PluginInfo& info : known) {
    if (info.name == name) {
      return info;
    }
    names.push_back(info.name);
  }
  throw UsageError(fmt::format("{}: there is no {} \"{}\"{}; there are all, {}", kind.option, kind.word, name,
                               suggestion(name, names), fmt::join(names, ", ")));
}

/// Whole name of a parameter of which the last words were typed.
std::string find_parameter(const ChoiceKind& kind, const std::string& typed, const catalog::PluginInfo& plugin) {
  std::vector<std::string> names;
  std::vector<std::string> matches;
  for (const catalog::ParameterSpec& spec : plugin.parameters) {
    if (spec.name == typed) {
      return typed;
    }
    names.push_back(spec.name);
    if (!typed.empty() && spec.name.ends_with(fmt::format("_{}", typed))) {
      matches.push_back(spec.name);
    }
  }
  if (matches.size() == 1) {
    return matches.front();
  }
  throw UsageError(fmt::format("{}: {} has {} parameter \"{}\"{}; {}", kind.option, plugin.name,
                               matches.empty() ? "no" : "more than one", typed, suggestion(typed, names),
                               names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", "))));
}

void add_parameter(const ChoiceKind& kind, PluginChoice& choice, const std::string& text,
                   const catalog::PluginInfo& plugin) {
  const std::size_t equals = text.find('=');
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+-";
  if (value.empty() || value.find_first_not_of(kAllowed) != std::string::npos) {
    throw UsageError(
        fmt::format("{} takes NAME or NAME:PARAMETER=VALUE, separated by commas, for example {}; got \"{}\"",
                    kind.option, kind.example, choice.label));
  }
  const std::string name = find_parameter(kind, text.substr(0, equals), plugin);
  choice.parameters.emplace_back(name, value);
  choice.chosen += fmt::format(":{}={}", name, value);
  choice.has_parameters = true;
}

PluginChoice plain(const ChoiceKind& kind, const std::string& name) {
  PluginChoice choice;
  choice.label = name;
  choice.name = name;
  choice.chosen = name;
  choice.key = kind.key;
  return choice;
}

PluginChoice parse_one(const ChoiceKind& kind, const std::string& text, const std::vector<catalog::PluginInfo>& known) {
  const std::vector<std::string> parts = split(text, ':');
  const catalog::PluginInfo& plugin = find_plugin(kind, parts.front(), known);
  PluginChoice choice = plain(kind, plugin.name);
  choice.label = text;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    add_parameter(kind, choice, parts[i], plugin);
  }
  return choice;
}

void add_once(std::vector<PluginChoice>& choices, PluginChoice choice) {
  const bool known = std::any_of(choices.begin(), choices.end(),
                                 [&](const PluginChoice& other) { return other.chosen == choice.chosen; });
  if (!known) {
    choices.push_back(std::move(choice));
  }
}

}  // namespace

scenario::Override PluginChoice::as_override() const {
  std::string value = fmt::format("{{name: {}", name);
  for (const auto& [parameter, text] : parameters) {
    value += fmt::format(", {}: {}", parameter, text);
  }
  value += '}';
  return {key, value};
}

std::vector<PluginChoice> every_choice(const ChoiceKind& kind, const std::vector<catalog::PluginInfo>& known) {
  std::vector<PluginChoice> choices;
  for (const catalog::PluginInfo& info : known) {
    choices.push_back(plain(kind, info.name));
  }
  return choices;
}

std::vector<PluginChoice> parse_choices(const ChoiceKind& kind, const std::vector<std::string>& arguments,
                                        const std::vector<catalog::PluginInfo>& known) {
  std::vector<PluginChoice> choices;
  for (const std::string& argument : arguments) {
    for (const std::string& item : split(argument, ',')) {
      if (item == "all") {
        for (PluginChoice& choice : every_choice(kind, known)) {
          add_once(choices, std::move(choice));
        }
      } else {
        add_once(choices, parse_one(kind, item, known));
      }
    }
  }
  return choices;
}

}  // namespace lamina::cli
