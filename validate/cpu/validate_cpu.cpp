#include "validate/cpu/validate_cpu.hpp"

#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/prctl.h>

#include "sim/report/format.hpp"
#include "sim/report/perfetto.hpp"
#include "validate/compare.hpp"
#include "validate/cpu/calibrator.hpp"
#include "validate/cpu/cores.hpp"
#include "validate/cpu/cpu_backend.hpp"
#include "validate/cpu/host_store.hpp"
#include "validate/cpu/merge.hpp"
#include "validate/cpu/plan.hpp"
#include "validate/cpu/products.hpp"
#include "validate/execute.hpp"
#include "validate/fingerprint.hpp"
#include "validate/prepare.hpp"
#include "validate/ranks/address.hpp"
#include "validate/ranks/remote.hpp"
#include "validate/ranks/wire.hpp"
#include "validate/scenario_step.hpp"

namespace lamina::validate::cpu {
namespace {

constexpr double kSlowestExchange = 5;  ///< seconds
constexpr double kPatience = 25;        ///< seconds that ranks may let each other wait, besides what they compute

/// Bytes that programs may still take, less a fifth for the rest of the machine; 0: not known.
double free_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    if (word == "MemAvailable:") {
      double kibibytes = 0;
      file >> kibibytes;
      return kibibytes * 1024 * 0.8;
    }
  }
  return 0;
}

/// What all ranks of this machine know; made before they are.
struct Job {
  const Executable& executable;
  const scenario::Scenario& scenario;
  const Settings& settings;
  Plan plan;
  KernelCalls calls;
  std::unique_ptr<SharedMemory> memory;
  std::optional<ranks::Place> place;  ///< of a launcher
};

EngineSetup engine_setup(const Job& job, std::int32_t rank) {
  const auto program =
      static_cast<std::size_t>(job.executable.deployment.ranks[static_cast<std::size_t>(rank)].program);
  EngineSetup setup;
  setup.lists = &job.calls.lists;
  setup.used.assign(job.calls.lists.size(), 0);
  for (const std::int32_t list : job.calls.list_of[program]) {
    if (list != KernelCalls::kNone) {
      setup.used[static_cast<std::size_t>(list)] = 1;
    }
  }
  setup.units = number_units(job.executable.prepared.graph.programs[program]).count;
  setup.micro_batches = job.scenario.strategy.micro_batches;
  setup.most_bytes = free_memory() / job.scenario.strategy.ranks();
  setup.half = job.scenario.strategy.precision.compute == scenario::DataType::kBf16;
  return setup;
}

const char* name_of(Engine engine) {
  return engine == Engine::kOneDnn ? "onednn" : "openblas";
}

const graph::Program& program_of(const Job& job, std::int32_t rank) {
  const deployment::Rank& here = job.executable.deployment.ranks[static_cast<std::size_t>(rank)];
  return job.executable.prepared.graph.programs[static_cast<std::size_t>(here.program)];
}

std::unique_ptr<HostStore> make_store(const Job& job, std::int32_t rank) {
  HostPlaces places = place_copies(program_of(job, rank));
  if (!job.settings.offload_folder.empty()) {  // ranks without copies too: all measure in the same rounds
    return make_file_store(std::move(places), job.settings.offload_folder);
  }
  return make_memory_store(std::move(places), job.executable.deployment.ranks[static_cast<std::size_t>(rank)],
                           *job.memory);
}

/// Bytes that all ranks copy to and from the host in a step.
double host_bytes(const Job& job) {
  double bytes = 0;
  for (std::int32_t rank = 0; rank < job.scenario.strategy.ranks(); ++rank) {
    bytes += place_copies(program_of(job, rank)).in_step;
  }
  return bytes;
}

/// Kernels alone before every step: a machine that gets slower or faster does so for both.
constexpr int kRoundsBefore = 3;

std::unique_ptr<Transport> connect_rank(const Job& job, std::int32_t rank, ranks::Control& control) {
  if (job.place) {
    return connect_sockets(job.plan.pipes, rank, ranks::own_address(*job.place, control), control);
  }
  return connect(job.settings.wires, job.plan.pipes, rank, job.executable.deployment, job.executable.prepared.fabric,
                 *job.memory, control);
}

/// From a rank's first to its last word.
void be_rank(const Job& job, std::int32_t rank, ranks::Control& control) {
  pin_to_core_of(job.place ? job.place->local_rank : rank);
  constexpr unsigned long kTimerSlackNs = 1000;
  prctl(PR_SET_TIMERSLACK, kTimerSlackNs);  // of this thread and those that it starts
  const EngineSetup setup = engine_setup(job, rank);
  const std::unique_ptr<KernelEngine> engine =
      make_kernel_engine(setup, ProductLibrary(name_of(job.settings.engine)).make(setup.half));
  const Executable& executable = job.executable;
  const std::unique_ptr<Transport> transport = connect_rank(job, rank, control);
  const std::unique_ptr<HostStore> store = make_store(job, rank);
  const Machine machine{
      executable.prepared.graph, executable.deployment, job.plan, job.calls, *engine, *transport, *store, control};
  Calibrator calibrator(machine, rank);
  const bool calibrates = job.settings.predict_by == PredictBy::kMeasurements;
  control.report((calibrates ? calibrator.run() : calibrator.warm_up_only()).pack());
  const std::unique_ptr<Backend> backend = make_cpu_backend(machine, rank);
  for (int repeat = -job.settings.warm_up; repeat < job.settings.repeats; ++repeat) {
    const std::string samples = pack_samples(calibrates ? calibrator.kernels(kRoundsBefore) : KernelSamples{});
    const Execution execution = execute(executable.prepared.graph, executable.deployment, executable.order, *backend);
    if (repeat >= 0) {
      ranks::Packer packer;
      packer.text(pack(execution, rank));
      packer.text(samples);
      control.report(packer.take());
    }
  }
}

