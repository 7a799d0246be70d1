#include "sim/cli/run_trace.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "sim/chakra/run_trace.hpp"
#include "sim/chakra/write.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/costs.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/signals.hpp"
#include "sim/scenario/load.hpp"

namespace lamina::cli {
namespace {

void check(const TraceRunOptions& options) {
  if (options.inputs.size() != 1 || std::filesystem::is_directory(options.inputs.front())) {
    throw UsageError("--trace replays one trace on one cluster; give one file");
  }
  if (options.format == "perfetto" && options.output_folder.empty() && ::isatty(STDOUT_FILENO) == 1) {
    throw UsageError("a Perfetto trace is binary; use -o DIR, or redirect standard output to a file");
  }
}

std::string with_line_end(std::string text) {
  if (text.empty() || text.back() != '\n') {
    text += '\n';
  }
  return text;
}

void write_output(const TraceRunOptions& options, const chakra::TraceRun& run, const chakra::Trace& trace) {
  const std::string name = std::filesystem::path(options.trace).filename().string();
  write_files(options.output_folder, {{name + ".report.json", with_line_end(chakra::to_json(run.report))},
                                      {name + ".csv", chakra::to_csv(run.report)},
                                      {name + ".txt", with_line_end(chakra::to_console(run.report, false))},
                                      {name + ".perfetto-trace", chakra::to_perfetto(run, trace)}});
  spdlog::info("wrote {}/{}.report.json, .csv, .txt, .perfetto-trace", options.output_folder, name);
}

}  // namespace

ExitCode run_chakra_trace(const TraceRunOptions& options, Session& session) {
  check(options);
  const auto catalogs = pipeline::builtin_catalogs();
  scenario::Scenario cluster =
      scenario::load_cluster_file(options.inputs.front(), scenario::find_catalogue(), pipeline::plugins_of(catalogs),
                                  parse_overrides(options.overrides));
  if (options.no_fold) {
    cluster.simulation.fold = false;
  }
  if (!options.output_folder.empty()) {
    prepare_output_folder(options.output_folder);
  }
  const Stopwatch stopwatch;
  ProgressLine progress(session.show_progress);
  progress.show(fmt::format("replaying {} ...", options.trace));
  const chakra::Trace trace = chakra::read_trace(options.trace, options.groups);
  const auto run = chakra::run_trace(trace, options.trace, cluster, catalogs);
  progress.hide();
  if (!run) {
    print_error("infeasible", fmt::format("{}: {}", options.inputs.front(), run.error().reason), session.colour_errors);
    return ExitCode::kInfeasible;
  }
  if (!options.output_folder.empty()) {
    write_output(options, *run, trace);
  }
  if (options.format == "json") {
    session.results.write(with_line_end(chakra::to_json(run->report)));
  } else if (options.format == "csv") {
    session.results.write(chakra::to_csv(run->report));
  } else if (options.format == "console") {
    session.results.write(with_line_end(chakra::to_console(run->report, session.colour_results)));
  } else if (options.output_folder.empty()) {
    session.results.write(chakra::to_perfetto(*run, trace));
  }
  if (session.show_costs) {
    fmt::print(stderr, "{}: {}\n", options.trace, stopwatch.describe(run->report.activities));
  }
  return ExitCode::kDone;
}

}  // namespace lamina::cli
