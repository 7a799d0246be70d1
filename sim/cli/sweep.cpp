#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "sim/catalog/catalog.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/sweep_progress.hpp"
#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/loader.hpp"
#include "sim/sweep/fingerprint.hpp"
#include "sim/sweep/run.hpp"
#include "sim/sweep/summary.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"help(Examples:
  lamina sweep my.yaml --axis tp=1,2,4,8 --axis pp=1..16*2
  lamina sweep my.yaml --axis tp=1,2,4,8 --axis "dp== 64 / (tp * pp)"
  lamina sweep my.yaml --axis cluster.network.bandwidth=10Gbit/s..400Gbit/s*2
  lamina sweep my.yaml --axis mbs=1,2,4 --where "micro_batches >= 8" -o out.csv
  lamina sweep my.yaml --refine 20          search without contention first

VALUES are a list (1,2,4), a range (1..9+2 adds, 1..64*2 multiplies, 1..100:5 or
1..100:5log are five points) or an expression (= 64 / tp) over other axes and
sizes of the scenario. Axes can also stand in the scenario, under "sweep:".

With -o, rows go to FILE.journal as they come. A sweep that was stopped goes on
from there when the same command runs again. FILE appears when all is done.

Exit codes: 0 done, 1 some points failed (the same command tries them again),
2 command line, 3 scenario invalid, 4 no point can run and fits into memory,
6 environment.)help";

constexpr std::size_t kMostShown = 10;

struct SweepOptions {
  std::string input;
  std::vector<std::string> overrides;
  std::vector<std::string> axes;
  std::vector<std::string> filters;
  std::string output;
  std::string format;
  std::string sort_by = "step_time_s";
  int workers = 0;
  std::int64_t refine = 0;
  std::int64_t limit = 0;
  bool restart = false;
  bool progress = false;
};

/// csv, jsonl or console: as asked for, else by the file's ending.
std::string format_of(const SweepOptions& options) {
  const std::string ending = std::filesystem::path(options.output).extension().string();
  const std::string by_ending = ending == ".csv" ? "csv" : ending == ".jsonl" ? "jsonl" : "";
  if (options.output.empty()) {
    return options.format.empty() ? "console" : options.format;
  }
  if (options.format == "console" || (options.format.empty() && by_ending.empty())) {
    throw UsageError(fmt::format("{}: a table ends in .csv or .jsonl, or --format says which it is", options.output));
  }
  return options.format.empty() ? by_ending : options.format;
}

std::size_t sort_figure(const SweepOptions& options) {
  const auto figure = sweep::figure_named(options.sort_by);
  if (!figure) {
    std::vector<std::string> names;
    for (const sweep::Figure& known : sweep::figures()) {
      names.push_back(known.name);
    }
    const std::string nearest = catalog::nearest_name(options.sort_by, names);
    throw UsageError(fmt::format("--sort-by: there is no column \"{}\"{}; the columns are {}", options.sort_by,
                                 nearest.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", nearest),
                                 fmt::join(names, ", ")));
  }
  return *figure;
}

std::vector<scenario::Override> parse_axes(const std::vector<std::string>& arguments) {
  std::vector<scenario::Override> result;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == argument.size()) {
      throw UsageError(fmt::format("--axis takes KEY=VALUES, for example tp=1,2,4,8; got \"{}\"", argument));
    }
    result.push_back({argument.substr(0, equals), argument.substr(equals + 1)});
  }
  return result;
}

std::vector<scenario::Override> all_overrides(const SweepOptions& options) {
  std::vector<scenario::Override> overrides = parse_overrides(options.overrides);
  if (options.limit > 0) {
    overrides.push_back({"sweep.limit", fmt::format("{}", options.limit)});
  }
  return overrides;
}

sweep::Fingerprint fingerprint_of(const SweepOptions& options, const sweep::Bench& bench,
                                  const std::filesystem::path& catalogue) {
  std::vector<std::filesystem::path> files = bench.loader.named_files(bench.grid.spec());
  files.emplace_back(options.input);
  std::vector<std::string> texts = options.overrides;
  texts.push_back(sweep::hash_of_files(files));
  sweep::Fingerprint fingerprint;
  fingerprint.version = fmt::format("{} {}", LAMINA_VERSION, sweep::hash_of_files({"/proc/self/exe"}));
  fingerprint.scenario = sweep::hash_of(texts);
  fingerprint.points = sweep::hash_of_points(bench.grid);
  fingerprint.catalogue = sweep::hash_of_catalogue(catalogue);
  fingerprint.how = options.refine > 0 ? fmt::format("refine {} by {}", options.refine, options.sort_by) : "";
  return fingerprint;
}

std::filesystem::path journal_of(const SweepOptions& options) {
  return options.output + ".journal";
}

/// Checked before anything is computed: an hour's rows must find their file.
sweep::Journal::Opened open_journal(const SweepOptions& options, const sweep::Fingerprint& fingerprint) {
  check_output_file(options.output, {options.input});
  const std::filesystem::path folder = std::filesystem::path(options.output).parent_path();
  prepare_output_folder(folder.empty() ? "." : folder);
  const std::string head = sweep::journal_head(fingerprint);
  auto opened = sweep::Journal::open(journal_of(options), head, options.restart);
  if (!opened) {
    const sweep::Journal::Refusal& refusal = opened.error();
    const std::string changed = sweep::difference(head, refusal.other_head);
    throw UsageError(changed.empty()
                         ? refusal.reason
                         : fmt::format("{} holds rows of a sweep that differs in: {}; --restart discards them",
                                       journal_of(options).string(), changed));
  }
  return std::move(*opened);
}

