#include "validate/validate.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/number_range.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/tools.hpp"
#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/report/step_check.hpp"
#include "sim/report/validation.hpp"
#include "validate/cpu/validate_cpu.hpp"
#include "validate/cuda/validate_cuda.hpp"
#include "validate/numeric/check.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina validate my.yaml                        the executor on virtual devices
  lamina validate my.yaml --tolerance 1          exit code 5 beyond 1 %
  lamina validate my.yaml --backend numeric      does my schedule train?
  lamina validate my.yaml --backend numeric --transport tcp   over sockets
  lamina validate my.yaml --backend cpu          real kernels and messages
  lamina validate my.yaml --backend cpu --calibration scenario   test run itself
  lamina validate my.yaml --backend cpu --offload-to /scratch   real files, too
  lamina validate my.yaml --backend cuda         the same on GPUs
  torchrun --nproc-per-node 8 --no-python lamina validate my.yaml --backend cuda
  lamina validate my.yaml --format json

The graph that "run" replays is executed, operation by operation, and compared
with its replay: the step, the step replayed with the execution's own kernel
durations, every kind of operation, every pipeline rank, the order. On cpu and
cuda also with what "run" prints for the scenario as it is.

Back ends:
  virtual  clocks that advance: exact, proves the executor
  numeric  every operation computes on a tiny decoder: loss, gradients and
           updated weights must be those of one device, whatever the schedule;
           in one process, or with --transport in one per rank
  cpu      a process per rank on the cores of this machine: kernels of the
           model's shapes, messages, rings, copies; calibrated before; under
           torchrun or mpirun, with --transport tcp, on several machines
  cuda     GPUs: cuBLASLt, own kernels, NCCL, pinned copies; a process per GPU,
           or all ranks on one GPU with the scenario's links emulated

Exit codes: 0 done, 2 command line, 3 scenario invalid, 4 cannot run,
5 outside --tolerance or not the same step, 6 environment.)";

struct ValidateOptions {
  std::string input;
  std::vector<std::string> overrides;
  std::string backend = "virtual";
  std::string transport;  ///< empty: memory, for numeric none
  std::string engine = "onednn";
  std::string offload_to = "memory";
  std::string calibration = "measure";
  std::string format = "console";
  std::string output_folder;
  double tolerance_percent = 0;
  int repeats = 0;  ///< 0: as the back end does by default
  bool plain_copies = false;
  bool hold_compute = false;
};

template <class Document>
void write_results(const Document& document, const ValidateOptions& options, Session& session) {
  if (!options.output_folder.empty()) {
    write_files(options.output_folder, {{"validation.json", report::to_json(document)},
                                        {"validation.txt", report::to_console(document, false)}});
    spdlog::info("wrote {}/validation.json, .txt", options.output_folder);
  }
  session.results.write(options.format == "json" ? report::to_json(document)
                                                 : report::to_console(document, session.colour_results));
}

ExitCode refuse(const error::Infeasible& why, const ValidateOptions& options, Session& session) {
  print_error("infeasible", fmt::format("{}: {}", options.input, why.reason), session.colour_errors);
  return ExitCode::kInfeasible;
}

validate::PredictBy predict_by(const ValidateOptions& options) {
  return options.calibration == "scenario" ? validate::PredictBy::kScenario : validate::PredictBy::kMeasurements;
}

validate::cpu::Wires wires_of(const std::string& transport) {
  using validate::cpu::Wires;
  return transport == "ethernet" ? Wires::kNamespaces : transport == "tcp" ? Wires::kLoopback : Wires::kSharedMemory;
}

