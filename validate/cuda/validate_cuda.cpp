#include "validate/cuda/validate_cuda.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/report/perfetto.hpp"
#include "validate/compare.hpp"
#include "validate/cuda/device_process.hpp"
#include "validate/fingerprint.hpp"
#include "validate/plugins.hpp"
#include "validate/ranks/remote.hpp"
#include "validate/scenario_step.hpp"

namespace lamina::validate::cuda {
namespace {

constexpr double kPatience = 28;  ///< seconds that processes may let each other wait, besides what they compute

/// Seconds of every compute operation, as the kernels' calibration has them.
std::vector<std::vector<double>> calibrated_durations(const Job& job, const std::vector<Calibration>& calibrations) {
  std::vector<std::vector<double>> durations;
  const deployment::Deployment& deployment = job.executable.deployment;
  for (std::size_t rank = 0; rank < deployment.ranks.size(); ++rank) {
    const deployment::Rank& here = deployment.ranks[rank];
    const auto program = static_cast<std::size_t>(here.program);
    const auto& operations = job.executable.prepared.graph.programs[program].operations;
    const std::vector<double>& lists = calibrations[job.one_device ? 0 : rank].lists.median_s;
    std::vector<double>& of_rank = durations.emplace_back(operations.size(), 0);
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const std::int32_t list = job.calls.list_of[program][i];
      if (list != KernelCalls::kNone) {
        const double measured = lists.at(static_cast<std::size_t>(list));
        of_rank[i] = measured > 0 ? measured + (here.slowness - 1) * operations[i].duration_s
                                  : operations[i].duration_s * here.slowness;
      }
    }
  }
  return durations;
}

/// Of kernels, weighted by their time in a step of rank 0.
double spread_of(const Job& job, const std::vector<Calibration>& calibrations) {
  double seconds = 0;
  double weighted = 0;
  const ListTimes& lists = calibrations.front().lists;
  const auto program = static_cast<std::size_t>(job.executable.deployment.ranks.front().program);
  for (const std::int32_t list : job.calls.list_of[program]) {
    if (list != KernelCalls::kNone) {
      seconds += lists.median_s[static_cast<std::size_t>(list)];
      weighted += lists.median_s[static_cast<std::size_t>(list)] * lists.spread[static_cast<std::size_t>(list)];
    }
  }
  return seconds > 0 ? weighted / seconds : 0;
}

void add_conditions(const Job& job, const std::vector<Calibration>& calibrations, report::Validation& into) {
  const std::size_t ranks = job.executable.deployment.ranks.size();
  double most = 0;
  for (const Calibration& calibration : calibrations) {
    most = std::max(most, calibration.memory_bytes);
  }
  into.conditions.push_back(calibrations.front().device);
  into.conditions.push_back(fmt::format("{} of device memory taken{}", fmt::format("{:.2f} GiB", most / 0x1p30),
                                        job.one_device && ranks > 1 ? " by all ranks together" : ""));
  into.calibration_spread = into.calibrated ? spread_of(job, calibrations) : 0;
  constexpr double kSpread = 0.1;
  if (into.calibration_spread > kSpread) {
    into.warnings.push_back(
        fmt::format("The GPU is shared or unsteady: equal kernels differ by {:.1f} % (interquartile range) in the "
                    "calibration; above 10 % a prediction cannot be judged.",
                    into.calibration_spread * 100));
  }
  if (!job.one_device || ranks == 1) {
    return;
  }
  if (!job.settings.hold_compute) {
    into.warnings.push_back(
        fmt::format("{} ranks share one GPU: where they compute at once, each is slower than the "
                    "calibration of kernels alone says. --hold-compute leaves only the order.",
                    ranks));
  }
  if (!job.settings.emulate_links) {
    into.warnings.emplace_back("Messages were copies within one GPU, which the scenario's links do not describe.");
  } else {
    into.conditions.emplace_back("links emulated one message at a time: the prediction knows no contention either");
  }
}

std::string fingerprint(const Job& job) {
  return fingerprint_of(job.executable, job.calls,
                        {static_cast<double>(kPluginVersion), static_cast<double>(job.settings.repeats),
                         static_cast<double>(job.settings.warm_up), job.settings.hold_compute ? 1.0 : 0.0});
}

std::unique_ptr<ranks::Coordinator> start(const Job& job, const std::optional<ranks::Place>& place) {
  if (place) {
    return ranks::join(*place, fingerprint(job), kPatience, [&](int rank, ranks::Control& control) {
      drive_devices(job, rank, place->local_rank, control);
    });
  }
  const int processes = job.one_device ? 1 : static_cast<int>(job.executable.deployment.ranks.size());
  return ranks::launch(processes, [&](int rank, ranks::Control& control) { drive_devices(job, rank, rank, control); });
}

struct Measured {
  std::vector<Calibration> calibrations;
  std::vector<std::vector<double>> durations;
  std::vector<Execution> executions;
};

Measured serve(const Job& job, ranks::Coordinator& processes) {
  Measured result;
  double patience = kPatience;
  processes.greet(kPatience);
  processes.serve([&] { return patience; },
                  [&](const std::vector<std::string>& reports) {
                    if (!result.calibrations.empty()) {
                      result.executions.push_back(merge_records(job, reports));
                      return;
                    }
                    for (const std::string& report : reports) {
                      result.calibrations.push_back(Calibration::unpack(report));
                    }
                    result.durations = calibrated_durations(job, result.calibrations);
                    double sum = 0;
                    for (const auto& of_rank : result.durations) {
                      for (const double duration : of_rank) {
                        sum += duration;  // one GPU may do all of it
                      }
                    }
                    constexpr double kSlower = 10;
                    patience += kSlower * sum * (job.settings.warm_up + 1);
                  });
  return result;
}

Validated judge(const Job& job, const Measured& measured) {
  const Executable& executable = job.executable;
  replay::Options options = executable.options;
  const bool calibrated = job.settings.predict_by == PredictBy::kMeasurements;
  if (calibrated) {
    options.compute_durations = &measured.durations;
  }
  if (job.one_device && job.settings.emulate_links && executable.deployment.ranks.size() > 1) {
    options.transport = scenario::Transport::kNoContention;
    options.communication_slowdown = 0;
  }
  Timelines timelines;
  Validated result{compare(executable.prepared.graph, executable.deployment, measured.executions, options, &timelines),
                   {}};
  result.report.name = job.scenario.name;
  result.report.backend = job.one_device ? "cuda, one process" : "cuda, a process per GPU";
  result.report.calibrated = calibrated;
  add_scenario_step(executable, result.report);
  add_conditions(job, measured.calibrations, result.report);
  if (job.settings.perfetto) {
    result.perfetto = report::to_perfetto(executable.prepared.graph, executable.deployment, timelines.predicted,
                                          timelines.measured, job.scenario.name);
  }
  return result;
}

std::string without_rank(const std::string& text) {
  const std::string prefix = "rank 0: ";  // whoever asked for GPUs knows nothing of ranks
  return text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text;
}

}  // namespace

