#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "schedules/schedule.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/costs.hpp"
#include "sim/cli/signals.hpp"
#include "sim/cli/trace_import.hpp"
#include "sim/error/error.hpp"
#include "sim/trace/assemble.hpp"
#include "sim/trace/comparison.hpp"
#include "sim/trace/text.hpp"
#include "sim/trace/write.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina trace replay trace.csv.gz
  lamina trace replay trace.csv.gz --meta meta.yaml --tolerance 0.01
  lamina trace replay trace.csv.gz --schedule gpipe    what another order gives
  lamina trace replay trace.csv.gz --format csv        every step, every worker)";

constexpr const char* kOverview = R"(Examples:
  lamina trace import rank*.json.gz        what a profiler recorded on devices
  lamina trace compare rank*.json.gz my.yaml          held against a scenario
  lamina trace replay trace.csv.gz         passes and messages of a pipeline
  lamina trace import --help               more on one command)";

constexpr const char* kReplayHelp = R"(
Columns: dp_rank, stage, step, optype, start_ts, duration, mb_id, seq_id, mc;
or process_name, thread_name, step, op, start_us, dur_us, mb_id. Plain or gzip.

Exit codes: 0 done, 2 command line, 3 not a trace, or no complete step,
4 the schedule cannot order this job, 5 outside --tolerance.)";

struct TraceOptions {
  std::vector<std::string> inputs;
  std::string meta;
  std::string schedule;
  std::string point_to_point = "usual";
  std::string format = "console";
  std::optional<double> tolerance;
};

trace::CompareOptions compare_options(const TraceOptions& options) {
  trace::CompareOptions result;
  result.schedule = options.schedule;
  if (options.point_to_point == "fused_rendezvous") {
    result.messages = trace::Messages::kFusedRendezvous;
  } else if (options.point_to_point == "separate_streams") {
    result.messages = trace::Messages::kSeparateStreams;
  }
  return result;
}

bool within(const trace::Comparison& comparison, const TraceOptions& options) {
  return !options.tolerance ||
         (comparison.median_absolute_error <= *options.tolerance && comparison.order_differences.empty());
}

std::string joined(const std::vector<std::string>& documents) {
  if (documents.size() == 1) {
    return documents.front();
  }
  std::string text = "[\n";
  for (std::size_t i = 0; i < documents.size(); ++i) {
    text += documents[i].substr(0, documents[i].find_last_not_of('\n') + 1);
    text += i + 1 < documents.size() ? ",\n" : "\n";
  }
  return text + "]\n";
}

void write_results(const std::vector<trace::Comparison>& comparisons, const TraceOptions& options, Session& session) {
  if (options.format == "csv") {
    session.results.write(trace::to_csv(comparisons));
    return;
  }
  std::vector<std::string> documents;
  for (const trace::Comparison& comparison : comparisons) {
    documents.push_back(trace::to_json(comparison));
  }
  session.results.write(joined(documents));
}