ExitCode execute_numbers(const scenario::Scenario& scenario, const ValidateOptions& options, const Tools& tools,
                         Session& session) {
  constexpr int kOrders = 3;
  const int orders = options.repeats > 0 ? options.repeats : kOrders;
  auto check = options.transport.empty() || options.transport == "none"
                   ? validate::numeric::check(scenario, tools.catalogs, orders - 1)
                   : validate::numeric::check_on_ranks(scenario, tools.catalogs, orders, wires_of(options.transport));
  if (!check) {
    return refuse(check.error(), options, session);
  }
  check->file = options.input;
  write_results(*check, options, session);
  if (!check->same()) {
    print_error("not the same step", fmt::format("{} does not compute the step of one device", options.input),
                session.colour_errors);
    return ExitCode::kOutsideTolerance;
  }
  return ExitCode::kDone;
}

/// Nothing in a process whose results another one prints.
tl::expected<std::optional<validate::Validated>, error::Infeasible> execute(const scenario::Scenario& scenario,
                                                                            const ValidateOptions& options,
                                                                            const Tools& tools) {
  if (options.backend == "virtual") {
    return validate::validate_virtual(scenario, tools.catalogs, std::max(1, options.repeats),
                                      !options.output_folder.empty());
  }
  if (options.backend == "cuda") {
    validate::cuda::Settings settings;
    settings.repeats = options.repeats > 0 ? options.repeats : settings.repeats;
    settings.emulate_links = !options.plain_copies;
    settings.hold_compute = options.hold_compute;
    settings.predict_by = predict_by(options);
    settings.perfetto = !options.output_folder.empty();
    return validate::cuda::validate_cuda(scenario, tools.catalogs, settings);
  }
  validate::cpu::Settings settings;
  settings.repeats = options.repeats > 0 ? options.repeats : settings.repeats;
  settings.wires = wires_of(options.transport);
  settings.engine = options.engine == "openblas" ? validate::cpu::Engine::kOpenBlas : validate::cpu::Engine::kOneDnn;
  settings.predict_by = predict_by(options);
  settings.offload_folder = options.offload_to == "memory" ? "" : options.offload_to;
  settings.perfetto = !options.output_folder.empty();
  return validate::cpu::validate_cpu(scenario, tools.catalogs, settings);
}

ExitCode execute_clocks(const scenario::Scenario& scenario, const ValidateOptions& options, const Tools& tools,
                        Session& session) {
  auto result = execute(scenario, options, tools);
  if (!result) {
    return refuse(result.error(), options, session);
  }
  std::optional<validate::Validated>& validated = *result;
  if (!validated) {
    return ExitCode::kDone;
  }
  report::Validation* validation = &validated->report;
  validation->file = options.input;
  write_results(*validation, options, session);
  if (!options.output_folder.empty()) {
    write_files(options.output_folder, {{"validation.perfetto-trace", validated->perfetto}});
    spdlog::info("wrote {}/validation.perfetto-trace", options.output_folder);
  }
  const double tolerance = options.tolerance_percent / 100;
  if (tolerance > 0 && std::abs(validation->error()) > tolerance) {
    print_error("outside tolerance",
                fmt::format("{}: the predicted step is {:+.3g} % off the measured one, more than {:g} %", options.input,
                            validation->error() * 100, options.tolerance_percent),
                session.colour_errors);
    return ExitCode::kOutsideTolerance;
  }
  return ExitCode::kDone;
}

ExitCode validate_file(const ValidateOptions& options, Session& session) {
  if (std::filesystem::is_directory(options.input)) {
    throw UsageError(fmt::format("{} is a folder; validate takes one scenario file", options.input));
  }
  const bool numbers = options.backend == "numeric";
  if (numbers && options.tolerance_percent > 0) {
    throw UsageError("--tolerance is about step times, which --backend numeric does not have");
  }
  if (options.transport == "none" && !numbers) {
    throw UsageError("--transport none is for --backend numeric");
  }
  if (!options.transport.empty() && !numbers && options.backend != "cpu") {
    throw UsageError("--transport is for --backend cpu and numeric");
  }
  if (options.backend != "cpu" && (options.engine != "onednn" || options.offload_to != "memory")) {
    throw UsageError("--engine and --offload-to are for --backend cpu");
  }
  if (options.backend != "cpu" && options.backend != "cuda" && options.calibration != "measure") {
    throw UsageError("--calibration scenario is for --backend cpu and cuda; other back ends measure nothing");
  }
  const Tools tools;
  const auto scenario = load_scenario(expand_files({options.input}).front(), tools.catalogue, tools.plugins,
                                      parse_overrides(options.overrides));
  if (!options.output_folder.empty()) {
    prepare_output_folder(options.output_folder);
  }
  return numbers ? execute_numbers(scenario, options, tools, session)
                 : execute_clocks(scenario, options, tools, session);
}

}  // namespace

