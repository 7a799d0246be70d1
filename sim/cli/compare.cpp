#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "sim/cli/command.hpp"
#include "sim/cli/costs.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/plugin_choices.hpp"
#include "sim/cli/signals.hpp"
#include "sim/cli/tools.hpp"
#include "sim/comparison/rank.hpp"
#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/report/ranking.hpp"
#include "sim/requirements/network.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina compare my.yaml                    every schedule that can run it
  lamina compare my.yaml --schedules gpipe,interleaved:group_size=8
  lamina compare a.yaml b.yaml              layouts as they are in the files
  lamina compare a.yaml b.yaml --schedules all --no-network-need
  lamina compare my.yaml --format csv

A schedule may be followed by parameters: NAME:PARAMETER=VALUE:PARAMETER=VALUE
("lamina list schedules" shows them). A schedule that cannot run the scenario is
listed with the reason and is no error.

Exit codes: 0 done, 2 command line, 3 scenario invalid, 4 nothing can run or
fit into memory, 6 environment.)";

struct CompareOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> schedules;
  std::vector<std::string> overrides;
  std::string output_folder;
  std::string format = "console";
  bool no_network_need = false;
};

/// A layout to replay.
struct Candidate {
  std::string name;
  std::string file;
  std::string schedule;
  scenario::Scenario scenario;
};

/// The file's scenario with another schedule. A fault in the choice is one of the command line.
scenario::Scenario with_schedule(const std::filesystem::path& file, const PluginChoice& choice, const Tools& tools,
                                 std::vector<scenario::Override> overrides) {
  overrides.push_back(choice.as_override());
  try {
    return load_scenario(file, tools.catalogue, tools.plugins, overrides);
  } catch (const error::ScenarioError& problem) {
    error::ScenarioFault fault = problem.fault();
    if (!fault.location.file.starts_with("--set strategy.schedule")) {
      throw;
    }
    fault.location.file = fmt::format("--schedules {}", choice.label);
    throw UsageError(error::ScenarioError(std::move(fault)).what());
  }
}

/// The scenario under its own schedule, and under each of the others.
void add_candidates(std::deque<Candidate>& candidates, const std::filesystem::path& file,
                    const std::vector<PluginChoice>& choices, bool keep_own, const Tools& tools,
                    const std::vector<scenario::Override>& overrides) {
  scenario::Scenario own = load_scenario(file, tools.catalogue, tools.plugins, overrides);
  const std::string own_name = own.strategy.schedule.name;
  const bool from_file = own.strategy.schedule_file.has_value();
  if (choices.empty() || (keep_own && from_file)) {
    candidates.push_back({own_name, file.string(), own_name, own});
  }
  for (const PluginChoice& choice : choices) {
    const bool is_own = !from_file && choice.name == own_name && !choice.has_parameters;  // with the file's parameters
    candidates.push_back(
        {choice.label, file.string(), choice.chosen, is_own ? own : with_schedule(file, choice, tools, overrides)});
  }
}

/// Several files: scenario names (file names where two scenarios have one name), with the schedule where it varies.
void name_candidates(std::deque<Candidate>& candidates, bool several_files, bool schedules_vary) {
  if (!several_files) {
    return;
  }
  std::map<std::string, std::set<std::string>> files_of_name;
  for (const Candidate& candidate : candidates) {
    files_of_name[candidate.scenario.name].insert(candidate.file);
  }
  for (Candidate& candidate : candidates) {
    const bool unique = files_of_name[candidate.scenario.name].size() == 1;
    const std::string where = unique ? candidate.scenario.name : candidate.file;
    candidate.name = schedules_vary ? fmt::format("{} {}", where, candidate.name) : where;
  }
}

std::deque<Candidate> read_candidates(const CompareOptions& options, const Tools& tools) {
  const auto files = expand_files(options.inputs);
  const auto overrides = parse_overrides(options.overrides);
  std::vector<PluginChoice> choices = parse_choices(kScheduleChoices, options.schedules, tools.plugins.schedules);
  const bool all_of_one = choices.empty() && files.size() == 1;
  if (all_of_one) {
    choices = every_choice(kScheduleChoices, tools.plugins.schedules);
  }
  std::deque<Candidate> candidates;
  for (const auto& file : files) {
    add_candidates(candidates, file, choices, all_of_one, tools, overrides);
  }
  name_candidates(candidates, files.size() > 1, !choices.empty());
  return candidates;
}