void check_schedule(const std::string& name, const catalog::Catalog<schedules::Schedule>& schedules) {
  if (name.empty() || schedules.find(name) != nullptr) {
    return;
  }
  std::vector<std::string> names;
  for (const catalog::PluginInfo& info : schedules.infos()) {
    names.push_back(info.name);
  }
  const std::string nearest = catalog::nearest_name(name, names);
  throw UsageError(fmt::format("there is no schedule \"{}\"{}; see lamina list schedules", name,
                               nearest.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", nearest)));
}

ExitCode replay_traces(const TraceOptions& options, Session& session) {
  if (!options.meta.empty() && options.inputs.size() > 1) {
    throw UsageError("--meta describes one job; give one trace file with it");
  }
  const trace::Layout stated =
      options.meta.empty() ? trace::Layout{} : trace::read_layout(trace::read_unpacked(options.meta), options.meta);
  const auto schedules = schedules::builtin_schedules();
  check_schedule(options.schedule, schedules);
  std::vector<trace::Comparison> comparisons;
  ExitCode verdict = ExitCode::kDone;
  ProgressLine progress(session.show_progress);
  for (const std::string& file : options.inputs) {
    const Stopwatch stopwatch;
    progress.show(fmt::format("replaying {} ...", file));
    const auto job = trace::assemble(trace::read_events(trace::read_unpacked(file), file), file, stated);
    auto comparison = trace::compare(job, schedules, compare_options(options));
    progress.hide();
    if (!comparison) {
      print_error("infeasible", fmt::format("{}: {}", file, comparison.error().reason), session.colour_errors);
      verdict = ExitCode::kInfeasible;
      continue;
    }
    if (options.format == "console") {
      session.results.write((comparisons.empty() ? "" : "\n") + trace::to_console(*comparison, session.colour_results));
    } else if (!comparison->skipped.empty()) {
      spdlog::warn("{}: {} replicas of a step are incomplete and were left out", file, comparison->skipped.size());
    }
    if (!within(*comparison, options)) {
      print_error("outside tolerance",
                  fmt::format("{}: median error {:.4f} %, {} workers in another order", file,
                              100 * comparison->median_absolute_error, comparison->order_differences.size()),
                  session.colour_errors);
      verdict = verdict == ExitCode::kDone ? ExitCode::kOutsideTolerance : verdict;
    }
    if (session.show_costs) {
      fmt::print(stderr, "{}: {}\n", file, stopwatch.describe(comparison->activities));
    }
    comparisons.push_back(std::move(*comparison));
  }
  if (options.format != "console" && !comparisons.empty()) {
    write_results(comparisons, options, session);
  }
  return verdict;
}

}  // namespace

Command add_trace(CLI::App& root) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App* parser = root.add_subcommand("trace", "Read, compare and replay traces of real jobs");
  parser->require_subcommand(1);
  parser->footer(kOverview);
  CLI::App* replay = parser->add_subcommand("replay", "Replay a trace under a schedule and compare");
  replay->fallthrough();
  replay->add_option("FILE", options->inputs, "Trace files (CSV, also gzip), one job each")->required()->type_name("");
  replay->add_option("--format", options->format, "console, json or csv")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"console", "json", "csv"}).description(""))
      ->capture_default_str();
  replay
      ->add_option("--schedule", options->schedule,
                   "A schedule of lamina list schedules; left out:\n"
                   "one_forward_one_backward, or interleaved if\n"
                   "ranks hold several model chunks")
      ->type_name("NAME");
  replay
      ->add_option("--point-to-point", options->point_to_point,
                   "fused_rendezvous, separate_streams or usual:\n"
                   "fused unless the schedule would deadlock")
      ->type_name("HOW")
      ->check(CLI::IsMember({"usual", "fused_rendezvous", "separate_streams"}).description(""))
      ->capture_default_str();
  replay
      ->add_option("--meta", options->meta,
                   "The job's metadata (pp_size, dp_size, vpp_size),\n"
                   "to notice ranks that are not in the trace")
      ->type_name("FILE");
  replay
      ->add_option("--tolerance", options->tolerance,
                   "Exit with 5 if the median |error| is larger (0.01\n"
                   "is 1 %) or an order differs from the schedule's")
      ->type_name("FRACTION")
      ->check(CLI::Validator(
          [](const std::string& text) {
            const bool is_fraction = text.find_first_not_of("0123456789.eE+-") == std::string::npos &&
                                     std::strtod(text.c_str(), nullptr) >= 0;
            return is_fraction ? std::string() : fmt::format("takes a number, 0 or more; got \"{}\"", text);
          },
          ""));
  replay->footer(std::string(kExamples) + "\n" + kReplayHelp);
  const std::vector<Command> commands = {
      {replay, [options](Session& session) { return replay_traces(*options, session); }},
      add_trace_import(*parser),
      add_trace_compare(*parser)};
  return {parser, [commands](Session& session) {
            const auto chosen =
                std::find_if(commands.begin(), commands.end(), [](const Command& c) { return c.parser->parsed(); });
            if (chosen == commands.end()) {
              throw error::InternalError("no command of trace was parsed");
            }
            return chosen->execute(session);
          }};
}

}  // namespace lamina::cli
