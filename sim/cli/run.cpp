#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "sim/cli/command.hpp"
#include "sim/cli/costs.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/run_trace.hpp"
#include "sim/cli/signals.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/report/graph_text.hpp"
#include "sim/report/perfetto.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/load.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina run scenarios/quickstart.yaml
  lamina run scenarios/quickstart.yaml --set strategy.micro_batches=64
  lamina run scenarios/quickstart.yaml --set cluster.network=ethernet-25-roce
  lamina run scenarios/quickstart.yaml --format json
  lamina run scenarios/quickstart.yaml -o out     and a trace for Perfetto
  lamina run scenarios/published/layered-modular-2021/      a folder, compared
  lamina run cluster.yaml --trace traces/step     a Chakra trace, on a cluster

Exit codes: 0 done, 1 fault of Lamina, 2 command line, 3 scenario invalid,
4 cannot run or does not fit into memory, 6 environment (permission, space).)";

struct RunOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> overrides;
  std::string output_folder;
  std::string format = "console";
  bool no_fold = false;
  bool dump_graph = false;
  std::string trace;
  std::string trace_groups;
};

/// One run of the command: files in, reports out.
struct Job {
  const RunOptions& options;
  Session& session;
  std::vector<std::filesystem::path> files;
  std::deque<scenario::Scenario> scenarios;  ///< reports point into it, so it must not move
  std::vector<report::Report> reports;
  std::vector<std::string> documents;  ///< JSON, one per report
  bool some_infeasible = false;
};

/// Two scenarios of one name would overwrite each other's files: found before anything runs.
void check_names(const std::vector<std::filesystem::path>& files) {
  std::map<std::string, std::string> taken;
  if (files.size() > 1) {
    taken["comparison"] = "the comparison of all files";
  }
  for (const auto& file : files) {
    const auto [owner, is_new] = taken.emplace(file.stem().string(), file.string());
    if (!is_new) {
      throw UsageError(
          fmt::format("{} and {} would write the same files ({}.report.json, ...); run them into different "
                      "folders",
                      owner->second, file.string(), file.stem().string()));
    }
  }
}

void check_options(const RunOptions& options, std::size_t files) {
  if (options.dump_graph && (options.format != "console" || !options.output_folder.empty())) {
    throw UsageError("--dump-graph prints the graph instead of a report; leave --format and -o away");
  }
  if (options.format != "perfetto" || !options.output_folder.empty()) {
    return;
  }
  if (files > 1) {
    throw UsageError("a trace holds one scenario; use -o DIR to get one file each");
  }
  if (::isatty(STDOUT_FILENO) == 1) {
    throw UsageError("a Perfetto trace is binary; use -o DIR, or redirect standard output to a file");
  }
}

std::string with_line_end(std::string text) {
  if (text.empty() || text.back() != '\n') {
    text += '\n';
  }
  return text;
}

void write_output_folder(const Job& job, const std::filesystem::path& file, const pipeline::Result& result) {
  const std::string name = file.stem().string();
  const report::Report& report = result.report;
  const auto& prepared = result.prepared;
  write_files(job.options.output_folder,
              {{name + ".report.json", with_line_end(report::to_json(report))},
               {name + ".csv", with_line_end(report::to_csv({report}))},
               {name + ".txt", with_line_end(report::to_console(report, false))},
               {name + ".perfetto-trace",
                report::to_perfetto(prepared.graph, prepared.deployment, result.timeline, report.scenario->name)}});
  spdlog::info("wrote {}/{}.report.json, .csv, .txt, .perfetto-trace", job.options.output_folder, name);
}

/// What can be printed scenario by scenario; JSON and CSV of several files are one document, printed at the end.
void print_one(Job& job, const pipeline::Result& result) {
  const std::string& format = job.options.format;
  if (format == "console") {
    if (!job.reports.empty()) {
      job.session.results.write("\n");
    }
    job.session.results.write(with_line_end(report::to_console(result.report, job.session.colour_results)));
  } else if (format == "json") {
    job.documents.push_back(report::to_json(result.report));
  } else if (format == "perfetto" && job.options.output_folder.empty()) {
    job.session.results.write(report::to_perfetto(result.prepared.graph, result.prepared.deployment, result.timeline,
                                                  result.report.scenario->name));
  }
}

std::string json_array(const std::vector<std::string>& documents) {
  std::string text = "[";
  for (std::size_t i = 0; i < documents.size(); ++i) {
    std::string document = documents[i];
    while (!document.empty() && document.back() == '\n') {
      document.pop_back();
    }
    text += (i == 0 ? "\n" : ",\n") + document;
  }
  return text + "\n]\n";
}

void print_all(Job& job) {
  const std::string& format = job.options.format;
  if (format == "json" && job.files.size() == 1 && !job.documents.empty()) {
    job.session.results.write(with_line_end(job.documents.front()));
  } else if (format == "json" && job.files.size() > 1) {
    job.session.results.write(json_array(job.documents));
  } else if (format == "csv" && !job.reports.empty()) {
    job.session.results.write(with_line_end(report::to_csv(job.reports)));
  } else if (format == "console" && job.files.size() > 1 && !job.reports.empty()) {
    job.session.results.write("\n");
    job.session.results.write(with_line_end(report::to_comparison(job.reports, job.session.colour_results)));
  }
  if (job.files.size() > 1 && !job.reports.empty() && !job.options.output_folder.empty()) {
    write_files(job.options.output_folder,
                {{"comparison.txt", with_line_end(report::to_comparison(job.reports, false))}});
  }
}