/// Seconds of compute of the busiest rank.
double longest_compute(const Calibrated& calibrated) {
  double longest = 0;
  for (const auto& durations : calibrated.durations) {
    longest = std::max(longest, std::accumulate(durations.begin(), durations.end(), 0.0));
  }
  return longest;
}

std::unique_ptr<ranks::Coordinator> start(const Job& job) {
  const auto body = [&job](int rank, ranks::Control& control) { be_rank(job, rank, control); };
  if (job.place) {
    return ranks::join(
        *job.place,
        fingerprint_of(job.executable, job.calls,
                       {static_cast<double>(job.settings.repeats), static_cast<double>(job.settings.warm_up),
                        static_cast<double>(job.settings.engine), static_cast<double>(job.settings.predict_by),
                        job.settings.offload_folder.empty() ? 0.0 : 1.0}),
        kPatience, body);
  }
  return start_ranks(job.settings.wires, job.executable.deployment, job.executable.prepared.fabric,
                     job.scenario.cluster, body);
}

/// What a launcher's processes cannot do; "": all is well.
std::string refusal(const Job& job) {
  if (job.place && job.settings.wires != Wires::kLoopback) {
    return "Processes of a launcher may be on several machines: they send over TCP only; choose --transport tcp.";
  }
  return "";
}

std::string unit_free(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

void add_conditions(const std::vector<RankCalibration>& ranks, const Calibrated& calibrated,
                    const std::vector<Execution>& executions, bool launched, report::Validation& into) {
  const std::size_t cores = own_cores().size();
  into.conditions.push_back(ranks.front().engine);
  into.calibration_spread = into.calibrated ? calibrated.spread : 0;
  for (const Execution& execution : executions) {
    into.involuntary_switches += execution.involuntary_switches;
  }
  const std::string slower = into.calibrated
                                 ? fmt::format("; kernels {} slower beside sends and rings, {} beside receives",
                                               unit_free(1 / (1 - calibrated.slowdown) - 1),
                                               unit_free(1 / (1 - calibrated.receiving_slowdown) - 1))
                                 : "";
  const std::string where = launched ? "the cores where a launcher put them" : fmt::format("{} cores", cores);
  into.conditions.push_back(fmt::format("{} ranks on {}{}", ranks.size(), where, slower));
  if (!launched && ranks.size() > cores) {
    into.warnings.push_back(
        fmt::format("{} ranks share {} cores: order and data are executed, times say nothing.", ranks.size(), cores));
  }
  constexpr double kSpread = 0.1;
  if (into.calibration_spread > kSpread) {
    into.warnings.push_back(fmt::format(
        "The machine is shared or unsteady: equal kernels differ by {} (interquartile range) in the calibration; above "
        "10 % a prediction cannot be judged.",
        unit_free(into.calibration_spread)));
  }
  const double per_second = static_cast<double>(into.involuntary_switches) /
                            (into.measured_s * into.repeats * static_cast<double>(ranks.size()));
  constexpr double kSwitches = 50;
  if (per_second > kSwitches) {
    into.warnings.push_back(fmt::format(
        "Cores were taken away from ranks {:.0f} times per second: other programs run beside them.", per_second));
  }
}

}  // namespace