report::NetworkNeed need_of(const requirements::NetworkRequirement& requirement) {
  report::NetworkNeed need;
  need.bandwidth_bytes_per_s = requirement.bandwidth_bytes_per_s;
  need.ideal_step_s = requirement.ideal_step_s;
  switch (requirement.verdict) {
    case requirements::NetworkVerdict::kNothingSent:
      need.kind = report::NeedKind::kNone;
      break;
    case requirements::NetworkVerdict::kFound:
      need.kind = report::NeedKind::kFound;
      break;
    case requirements::NetworkVerdict::kLatencyBound:
      need.kind = report::NeedKind::kMoreThanAny;
      break;
  }
  return need;
}

report::Ranking replay_all(const std::deque<Candidate>& candidates, const CompareOptions& options, const Tools& tools,
                           const Session& session) {
  const Stopwatch stopwatch;
  std::int64_t activities = 0;
  std::vector<report::Entry> entries;
  std::vector<report::Refusal> refusals;
  ProgressLine progress(session.show_progress);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    progress.show(fmt::format("replaying {} of {}: {} ...", i + 1, candidates.size(), candidate.name));
    auto result = pipeline::simulate(candidate.scenario, tools.catalogs);
    if (!result) {
      refusals.push_back({candidate.name, candidate.file, result.error().reason});
      continue;
    }
    activities += result->report.activities;
    report::Entry entry{candidate.name, candidate.file, candidate.schedule, {}, {}, 0, 0, 0};
    if (!options.no_network_need) {
      progress.show(fmt::format("network that {} needs ({} of {}) ...", candidate.name, i + 1, candidates.size()));
      const auto requirement = requirements::network_requirement(candidate.scenario, *result, tools.catalogs);
      activities += requirement.replays * result->report.activities;
      entry.need = need_of(requirement);
    }
    entry.report = std::move(result->report);
    entries.push_back(std::move(entry));
  }
  progress.hide();
  if (session.show_costs) {
    fmt::print(stderr, "{} layouts: {}\n", candidates.size(), stopwatch.describe(activities));
  }
  return comparison::rank(std::move(entries), std::move(refusals));
}

void write_output_folder(const CompareOptions& options, const report::Ranking& ranking) {
  if (options.output_folder.empty()) {
    return;
  }
  write_files(options.output_folder, {{"compare.json", report::to_json(ranking)},
                                      {"compare.csv", report::to_csv(ranking)},
                                      {"compare.txt", report::to_console(ranking, false)}});
  spdlog::info("wrote {}/compare.json, .csv, .txt", options.output_folder);
}

/// Whether somebody may use the first entry: it fits, or its scenario does not ask whether it does.
bool has_answer(const report::Ranking& ranking) {
  return std::any_of(ranking.entries.begin(), ranking.entries.end(), [](const report::Entry& entry) {
    return entry.report.fits || !entry.report.scenario->simulation.enforce_memory;
  });
}

ExitCode compare(const CompareOptions& options, Session& session) {
  const Tools tools;
  const std::deque<Candidate> candidates = read_candidates(options, tools);
  if (!options.output_folder.empty()) {
    prepare_output_folder(options.output_folder);
  }
  const report::Ranking ranking = replay_all(candidates, options, tools, session);
  write_output_folder(options, ranking);
  if (options.format == "json") {
    session.results.write(report::to_json(ranking));
  } else if (options.format == "csv") {
    session.results.write(report::to_csv(ranking));
  } else {
    session.results.write(report::to_console(ranking, session.colour_results));
  }
  if (has_answer(ranking)) {
    return ExitCode::kDone;
  }
  print_error(ranking.entries.empty() ? "infeasible" : "does not fit",
              ranking.entries.empty() ? "none of the layouts can run" : ranking.verdict, session.colour_errors);
  return ExitCode::kInfeasible;
}

}  // namespace

Command add_compare(CLI::App& root) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* parser = root.add_subcommand("compare", "Rank schedules or scenarios, with the reason");
  parser->add_option("FILE", options->inputs, "Scenario files, or folders of them")->required()->type_name("");
  parser
      ->add_option("--schedules", options->schedules,
                   "Schedules to try, separated by commas, or all;\n"
                   "default: all for one file, else the files' own")
      ->type_name("LIST")
      ->allow_extra_args(false);
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
                   "Also write compare.json, compare.csv and\n"
                   "compare.txt into this folder")
      ->type_name("DIR");
  parser->add_flag("--no-network-need", options->no_network_need,
                   "Skip the search for the bandwidth that each needs\n"
                   "(about a dozen replays per layout)");
  parser->footer(kExamples);
  return {parser, [options](Session& session) { return compare(*options, session); }};
}

}  // namespace lamina::cli
