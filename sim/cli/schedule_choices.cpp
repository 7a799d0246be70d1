#include "sim/cli/schedule_choices.hpp"

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

const catalog::PluginInfo& find_schedule(const std::string& name, const std::vector<catalog::PluginInfo>& known) {
  std::vector<std::string> names;
  for (const catalog::PluginInfo& info : known) {
    if (info.name == name) {
      return info;
    }
    names.push_back(info.name);
  }
  throw UsageError(fmt::format("--schedules: there is no schedule \"{}\"{}; there are all, {}", name,
                               suggestion(name, names), fmt::join(names, ", ")));
}

/// Whole name of a parameter of which the last words were typed.
std::string find_parameter(const std::string& typed, const catalog::PluginInfo& schedule) {
  std::vector<std::string> names;
  std::vector<std::string> matches;
  for (const catalog::ParameterSpec& spec : schedule.parameters) {
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
  throw UsageError(fmt::format("--schedules: {} has {} parameter \"{}\"{}; {}", schedule.name,
                               matches.empty() ? "no" : "more than one", typed, suggestion(typed, names),
                               names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", "))));
}

void add_parameter(ScheduleChoice& choice, const std::string& text, const catalog::PluginInfo& schedule) {
  const std::size_t equals = text.find('=');
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+-";
  if (value.empty() || value.find_first_not_of(kAllowed) != std::string::npos) {
    throw UsageError(
        fmt::format("--schedules takes NAME or NAME:PARAMETER=VALUE, separated by commas, for example "
                    "gpipe,interleaved:group_size=8; got \"{}\"",
                    choice.label));
  }
  const std::string name = find_parameter(text.substr(0, equals), schedule);
  choice.parameters.emplace_back(name, value);
  choice.schedule += fmt::format(":{}={}", name, value);
  choice.has_parameters = true;
}

ScheduleChoice plain(const std::string& name) {
  ScheduleChoice choice;
  choice.label = name;
  choice.name = name;
  choice.schedule = name;
  return choice;
}

ScheduleChoice parse_one(const std::string& text, const std::vector<catalog::PluginInfo>& known) {
  const std::vector<std::string> parts = split(text, ':');
  const catalog::PluginInfo& schedule = find_schedule(parts.front(), known);
  ScheduleChoice choice = plain(schedule.name);
  choice.label = text;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    add_parameter(choice, parts[i], schedule);
  }
  return choice;
}

void add_once(std::vector<ScheduleChoice>& choices, ScheduleChoice choice) {
  const bool known = std::any_of(choices.begin(), choices.end(),
                                 [&](const ScheduleChoice& other) { return other.schedule == choice.schedule; });
  if (!known) {
    choices.push_back(std::move(choice));
  }
}

}  // namespace

scenario::Override ScheduleChoice::as_override() const {
  std::string value = fmt::format("{{name: {}", name);
  for (const auto& [key, text] : parameters) {
    value += fmt::format(", {}: {}", key, text);
  }
  value += '}';
  return {"strategy.schedule", value};
}

std::vector<ScheduleChoice> every_schedule(const std::vector<catalog::PluginInfo>& known) {
  std::vector<ScheduleChoice> choices;
  for (const catalog::PluginInfo& info : known) {
    choices.push_back(plain(info.name));
  }
  return choices;
}

std::vector<ScheduleChoice> parse_schedules(const std::vector<std::string>& arguments,
                                            const std::vector<catalog::PluginInfo>& known) {
  std::vector<ScheduleChoice> choices;
  for (const std::string& argument : arguments) {
    for (const std::string& item : split(argument, ',')) {
      if (item == "all") {
        for (ScheduleChoice& choice : every_schedule(known)) {
          add_once(choices, std::move(choice));
        }
      } else {
        add_once(choices, parse_one(item, known));
      }
    }
  }
  return choices;
}

}  // namespace lamina::cli
