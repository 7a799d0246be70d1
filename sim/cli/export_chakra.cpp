#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "sim/chakra/export.hpp"
#include "sim/chakra/trace.hpp"
#include "sim/cli/export.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/signals.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/load.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina export chakra my.yaml -o traces/step
  lamina run my.yaml --trace traces/step       the same step, from the trace
  lamina export chakra my.yaml -o traces/step --set strategy.schedule=gpipe

Writes traces/step.0.et, traces/step.1.et, ... and traces/comm_groups.json, as
ASTRA-sim reads them: rank r is what device r executes, stream order is written
as dependencies. Durations are whole microseconds there; attribute duration_ns
keeps the rest for Lamina. docs/chakra.md has the details.)";

struct ChakraOptions {
  std::string input;
  std::string output;
  std::vector<std::string> overrides;
};

ExitCode infeasible(const ChakraOptions& options, const std::string& reason, const Session& session) {
  print_error("infeasible", fmt::format("{}: {}", options.input, reason), session.colour_errors);
  return ExitCode::kInfeasible;
}

/// In all files, before any rank is laid out: every pipeline rank's program runs on as many devices.
double nodes_of(const scenario::Scenario& scenario, const graph::OperationGraph& graph) {
  double operations = 0;
  for (const graph::Program& program : graph.programs) {
    operations += static_cast<double>(program.operations.size());
  }
  return operations * scenario.strategy.ranks() / static_cast<double>(graph.programs.size());
}

ExitCode export_trace(const ChakraOptions& options, Session& session) {
  if (std::filesystem::is_directory(options.input)) {
    throw UsageError(fmt::format("{} is a folder; export takes one scenario file", options.input));
  }
  const std::filesystem::path prefix(options.output);
  if (prefix.filename().empty()) {
    throw UsageError("-o takes the beginning of the files' names, for example traces/step");
  }
  const auto catalogs = pipeline::builtin_catalogs();
  auto scenario = load_scenario(options.input, scenario::find_catalogue(), pipeline::plugins_of(catalogs),
                                parse_overrides(options.overrides));
  if (!scenario.disturbances.empty()) {
    spdlog::warn(
        "the trace is of a cluster without the scenario's disturbances; lamina run --trace takes them from the "
        "cluster's file");
    scenario.disturbances = {};
  }
  const auto prepared = pipeline::prepare(scenario, catalogs);
  if (prepared && prepared->work.forward_launches.kernel.value() > 0) {
    spdlog::warn("the trace holds how long devices compute; the launches of their hosts ({}) are not in it",
                 scenario.simulation.cost_model.name);
  }
  if (!prepared) {
    return infeasible(options, prepared.error().reason, session);
  }
  if (const double nodes = nodes_of(scenario, prepared->graph); nodes > static_cast<double>(chakra::kMostNodes)) {
    return infeasible(options,
                      fmt::format("the trace would have {:.0f} nodes in {} files, and Lamina writes at most {}", nodes,
                                  scenario.strategy.ranks(), chakra::kMostNodes),
                      session);
  }
  scenario.simulation.fold = false;
  const pipeline::Layout layout = pipeline::lay_out(scenario, prepared->graph, prepared->fabric, catalogs);
  const chakra::Exporter exporter(prepared->graph, layout.deployment);
  const std::filesystem::path folder = prefix.has_parent_path() ? prefix.parent_path() : ".";
  prepare_output_folder(folder);
  const std::filesystem::path beyond(fmt::format("{}.{}.et", prefix.string(), exporter.ranks()));
  if (std::filesystem::exists(beyond)) {
    throw UsageError(
        fmt::format("{} is of another trace, with more than {} ranks; remove that trace or choose another -o",
                    beyond.string(), exporter.ranks()));
  }
  ProgressLine progress(session.show_progress);
  for (std::size_t rank = 0; rank < exporter.ranks(); ++rank) {
    progress.show(fmt::format("writing rank {} of {} ...", rank, exporter.ranks()));
    write_files(folder, {{fmt::format("{}.{}.et", prefix.filename().string(), rank), exporter.rank_file(rank)}});
  }
  write_files(folder, {{"comm_groups.json", exporter.groups_file()}});
  progress.hide();
  spdlog::info("wrote {}.0.et to {}.{}.et and comm_groups.json", prefix.string(), prefix.string(),
               exporter.ranks() - 1);
  return ExitCode::kDone;
}

}  // namespace

Command add_export_chakra(CLI::App& parent) {
  auto options = std::make_shared<ChakraOptions>();
  CLI::App* parser = parent.add_subcommand("chakra", "The step as a Chakra execution trace");
  parser->add_option("FILE", options->input, "Scenario file")->required()->type_name("");
  parser->add_option("-o,--output", options->output, "Beginning of the files' names")->required()->type_name("PREFIX");
  parser->add_option("--set", options->overrides, "Change one key of the scenario; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser->footer(kExamples);
  return {parser, [options](Session& session) { return export_trace(*options, session); }};
}

}  // namespace lamina::cli
