#include "sim/explain/explain.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/load.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina explain scenarios/quickstart.yaml
  lamina explain scenarios/quickstart.yaml --set tp=4 --set dp=2

Each line is one derived number: its name, its value, its formula, its source.
Nothing is replayed.)";

struct ExplainOptions {
  std::string input;
  std::vector<std::string> overrides;
};

ExitCode explain_file(const ExplainOptions& options, Session& session) {
  if (std::filesystem::is_directory(options.input)) {
    throw UsageError(fmt::format("{} is a folder; explain takes one scenario file", options.input));
  }
  const auto files = expand_files({options.input});
  const auto catalogs = pipeline::builtin_catalogs();
  const auto scenario = load_scenario(files.front(), scenario::find_catalogue(), pipeline::plugins_of(catalogs),
                                      parse_overrides(options.overrides));
  const auto prepared = pipeline::prepare(scenario, catalogs);
  if (!prepared) {
    print_error("infeasible", fmt::format("{}: {}", options.input, prepared.error().reason), session.colour_errors);
    return ExitCode::kInfeasible;
  }
  session.results.write(explain::explain(scenario, *prepared, catalogs));
  return ExitCode::kDone;
}

}  // namespace

Command add_explain(CLI::App& root) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* parser = root.add_subcommand("explain", "Show what a scenario resolves to, and why");
  parser->add_option("FILE", options->input, "Scenario file")->required()->type_name("");
  parser->add_option("--set", options->overrides, "Change one key of the scenario; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser->footer(kExamples);
  return {parser, [options](Session& session) { return explain_file(*options, session); }};
}

}  // namespace lamina::cli
