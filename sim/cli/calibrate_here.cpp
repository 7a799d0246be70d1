#include "sim/cli/calibrate_here.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "sim/cli/command.hpp"
#include "sim/cli/number_range.hpp"
#include "sim/scenario/load.hpp"
#include "validate/cpu/micro_benchmarks.hpp"
#include "validate/cuda/micro.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kDefaultName = "this-core";
constexpr const char* kDefaultModel =
    "{name: decoder-1024, source: shapes to measure, layers: 1, hidden: 1024, sequence_length: 1024, heads: 16, "
    "head_size: 64, feed_forward: 4096, vocabulary: 0}";

/// The work of one rank on one sequence.
model::WorkModel work_of(const HereOptions& options, bool fused, const Tools& tools) {
  const int devices = options.tensor_parallel;
  const std::string text = fmt::format(
      "schema_version: 1\n"
      "cluster: {{node: {{base: cpu-core, devices: {0}}}, topology: nvlink_switch}}\n"
      "strategy: {{tensor_parallel: {0}, micro_batches: 1, fused_attention: {1}}}\n",
      devices, fused);
  scenario::Scenario scenario = scenario::load_text(text, "the model to measure", tools.catalogue, tools.plugins,
                                                    {{"model", options.model.empty() ? kDefaultModel : options.model}});
  if (scenario.model.custom) {
    throw UsageError("--model takes a model with layers; a custom one has durations and no kernels");
  }
  scenario.model.causal_half = false;  // these kernels know no mask
  return model::work_model(scenario, tools.catalogs.cost_models);
}

void check_name(const std::string& name, const Tools& tools) {
  for (const scenario::CatalogueEntry& entry : scenario::list_catalogue(tools.catalogue)) {
    for (const char* suffix :
         {"", "-fp32", "-ring", "-file-write", "-file-read", "-fp16", "-tf32", "-fp8", "-to-host"}) {
      if (entry.kind != "model" && entry.kind != "node" && entry.name == name + suffix) {
        throw UsageError(fmt::format("--name takes a name of its own; the catalogue has \"{}\"", entry.name));
      }
    }
  }
}

/// Cases are sized for a device that is so many times as fast as a core.
validate::calibration::Calibration calibrate_gpu(const HereOptions& options, const std::string& name,
                                                 const Tools& tools) {
  constexpr double kFaster = 1000;
  const validate::cpu::MicroPlan plan = validate::cpu::micro_plan(
      work_of(options, true, tools), work_of(options, false, tools), kFaster * options.seconds);
  validate::cuda::MicroRequest request;
  request.plan = &plan;
  request.seconds = options.seconds;
  spdlog::info("measuring on GPU 0, {:g} s", options.seconds);
  return validate::cuda::micro_calibration(plan, validate::cuda::run_micro_benchmarks(request), name);
}

}  // namespace

void add_here_options(CLI::App& parser, HereOptions& options) {
  parser
      .add_option("--model", options.model,
                  "Measure here: products and attention of this\n"
                  "model; default: of a decoder 1,024 wide")
      ->type_name("NAME");
  parser
      .add_option("--tensor-parallel", options.tensor_parallel,
                  "Measure here: ranks that share the model's\n"
                  "layers")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""))
      ->capture_default_str();
  parser.add_option("--device", options.device, "Measure here: cpu, or cuda: products, copies and\nlaunches on GPU 0")
      ->type_name("KIND")
      ->check(CLI::IsMember({"cpu", "cuda"}).description(""))
      ->capture_default_str();
  parser
      .add_option("--seconds", options.seconds,
                  "Measure here: in about this time; what does not\n"
                  "fit is left out")
      ->type_name("N")
      ->check(number_range(1, 86400))
      ->capture_default_str();
  parser
      .add_option("--scratch", options.scratch,
                  "Measure here: folder of the file that is written\n"
                  "and read; default: that of temporary files")
      ->type_name("DIR");
}

validate::calibration::Calibration calibrate_here(const HereOptions& options, const std::string& name,
                                                  const Tools& tools) {
  const bool gpu = options.device == "cuda";
  const std::string entries = name.empty() ? (gpu ? "this-gpu" : kDefaultName) : name;
  check_name(entries, tools);
  if (gpu) {
    if (!options.scratch.empty()) {
      throw UsageError("--scratch is about files, which --device cuda does not measure");
    }
    return calibrate_gpu(options, entries, tools);
  }
  std::error_code unknown;
  validate::cpu::MicroSettings settings;
  settings.seconds = options.seconds;
  settings.scratch =
      options.scratch.empty() ? std::filesystem::temp_directory_path(unknown) : std::filesystem::path(options.scratch);
  if (!options.scratch.empty() && !std::filesystem::is_directory(settings.scratch, unknown)) {
    throw UsageError(fmt::format("--scratch takes a folder, not \"{}\"", options.scratch));
  }
  const validate::cpu::MicroPlan plan =
      validate::cpu::micro_plan(work_of(options, true, tools), work_of(options, false, tools), options.seconds);
  spdlog::info("measuring on this machine's cores, {:g} s", options.seconds);
  const validate::cpu::MicroResult result = validate::cpu::run_micro_benchmarks(plan, settings);
  for (const std::string& warning : validate::cpu::micro_warnings(result)) {
    spdlog::warn("{}", warning);
  }
  return validate::cpu::micro_calibration(plan, result, entries);
}

}  // namespace lamina::cli