Command add_validate(CLI::App& root) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* parser = root.add_subcommand("validate", "Execute a scenario's operations and compare");
  parser->add_option("FILE", options->input, "Scenario file")->required()->type_name("");
  parser->add_option("--backend", options->backend, "virtual, numeric, cpu or cuda")
      ->type_name("NAME")
      ->check(CLI::IsMember({"virtual", "numeric", "cpu", "cuda"}).description(""))
      ->capture_default_str();
  parser
      ->add_option("--repeat", options->repeats,
                   "Executions: medians of times, or for numeric\n"
                   "orders of launching; default: 1, numeric 3, cpu\n"
                   "and cuda 5")
      ->type_name("N")
      ->check(CLI::Range(1, 1000).description(""));
  parser
      ->add_option("--transport", options->transport,
                   "cpu, numeric: memory (shared, at the pace of the\n"
                   "scenario's links), tcp (loopback, as fast as it\n"
                   "is) or ethernet (TCP between network namespaces,\n"
                   "ports kept to the scenario's rate); numeric: none\n"
                   "(all ranks in one process); cpu under torchrun or\n"
                   "mpirun: tcp, between their machines")
      ->type_name("NAME")
      ->check(CLI::IsMember({"none", "memory", "tcp", "ethernet"}).description(""))
      ->default_str("memory; numeric: none");
  parser
      ->add_option("--engine", options->engine,
                   "cpu: onednn (bf16 and fp32) or openblas (fp32)\n"
                   "multiplies matrices")
      ->type_name("NAME")
      ->check(CLI::IsMember({"onednn", "openblas"}).description(""))
      ->capture_default_str();
  parser
      ->add_option("--offload-to", options->offload_to,
                   "cpu: host copies go to memory, at the pace of the\n"
                   "scenario's host paths, or to files without names\n"
                   "in this folder, as fast as its disk is")
      ->type_name("FOLDER")
      ->capture_default_str();
  parser
      ->add_option("--calibration", options->calibration,
                   "cpu, cuda: measure (kernels and links, before the\n"
                   "step) or scenario (predict by the scenario's own\n"
                   "cost model and links, as run does; say, those of\n"
                   "lamina calibrate)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"measure", "scenario"}).description(""))
      ->capture_default_str();
  parser->add_flag("--plain-copies", options->plain_copies,
                   "cuda: messages within one GPU are copies, not held\n"
                   "to the pace of the scenario's links");
  parser->add_flag("--hold-compute", options->hold_compute,
                   "cuda: compute only waits, as long as the model\n"
                   "says; ranks of one GPU do not slow each other");
  parser->add_option("--tolerance", options->tolerance_percent, "Percent by which the predicted step may be off")
      ->type_name("PERCENT")
      ->check(number_range(1e-9, 1000));
  parser->add_option("--set", options->overrides, "Change one key of the scenario; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser->add_option("--format", options->format, "console or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"console", "json"}).description(""))
      ->capture_default_str();
  parser
      ->add_option("-o,--output", options->output_folder,
                   "Also write validation.json, validation.txt and, of\n"
                   "steps with times, a Perfetto trace with both\n"
                   "timelines into this folder")
      ->type_name("DIR");
  parser->footer(kExamples);
  return {parser, [options](Session& session) { return validate_file(*options, session); }};
}

}  // namespace lamina::cli
