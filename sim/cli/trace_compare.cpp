#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/number_range.hpp"
#include "sim/cli/signals.hpp"
#include "sim/cli/tools.hpp"
#include "sim/cli/trace_import.hpp"
#include "validate/hardware_trace/comparison.hpp"
#include "validate/hardware_trace/read.hpp"

namespace lamina::cli {
namespace {

namespace hardware_trace = validate::hardware_trace;

constexpr const char* kHelp = R"(Examples:
  lamina trace compare rank*.json.gz my.yaml     a real job, and its scenario
  lamina trace compare step.jsonl.gz my.yaml     what trace import -o wrote
  lamina trace compare out/my.perfetto-trace my.yaml       a timeline of run -o
  lamina trace compare rank0.json my.yaml --tolerance 10   exit code 5 beyond

Operations of the traces are matched with those of the scenario's graph: by
name in our own timelines, by the PP: ranges of torch.distributed.pipelining in
PyTorch's; what names no passes is compared by class. Three comparisons follow:
the step, the step replayed with measured compute, durations by kind.

Exit codes: 0 done, 2 command line, 3 not a trace or scenario invalid,
4 scenario cannot run, 5 outside --tolerance, 6 environment.)";

struct CompareOptions {
  std::vector<std::string> inputs;  ///< traces, and the scenario last
  std::vector<std::string> overrides;
  std::string format = "console";
  double tolerance_percent = 0;
};

ExitCode compare_traces(const CompareOptions& options, Session& session) {
  if (options.inputs.size() < 2) {
    throw UsageError("trace compare takes traces and, last, a scenario file");
  }
  const std::string& file = options.inputs.back();
  const std::vector<std::filesystem::path> traces(options.inputs.begin(), options.inputs.end() - 1);
  const Tools tools;
  const auto scenario =
      load_scenario(expand_files({file}).front(), tools.catalogue, tools.plugins, parse_overrides(options.overrides));
  ProgressLine progress(session.show_progress);
  progress.show("reading traces ...");
  auto comparison = hardware_trace::compare_traces(scenario, tools.catalogs, hardware_trace::read_files(traces));
  progress.hide();
  if (!comparison) {
    print_error("infeasible", fmt::format("{}: {}", file, comparison.error().reason), session.colour_errors);
    return ExitCode::kInfeasible;
  }
  comparison->validation.file = file;
  session.results.write(options.format == "json" ? hardware_trace::to_json(*comparison)
                                                 : hardware_trace::to_console(*comparison, session.colour_results));
  const double error = comparison->validation.error();
  if (options.tolerance_percent > 0 && !(std::abs(error) <= options.tolerance_percent / 100)) {
    print_error("outside tolerance",
                fmt::format("{}: the predicted step is {:+.3g} % off the measured one, more than {:g} %", file,
                            error * 100, options.tolerance_percent),
                session.colour_errors);
    return ExitCode::kOutsideTolerance;
  }
  return ExitCode::kDone;
}

}  // namespace

Command add_trace_compare(CLI::App& trace) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* parser = trace.add_subcommand("compare", "Hold traces against a scenario");
  parser->fallthrough();
  parser->add_option("FILES", options->inputs, "Trace files: ranks of one run; last the scenario")
      ->required()
      ->type_name("");
  parser->add_option("--set", options->overrides, "Change one key of the scenario; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser->add_option("--tolerance", options->tolerance_percent, "Percent by which the predicted step may be off")
      ->type_name("PERCENT")
      ->check(number_range(1e-9, 1000));
  parser->add_option("--format", options->format, "console or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"console", "json"}).description(""))
      ->capture_default_str();
  parser->footer(kHelp);
  return {parser, [options](Session& session) { return compare_traces(*options, session); }};
}

}  // namespace lamina::cli