void run_one(Job& job, std::size_t index, const pipeline::Catalogs& catalogs, ProgressLine& progress) {
  const auto& file = job.files[index];
  const Stopwatch stopwatch;
  progress.show(fmt::format("replaying file {} of {}: {} ...", index + 1, job.files.size(), file.filename().string()));
  auto result = pipeline::simulate(job.scenarios[index], catalogs);
  if (!result) {
    progress.hide();
    job.some_infeasible = true;
    print_error("infeasible", fmt::format("{}: {}", file.string(), result.error().reason), job.session.colour_errors);
    return;
  }
  if (!job.options.output_folder.empty()) {
    write_output_folder(job, file, *result);
  }
  progress.hide();
  print_one(job, *result);
  if (!result->report.fits && job.scenarios[index].simulation.enforce_memory) {
    job.some_infeasible = true;
    print_error("does not fit", fmt::format("{}: {}", file.string(), result->report.why_not),
                job.session.colour_errors);
  }
  if (job.session.show_costs) {
    fmt::print(stderr, "{}: {}\n", file.filename().string(), stopwatch.describe(result->report.activities));
  }
  job.reports.push_back(std::move(result->report));
}

/// What would be replayed, without replaying it.
void dump_graph(Job& job, std::size_t index, const pipeline::Catalogs& catalogs) {
  const auto prepared = pipeline::prepare(job.scenarios[index], catalogs);
  if (!prepared) {
    job.some_infeasible = true;
    print_error("infeasible", fmt::format("{}: {}", job.files[index].string(), prepared.error().reason),
                job.session.colour_errors);
    return;
  }
  job.session.results.write(report::graph_text_head(prepared->graph, printable(job.scenarios[index].name)));
  for (std::size_t program = 0; program < prepared->graph.programs.size(); ++program) {
    job.session.results.write(report::to_graph_text(prepared->graph, program));
  }
}

ExitCode run(const RunOptions& options, Session& session) {
  if (!options.trace.empty()) {
    if (options.dump_graph) {
      throw UsageError("--dump-graph prints what a scenario does; a trace is what it does");
    }
    return run_chakra_trace({options.inputs, options.overrides, options.output_folder, options.format, options.no_fold,
                             options.trace, options.trace_groups},
                            session);
  }
  Job job{options, session, expand_files(options.inputs), {}, {}, {}, false};
  check_options(options, job.files.size());
  const auto overrides = parse_overrides(options.overrides);
  const auto catalogs = pipeline::builtin_catalogs();
  const auto plugins = pipeline::plugins_of(catalogs);
  const auto catalogue = scenario::find_catalogue();
  if (!options.output_folder.empty()) {
    check_names(job.files);
    prepare_output_folder(options.output_folder);
  }
  for (const auto& file : job.files) {  // all of them first: a fault in the last must not be found after an hour
    job.scenarios.push_back(load_scenario(file, catalogue, plugins, overrides));
    if (options.no_fold) {
      job.scenarios.back().simulation.fold = false;
    }
  }
  ProgressLine progress(session.show_progress);
  for (std::size_t i = 0; i < job.files.size(); ++i) {
    if (session.results.reader_gone() && options.output_folder.empty()) {
      break;
    }
    if (options.dump_graph) {
      dump_graph(job, i, catalogs);
    } else {
      run_one(job, i, catalogs, progress);
    }
  }
  progress.hide();
  print_all(job);
  return job.some_infeasible ? ExitCode::kInfeasible : ExitCode::kDone;
}

}  // namespace

Command add_run(CLI::App& root) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* parser = root.add_subcommand("run", "Simulate a training step and report it");
  parser->add_option("FILE", options->inputs, "Scenario files, or folders of them")->required()->type_name("");
  parser
      ->add_option("--set", options->overrides,
                   "Change one key of every scenario; repeatable.\n"
                   "dp, pp, tp, mbs, gbs and schedule stand for\nstrategy keys")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser
      ->add_option("-o,--output", options->output_folder,
                   "Also write NAME.report.json, NAME.csv, NAME.txt\n"
                   "and NAME.perfetto-trace into this folder")
      ->type_name("DIR");
  parser->add_option("--format", options->format, "console, json, csv or perfetto (a binary trace)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"console", "json", "csv", "perfetto"}).description(""))
      ->capture_default_str();
  parser->add_flag("--no-fold", options->no_fold, "Replay every rank, not one of each class");
  parser->add_flag("--dump-graph", options->dump_graph,
                   "Print what every pipeline rank executes, with\nits dependencies, instead of a report");
  CLI::Option* trace =
      parser
          ->add_option(
              "--trace", options->trace,
              "Replay the Chakra execution trace in PREFIX.0.et,\nPREFIX.1.et, ... on FILE's cluster; FILE needs\n"
              "no model and no strategy (docs/chakra.md)")
          ->type_name("PREFIX")
          ->check([](const std::string& name) { return name.empty() ? "the name is empty" : ""; });
  parser
      ->add_option("--trace-groups", options->trace_groups,
                   "Its process groups; default: comm_groups.json\nbeside the trace")
      ->type_name("JSON")
      ->needs(trace);
  parser->footer(kExamples);
  return {parser, [options](Session& session) { return run(*options, session); }};
}

}  // namespace lamina::cli