int count_devices() {
  int count = 0;
  try {
    const auto process = ranks::launch(1, [](int, ranks::Control& control) {
      const Plugin plugin("cuda");
      std::vector<Device> devices;
      plugin.entry<FindDevices>("lamina_cuda_devices")(devices);
      control.report(std::to_string(devices.size()));
    });
    process->greet(kPatience);
    process->serve([] { return kPatience; },
                   [&](const std::vector<std::string>& reports) { count = std::stoi(reports.front()); });
  } catch (const error::EnvironmentError& fault) {
    throw error::EnvironmentError(without_rank(fault.what()));
  }
  return count;
}

tl::expected<std::optional<Validated>, error::Infeasible> validate_cuda(const scenario::Scenario& scenario,
                                                                        const pipeline::Catalogs& catalogs,
                                                                        const Settings& settings) {
  const int ranks = scenario.strategy.ranks();
  const std::optional<ranks::Place> place = ranks::find_place(ranks::variable);
  if (place && place->size != ranks) {
    throw error::EnvironmentError(fmt::format(
        "{} processes were started for a scenario of {} ranks; start as many, one per GPU", place->size, ranks));
  }
  const bool one_device = !place && (ranks == 1 || count_devices() < ranks);
  if (one_device && ranks > kMostRanksOfOneDevice) {
    return tl::unexpected(
        error::Infeasible{fmt::format("{} ranks; at most {} are put on one GPU.", ranks, kMostRanksOfOneDevice)});
  }
  const auto executable = make_executable(scenario, catalogs, scenario::CollectiveForm::kFluid);
  if (!executable) {
    return tl::unexpected(executable.error());
  }
  const KernelCalls calls = kernel_calls(executable->prepared.graph, executable->prepared.work, scenario.strategy);
  const Job job{*executable, scenario, settings, calls, one_device};
  try {
    const std::unique_ptr<ranks::Coordinator> processes = start(job, place);
    if (!processes) {
      return std::nullopt;
    }
    return judge(job, serve(job, *processes));
  } catch (const error::EnvironmentError& fault) {
    throw error::EnvironmentError(one_device ? without_rank(fault.what()) : fault.what());
  }
}

}  // namespace lamina::validate::cuda
