#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/catalog/catalog.hpp"
#include "sim/cli/command.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/load.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina list schedules
  lamina list hardware
  lamina list                     everything)";

const std::vector<std::string>& kinds() {
  static const std::vector<std::string> names = {"schedules", "topologies",  "models",
                                                 "hardware",  "collectives", "cost_models"};
  return names;
}

constexpr std::size_t kColumns = 80;

/// Words filled into lines of at most 80 columns, each indented.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string result;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) {
      result += std::string(indent, ' ') + line + '\n';
      line.clear();
    }
  };
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find_first_of(" \n", start), text.size());
    const std::string word = text.substr(start, end - start);
    if (!line.empty() && indent + line.size() + 1 + word.size() > kColumns) {
      flush();
    }
    if (!word.empty()) {
      line += (line.empty() ? "" : " ") + word;
    }
    start = end + 1;
  }
  flush();
  return result;
}

std::string describe_parameter(const catalog::ParameterSpec& parameter) {
  std::string values = parameter.default_value.empty() ? "required" : "default " + parameter.default_value;
  if (!parameter.choices.empty()) {
    values = fmt::format("{}; {}", fmt::join(parameter.choices, ", "), values);
  }
  return fmt::format("{} ({}): {}", parameter.name, values, parameter.help);
}

std::string describe(const std::string& title, const std::vector<catalog::PluginInfo>& plugins) {
  std::string text = title + '\n';
  for (const catalog::PluginInfo& plugin : plugins) {
    text += "  " + plugin.name + '\n' + wrapped(plugin.summary, 6);
    for (const catalog::ParameterSpec& parameter : plugin.parameters) {
      text += wrapped(fmt::format("- {}", describe_parameter(parameter)), 6);
    }
    if (!plugin.source.empty()) {
      text += wrapped("source: " + plugin.source, 6);
    }
  }
  return text;
}

/// Models, or everything else of the YAML catalogues under its kind.
std::string describe_catalogue(const std::string& title, bool models) {
  std::string text = title + '\n';
  std::string kind;
  for (const scenario::CatalogueEntry& entry : scenario::list_catalogue(scenario::find_catalogue())) {
    if ((entry.kind == "model") != models) {
      continue;
    }
    if (!models && entry.kind != kind) {
      kind = entry.kind;
      text += "  " + kind + '\n';
    }
    text += (models ? "  " : "    ") + entry.name + '\n' + wrapped(entry.summary, 6);
    if (!entry.source.empty()) {
      text += wrapped("source: " + entry.source, 6);
    }
  }
  return text;
}

std::string describe_kind(const std::string& kind, const pipeline::Catalogs& catalogs) {
  if (kind == "schedules") {
    return describe(kind, catalogs.schedules.infos());
  }
  if (kind == "topologies") {
    return describe(kind, catalogs.topologies.infos());
  }
  if (kind == "collectives") {
    return describe(kind, catalogs.collectives.infos());
  }
  if (kind == "cost_models") {
    return describe(kind, catalogs.cost_models.infos());
  }
  return describe_catalogue(kind, kind == "models");
}

std::string unknown_kind(const std::string& kind) {
  const std::string nearest = catalog::nearest_name(kind, kinds());
  return fmt::format("there is no list of \"{}\"{}; choose from {}", kind,
                     nearest.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", nearest), fmt::join(kinds(), ", "));
}

ExitCode list(const std::string& wanted, Session& session) {
  const auto& known = kinds();
  if (!wanted.empty() && std::find(known.begin(), known.end(), wanted) == known.end()) {
    throw UsageError(unknown_kind(wanted));
  }
  const auto catalogs = pipeline::builtin_catalogs();
  std::string text;
  for (const std::string& kind : known) {
    if (wanted.empty() || wanted == kind) {
      text += text.empty() ? "" : "\n";
      text += describe_kind(kind, catalogs);
    }
  }
  session.results.write(text);
  return ExitCode::kDone;
}

}  // namespace

Command add_list(CLI::App& root) {
  auto kind = std::make_shared<std::string>();
  CLI::App* parser = root.add_subcommand("list", "Show what scenarios can name");
  parser
      ->add_option("KIND", *kind,
                   "schedules, topologies, models, hardware,\ncollectives or cost_models; all if left out")
      ->type_name("");
  parser->footer(kExamples);
  return {parser, [kind](Session& session) { return list(*kind, session); }};
}

}  // namespace lamina::cli
