#include "sim/cli/trace_import.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "sim/cli/costs.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/signals.hpp"
#include "validate/hardware_trace/events_file.hpp"
#include "validate/hardware_trace/import_report.hpp"
#include "validate/hardware_trace/read.hpp"

namespace lamina::cli {
namespace {

namespace hardware_trace = validate::hardware_trace;

constexpr const char* kHelp = R"(Examples:
  lamina trace import rank0.json.gz              where the time of a rank went
  lamina trace import rank*.json -o step.jsonl.gz     all ranks, in short form
  lamina trace import job.tar.gz --format json   an archive of one run's ranks
  lamina trace import report.sqlite              nsys export --type sqlite

Reads traces of PyTorch's profiler (JSON, gzip, tar), Nsight Systems exports
(SQLite), .perfetto-trace files of lamina run -o, and what -o has written.
Several ranks are put on one clock, and waiting is told from transfer.

Exit codes: 0 done, 2 command line, 3 not a trace, 6 environment.)";

struct ImportOptions {
  std::vector<std::string> inputs;
  std::string output;
  std::string format = "console";
};

ExitCode import_traces(const ImportOptions& options, Session& session) {
  if (!options.output.empty()) {
    check_output_file(options.output, options.inputs);
  }
  const Stopwatch stopwatch;
  ProgressLine progress(session.show_progress);
  progress.show("reading traces ...");
  auto traces = hardware_trace::read_files({options.inputs.begin(), options.inputs.end()});
  const auto report = hardware_trace::make_report(traces);
  progress.hide();
  if (!options.output.empty()) {
    write_file(options.output, hardware_trace::to_events_file(traces));
    spdlog::info("wrote {}", options.output);
  }
  if (options.format == "json") {
    session.results.write(hardware_trace::to_json(report));
  } else if (options.format == "csv") {
    session.results.write(hardware_trace::to_csv(report));
  } else {
    session.results.write(hardware_trace::to_console(report, session.colour_results));
  }
  if (session.show_costs) {
    std::int64_t records = 0;
    for (const auto& rank : report.ranks) {
      records += rank.records;
    }
    fmt::print(stderr, "{} ranks: {}\n", report.ranks.size(), stopwatch.describe(records));
  }
  return ExitCode::kDone;
}

}  // namespace

Command add_trace_import(CLI::App& trace) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* parser = trace.add_subcommand("import", "Read what a profiler recorded on devices");
  parser->fallthrough();
  parser->add_option("FILE", options->inputs, "Trace files: ranks of one run")->required()->type_name("");
  parser->add_option("--format", options->format, "console, json or csv")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"console", "json", "csv"}).description(""))
      ->capture_default_str();
  parser
      ->add_option("-o,--output", options->output,
                   "Also write the events, in short form (gzip), for\n"
                   "lamina trace compare")
      ->type_name("OUT");
  parser->footer(kHelp);
  return {parser, [options](Session& session) { return import_traces(*options, session); }};
}

}  // namespace lamina::cli
