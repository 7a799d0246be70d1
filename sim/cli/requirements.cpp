#include "sim/report/requirements.hpp"

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "sim/cli/command.hpp"
#include "sim/cli/costs.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/number_range.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/plugin_choices.hpp"
#include "sim/cli/signals.hpp"
#include "sim/cli/tools.hpp"
#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/requirements/needs.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina requirements my.yaml                         one layout in full
  lamina requirements my.yaml --tolerance 1           within 1 % of ideal
  lamina requirements my.yaml --schedules all         which needs the least?
  lamina requirements my.yaml --topologies fat_tree,rail_optimized
  lamina requirements a.yaml b.yaml --details --format csv

For each link class and each traffic class on it: the least bandwidth and the
most latency at which the step is at most 5 % longer than if that class had
neither limit nor latency, found by replays; beside it the closed form of
arXiv 2106.02679; then what half, twice and unlimited bandwidth do to the step.
Several layouts stand in one table.

Exit codes: 0 done, 2 command line, 3 scenario invalid, 4 nothing can run,
6 environment.)";

struct RequirementsOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> schedules;
  std::vector<std::string> topologies;
  std::vector<std::string> overrides;
  std::string output_folder;
  std::string format = "console";
  double tolerance_percent = 5;
  bool details = false;
};

/// A layout to measure.
struct Candidate {
  std::string name;
  std::string file;
  scenario::Scenario scenario;
};

/// One choice that leaves the scenario as it is, if none was made.
std::vector<PluginChoice> or_as_it_is(std::vector<PluginChoice> choices) {
  if (choices.empty()) {
    choices.emplace_back();
  }
  return choices;
}

std::deque<Candidate> read_candidates(const RequirementsOptions& options, const Tools& tools) {
  const auto files = expand_files(options.inputs);
  const auto schedules = or_as_it_is(parse_choices(kScheduleChoices, options.schedules, tools.plugins.schedules));
  const auto topologies = or_as_it_is(parse_choices(kTopologyChoices, options.topologies, tools.plugins.topologies));
  const auto overrides = parse_overrides(options.overrides);
  std::deque<Candidate> candidates;
  for (const auto& file : files) {
    for (const PluginChoice& topology : topologies) {
      for (const PluginChoice& schedule : schedules) {
        auto changes = overrides;
        std::string name;
        for (const PluginChoice* choice : {&schedule, &topology}) {
          if (!choice->name.empty()) {
            changes.push_back(choice->as_override());
            name += (name.empty() ? "" : " ") + choice->label;
          }
        }
        scenario::Scenario scenario = load_scenario(file, tools.catalogue, tools.plugins, changes);
        scenario.simulation.transport = scenario::Transport::kSimgrid;  // a need is a matter of contention
        if (name.empty() || files.size() > 1) {
          name = name.empty() ? scenario.name : fmt::format("{} {}", scenario.name, name);
        }
        candidates.push_back({std::move(name), file.string(), std::move(scenario)});
      }
    }
  }
  return candidates;
}

report::RequirementsDocument measure_all(const std::deque<Candidate>& candidates, const RequirementsOptions& options,
                                         const Tools& tools, const Session& session) {
  const Stopwatch stopwatch;
  std::int64_t activities = 0;
  report::RequirementsDocument document;
  document.tolerance = options.tolerance_percent / 100;
  document.details = options.details;
  const bool full = candidates.size() == 1 || options.details;
  const auto depth = full ? requirements::Depth::kTraffic : requirements::Depth::kClasses;
  ProgressLine progress(session.show_progress);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    const auto say = [&](const std::string& what) {
      progress.show(fmt::format("{} of {}: {}: {} ...", i + 1, candidates.size(), candidate.name, what));
    };
    say("as it is");
    auto result = pipeline::simulate(candidate.scenario, tools.catalogs);
    if (!result) {
      document.refusals.push_back({candidate.name, candidate.file, result.error().reason});
      continue;
    }
    report::Requirements needs =
        requirements::find_needs(candidate.scenario, *result, tools.catalogs, document.tolerance, depth, say);
    activities += (needs.replays + 1) * result->report.activities;
    needs.name = candidate.name;
    needs.file = candidate.file;
    needs.schedule = result->report.schedule;
    needs.topology = candidate.scenario.cluster.topology.name;
    needs.report = std::move(result->report);
    document.layouts.push_back(std::move(needs));
  }
  progress.hide();
  if (session.show_costs) {
    fmt::print(stderr, "{} layouts: {}\n", candidates.size(), stopwatch.describe(activities));
  }
  return document;
}

void write_output_folder(const RequirementsOptions& options, const report::RequirementsDocument& document) {
  if (options.output_folder.empty()) {
    return;
  }
  write_files(options.output_folder, {{"requirements.json", report::to_json(document)},
                                      {"requirements.csv", report::to_csv(document)},
                                      {"requirements.txt", report::to_console(document, false)}});
  spdlog::info("wrote {}/requirements.json, .csv, .txt", options.output_folder);
}

ExitCode find_requirements(const RequirementsOptions& options, Session& session) {
  const Tools tools;
  const std::deque<Candidate> candidates = read_candidates(options, tools);
  if (!options.output_folder.empty()) {
    prepare_output_folder(options.output_folder);
  }
  const report::RequirementsDocument document = measure_all(candidates, options, tools, session);
  write_output_folder(options, document);
  if (options.format == "json") {
    session.results.write(report::to_json(document));
  } else if (options.format == "csv") {
    session.results.write(report::to_csv(document));
  } else {
    session.results.write(report::to_console(document, session.colour_results));
  }
  if (!document.layouts.empty()) {
    return ExitCode::kDone;
  }
  print_error("infeasible", "none of the layouts can run", session.colour_errors);
  return ExitCode::kInfeasible;
}

}  // namespace

Command add_requirements(CLI::App& root) {
  auto options = std::make_shared<RequirementsOptions>();
  CLI::App* parser = root.add_subcommand("requirements", "How much network a layout needs");
  parser->add_option("FILE", options->inputs, "Scenario files, or folders of them")->required()->type_name("");
  parser
      ->add_option("--schedules", options->schedules,
                   "Schedules to try, separated by commas, or all;\n"
                   "default: the files' own")
      ->type_name("LIST")
      ->allow_extra_args(false);
  parser
      ->add_option("--topologies", options->topologies,
                   "Topologies to try, separated by commas;\n"
                   "default: the files' own")
      ->type_name("LIST")
      ->allow_extra_args(false);
  parser
      ->add_option("--tolerance", options->tolerance_percent,
                   "Percent by which a step may be longer than on an\n"
                   "ideal network")
      ->type_name("PERCENT")
      ->check(number_range(0.1, 1000))
      ->capture_default_str();
  parser->add_flag("--details", options->details, "Every traffic class, also for several layouts");
  parser
      ->add_option("--set", options->overrides,
                   "Change one key of every scenario; repeatable.\n"
                   "dp, pp, tp, mbs, gbs stand for strategy keys")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser->add_option("--format", options->format, "console, json or csv")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"console", "json", "csv"}).description(""))
      ->capture_default_str();
  parser
      ->add_option("-o,--output", options->output_folder,
                   "Also write requirements.json, requirements.csv and\n"
                   "requirements.txt into this folder")
      ->type_name("DIR");
  parser->footer(kExamples);
  return {parser, [options](Session& session) { return find_requirements(*options, session); }};
}

}  // namespace lamina::cli