struct Table {
  std::string text;
  bool some_failed = false;
};

std::string table_of(const std::string& format, const sweep::Grid& grid, const std::vector<sweep::Row>& rows) {
  return format == "csv" ? sweep::to_csv(grid, rows) : sweep::to_json_lines(grid, rows);
}

bool any(const std::vector<sweep::Row>& rows, sweep::Status status) {
  return std::any_of(rows.begin(), rows.end(), [&](const sweep::Row& row) { return row.status == status; });
}

std::vector<sweep::Row> run_all(const SweepOptions& options, const sweep::Bench& bench, std::size_t sort_by,
                                sweep::Journal::Opened* opened, Session& session) {
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const sweep::RunOptions how{options.workers > 0 ? options.workers : cores, options.refine, sort_by};
  SweepProgress progress(session, options.progress, sweep::figures()[sort_by].name);
  return sweep::run(bench, how, opened == nullptr ? nullptr : &opened->journal,
                    opened == nullptr ? std::vector<std::string>{} : opened->payloads,
                    [&](const sweep::Progress& now) { progress.show(now); });
}

ExitCode report(const std::vector<sweep::Row>& rows, Session& session) {
  if (any(rows, sweep::Status::kFailed)) {
    print_error("failed", "some points were not evaluated (status \"failed\"); the same command tries them again",
                session.colour_errors);
    return ExitCode::kInternal;
  }
  if (!any(rows, sweep::Status::kOk)) {
    print_error("infeasible", "no point of the sweep can run and fits into memory", session.colour_errors);
    return ExitCode::kInfeasible;
  }
  return ExitCode::kDone;
}

ExitCode sweep_file(const SweepOptions& options, Session& session) {
  const std::string format = format_of(options);
  const std::size_t sort_by = sort_figure(options);
  const auto catalogs = pipeline::builtin_catalogs();
  const auto catalogue = scenario::find_catalogue();
  const scenario::Loader loader =
      scenario::open_scenario(options.input, catalogue, pipeline::plugins_of(catalogs), all_overrides(options));
  scenario::SweepSpec spec = loader.sweep(parse_axes(options.axes), options.filters);
  if (spec.empty()) {
    throw UsageError(fmt::format("{} has no sweep: section; give at least one --axis KEY=VALUES", options.input));
  }
  const sweep::Grid grid(loader, std::move(spec));
  const sweep::Bench bench{loader, catalogs, grid};
  sweep::check_file(bench);
  if (options.output.empty()) {
    const auto rows = run_all(options, bench, sort_by, nullptr, session);
    session.results.write(format == "console" ? sweep::to_console(grid, rows, sort_by, kMostShown)
                                              : table_of(format, grid, rows));
    return report(rows, session);
  }
  auto opened = open_journal(options, fingerprint_of(options, bench, catalogue));
  const auto rows = run_all(options, bench, sort_by, &opened, session);
  opened.journal.sync();
  write_file(options.output, table_of(format, grid, rows));
  sweep::sync_file(options.output);
  if (!any(rows, sweep::Status::kFailed)) {
    opened.journal.remove();
  }
  session.results.write(sweep::to_console(grid, rows, sort_by, kMostShown));
  return report(rows, session);
}

void add_options(CLI::App& parser, SweepOptions& options) {
  parser.add_option("FILE", options.input, "Scenario file")->required()->type_name("");
  parser
      .add_option("--axis", options.axes,
                  "Vary a key; repeatable, the first varies slowest.\n"
                  "Replaces an axis of the file on the same key")
      ->type_name("KEY=VALUES")
      ->allow_extra_args(false);
  parser.add_option("--where", options.filters, "Only points that meet this condition; repeatable")
      ->type_name("EXPR")
      ->allow_extra_args(false);
  parser.add_option("--set", options.overrides, "Change one key of every point; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser
      .add_option("-o,--output", options.output,
                  "Write the table into this file (.csv, .jsonl),\n"
                  "and go on from FILE.journal if it is there")
      ->type_name("FILE");
  parser
      .add_option("--format", options.format,
                  "console, csv or jsonl; default: by the ending\n"
                  "of FILE, else console")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"console", "csv", "jsonl"}).description(""));
  parser.add_option("--sort-by", options.sort_by, "Column that says what is best")
      ->type_name("COLUMN")
      ->capture_default_str();
  parser
      .add_option("--refine", options.refine,
                  "First all points without contention, then the N\n"
                  "best with SimGrid")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000}).description(""));
  parser.add_option("--workers", options.workers, "Processes that work; default: one per core")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  parser.add_option("--limit", options.limit, "Most points that are accepted (100000)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000'000}).description(""));
  parser.add_flag("--restart", options.restart, "Discard what FILE.journal holds");
  parser.add_flag("--progress", options.progress, "Progress on standard error, terminal or not");
}

}  // namespace

Command add_sweep(CLI::App& root) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* parser = root.add_subcommand("sweep", "Evaluate many layouts into one table");
  add_options(*parser, *options);
  parser->footer(kExamples);
  return {parser, [options](Session& session) { return sweep_file(*options, session); }};
}

}  // namespace lamina::cli
