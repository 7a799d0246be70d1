#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/load.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina check scenarios/quickstart.yaml
  lamina check scenarios/published/layered-modular-2021/
  lamina check my.yaml --set tp=16

Nothing is replayed, so whether a layout fits into memory is not checked: that
is for lamina run. Exit codes: 0 all valid, 3 a scenario is invalid, 4 a
scenario is valid but cannot run.)";

struct CheckOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> overrides;
};

std::string summary_of(const scenario::Scenario& scenario, const pipeline::Prepared& prepared) {
  return fmt::format("{} on {} x {}, {} ranks, {} operations per replica", scenario.model.name,
                     scenario.cluster.devices(), scenario.cluster.node.accelerator.name, scenario.strategy.ranks(),
                     prepared.graph.size());
}

/// Prints each file's verdict and goes on to the next; the first kind of fault found decides the exit code.
ExitCode check(const CheckOptions& options, Session& session) {
  const auto files = expand_files(options.inputs);
  const auto overrides = parse_overrides(options.overrides);
  const auto catalogs = pipeline::builtin_catalogs();
  const auto plugins = pipeline::plugins_of(catalogs);
  const auto catalogue = scenario::find_catalogue();
  ExitCode verdict = ExitCode::kDone;
  const auto blame = [&verdict](ExitCode code) { verdict = verdict == ExitCode::kDone ? code : verdict; };
  for (const auto& file : files) {
    try {
      const auto scenario = load_scenario(file, catalogue, plugins, overrides);
      const auto prepared = pipeline::prepare(scenario, catalogs);
      if (prepared) {
        session.results.write(fmt::format("{}: valid: {}\n", file.string(), summary_of(scenario, *prepared)));
      } else {
        print_error("infeasible", fmt::format("{}: {}", file.string(), prepared.error().reason), session.colour_errors);
        blame(ExitCode::kInfeasible);
      }
    } catch (const error::ScenarioError& fault) {
      print_error("error", fault.what(), session.colour_errors);
      blame(ExitCode::kScenario);
    }
  }
  return verdict;
}

}  // namespace

Command add_check(CLI::App& root) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* parser = root.add_subcommand("check", "Validate scenarios without running them");
  parser->add_option("FILE", options->inputs, "Scenario files, or folders of them")->required()->type_name("");
  parser->add_option("--set", options->overrides, "Change one key of every scenario; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser->footer(kExamples);
  return {parser, [options](Session& session) { return check(*options, session); }};
}

}  // namespace lamina::cli