tl::expected<std::optional<Validated>, error::Infeasible> validate_cpu(const scenario::Scenario& scenario,
                                                                       const pipeline::Catalogs& catalogs,
                                                                       const Settings& settings) {
  using scenario::DataType;
  if (scenario.model.custom) {
    return tl::unexpected(
        error::Infeasible{"A custom model has durations and no kernels that could be run; use --backend virtual."});
  }
  const DataType type = scenario.strategy.precision.compute;
  if (type != DataType::kBf16 && type != DataType::kFp32 && type != DataType::kTf32) {
    return tl::unexpected(error::Infeasible{
        "Processor cores multiply bf16 and fp32 only; set strategy.precision.compute to one of them."});
  }
  if (type == DataType::kBf16 && settings.engine == Engine::kOpenBlas) {
    return tl::unexpected(error::Infeasible{
        "OpenBLAS multiplies fp32 only; set strategy.precision.compute to fp32, or take --engine onednn."});
  }
  const std::optional<ranks::Place> place = ranks::find_place(ranks::variable);
  if (!place && scenario.strategy.ranks() > kMostRanks) {
    return tl::unexpected(error::Infeasible{fmt::format("{} ranks; at most {} are put on the cores of one machine.",
                                                        scenario.strategy.ranks(), kMostRanks)});
  }
  const auto executable = make_executable(scenario, catalogs, scenario::CollectiveForm::kMessage);
  if (!executable) {
    return tl::unexpected(executable.error());
  }
  const graph::OperationGraph& graph = executable->prepared.graph;
  auto plan = plan_pipes(graph, executable->deployment);
  if (!plan) {
    return tl::unexpected(plan.error());
  }
  const double exchange_s = slowest_exchange(*plan, executable->deployment);
  if (exchange_s > kSlowestExchange) {
    return tl::unexpected(
        error::Infeasible{fmt::format("A message, or a ring all-reduce, takes {} on the scenario's network; at most {} "
                                      "are waited for. Set a faster cluster.network.bandwidth or a smaller model.",
                                      report::seconds(exchange_s), report::seconds(kSlowestExchange))});
  }
  Job job{*executable, scenario, settings, std::move(*plan), {}, nullptr, place};
  if (job.place && job.place->size != scenario.strategy.ranks()) {
    throw error::EnvironmentError(fmt::format("{} processes were started for a scenario of {} ranks; start as many",
                                              job.place->size, scenario.strategy.ranks()));
  }
  if (std::string reason = refusal(job); !reason.empty()) {
    return tl::unexpected(error::Infeasible{std::move(reason)});
  }
  job.calls = kernel_calls(graph, executable->prepared.work, scenario.strategy);
  job.memory = std::make_unique<SharedMemory>(job.plan.pipes, executable->deployment);

  const std::string files =
      settings.offload_folder.empty() ? std::string() : describe_file_store(settings.offload_folder);

  const std::unique_ptr<ranks::Coordinator> ranks = start(job);
  if (!ranks) {
    return std::nullopt;
  }
  ranks->greet(kPatience);
  std::vector<RankCalibration> calibrations;
  std::vector<Execution> executions;
  constexpr double kSlowDisk = 5e6;  // bytes per second
  constexpr double kRepeated = 20;   // the calibration's longest silence
  constexpr double kLonger = 3;
  const double expected_s = replay::replay(graph, executable->deployment, executable->options).end_s;
  double patience = kPatience + kRepeated * exchange_s + kLonger * expected_s +
                    (settings.offload_folder.empty() ? 0 : host_bytes(job) / kSlowDisk);
  const auto calibrate = [&](double hidden) {
    return apply(calibrations, executable->deployment, job.plan, job.calls, settings.wires != Wires::kSharedMemory,
                 hidden, !settings.offload_folder.empty());
  };
  ranks->serve([&] { return patience; },
               [&](const std::vector<std::string>& reports) {
                 if (calibrations.empty()) {
                   for (const std::string& report : reports) {
                     calibrations.push_back(RankCalibration::unpack(report));
                   }
                   constexpr double kSlower = 20;  // messages on a slow network, and neighbours
                   patience += kSlower * longest_compute(calibrate(0));
                   return;
                 }
                 std::vector<std::string> records;
                 for (std::size_t rank = 0; rank < reports.size(); ++rank) {
                   ranks::Unpacker unpacker(reports[rank]);
                   records.push_back(unpacker.text());
                   calibrations[rank].add_samples(unpacker.text());
                 }
                 executions.push_back(merge(records, graph, executable->deployment));
               });

  const bool calibrates = settings.predict_by == PredictBy::kMeasurements;
  replay::Options options = executable->options;
  Calibrated calibrated;
  if (calibrates) {
    options.transport = scenario::Transport::kSimgrid;
    calibrated = calibrate(0);
    options.communication_slowdown = calibrated.slowdown;
    options.receiving_slowdown = calibrated.receiving_slowdown;
    options.compute_durations = &calibrated.durations;
    const timeline::Timeline first = replay::replay(graph, calibrated.deployment, options);
    calibrated = calibrate(hidden_share(graph, calibrated.deployment, first));
  } else {
    calibrated.deployment = executable->deployment;
  }
  Timelines timelines;
  Validated validated{compare(graph, calibrated.deployment, executions, options, &timelines), {}};
  report::Validation& result = validated.report;
  result.name = scenario.name;
  result.backend = fmt::format("cpu, {}", job.place ? "TCP between processes of a launcher" : name_of(settings.wires));
  result.calibrated = calibrates;
  add_scenario_step(*executable, result);
  add_conditions(calibrations, calibrated, executions, job.place.has_value(), result);
  if (!files.empty()) {
    result.conditions.push_back(files);
    if (host_bytes(job) <= 0) {
      result.warnings.push_back("No copies to the host, so that no file was written; strategy.offload asks for them.");
    }
  }
  if (settings.perfetto) {
    validated.perfetto =
        report::to_perfetto(graph, calibrated.deployment, timelines.predicted, timelines.measured, scenario.name);
  }
  return validated;
}

}  // namespace lamina::validate::cpu
