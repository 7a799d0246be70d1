#include "sim/pipeline/coarse.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "sim/deployment/deployment.hpp"
#include "sim/metrics/reference.hpp"
#include "sim/metrics/training.hpp"
#include "sim/pipeline/chosen.hpp"
#include "sim/pipeline/coarse_memory.hpp"
#include "sim/pipeline/rank_times.hpp"
#include "sim/pipeline/schedule_table.hpp"
#include "sim/pipeline/size.hpp"

namespace lamina::pipeline {
namespace {

using graph::CollectiveKind;
using graph::GroupKind;

constexpr std::size_t kMostTables = 256;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// What closed durations cannot say.
bool needs_replay(const scenario::Scenario& scenario) {
  return !scenario.disturbances.empty() || scenario.simulation.communication_slowdown > 0 ||
         scenario.simulation.collective_form == scenario::CollectiveForm::kMessage;
}

std::string key_of(const scenario::PluginChoice& choice) {
  std::string key = choice.name;
  for (const auto& [name, value] : choice.parameters.numbers()) {
    key += fmt::format(";{}={}", name, value);
  }
  for (const auto& [name, value] : choice.parameters.choices()) {
    key += fmt::format(";{}={}", name, value);
  }
  return key;
}

std::string key_of(const std::vector<scenario::CollectiveProtocol>& protocols) {
  std::string key;
  for (const scenario::CollectiveProtocol& protocol : protocols) {
    key += fmt::format("{},{},{},{},{}/", protocol.name, protocol.algorithm, protocol.start.value(),
                       protocol.hop.value(), protocol.efficiency);
  }
  return key;
}

/// All that a fabric is built from.
std::string key_of(const scenario::Cluster& cluster) {
  const scenario::Node& node = cluster.node;
  const scenario::Network& network = cluster.network;
  return fmt::format("{};{};{};{};{};{};{};{};{};{};{};{};{};{};{};{}|{}", cluster.nodes, node.devices,
                     node.device_link_domain, node.nics, node.device_link.bandwidth.value(),
                     node.device_link.latency.value(), node.host_path.bandwidth.value(), node.host_path.latency.value(),
                     node.host_path.shared_by, network.bandwidth.value(), network.port_latency.value(),
                     network.switch_latency.value(), network.efficiency, network.name,
                     key_of(node.device_link.protocols), key_of(network.protocols), key_of(cluster.topology));
}

TransferTime time_of_route(const fabric::Fabric& fabric, const fabric::Route& route) {
  std::vector<collectives::LinkUse> uses;
  uses.reserve(route.links.size());
  for (const fabric::LinkId link : route.links) {
    uses.push_back({link, 1});
  }
  return {{{route.latency.value(), collectives::seconds_per_byte(uses, fabric)}}};
}

/// Devices of a group of replica 0 and tensor rank 0: the first, the distance of neighbours, their number.
struct Devices {
  int first = 0;
  int stride = 0;
  int size = 0;
};

Devices devices_of(const scenario::Strategy& strategy, GroupKind group, int pipeline_rank) {
  const auto at = [&](int data, int pipeline, int tensor) {
    return deployment::device_of(strategy, data, pipeline, tensor);
  };
  const int last = strategy.pipeline_parallel - 1;
  switch (group) {
    case GroupKind::kTensor:
      return {at(0, pipeline_rank, 0), at(0, pipeline_rank, 1) - at(0, pipeline_rank, 0), strategy.tensor_parallel};
    case GroupKind::kData:
      return {at(0, pipeline_rank, 0), at(1, pipeline_rank, 0) - at(0, pipeline_rank, 0), strategy.data_parallel};
    case GroupKind::kPipeline:
      return {at(0, 0, 0), at(0, 1, 0) - at(0, 0, 0), strategy.pipeline_parallel};
    case GroupKind::kEmbedding:
      break;
  }
  const bool member = pipeline_rank == 0 || pipeline_rank == last;
  return {at(0, 0, 0), at(0, last, 0) - at(0, 0, 0), last > 0 && member ? 2 : 1};
}

struct Work {
  double flops = 0;
  double compute_s = 0;
};

Work work_of(const graph::Program& program) {
  Work work;
  for (const graph::Operation& operation : program.operations) {
    work.flops += operation.flops;
    work.compute_s += operation.kind == graph::OperationKind::kCompute ? operation.duration_s : 0;
  }
  return work;
}

void add_utilisation(CoarseEstimate& estimate, const scenario::Scenario& scenario, const model::WorkModel& work,
                     const std::vector<graph::Program>& programs) {
  const double replicas =
      static_cast<double>(scenario.strategy.data_parallel) * static_cast<double>(scenario.strategy.tensor_parallel);
  double busiest_flops = 0;
  double busiest_compute = 0;
  double all_flops = 0;
  for (const graph::Program& program : programs) {
    const Work done = work_of(program);
    busiest_flops = std::max(busiest_flops, done.flops);
    busiest_compute = std::max(busiest_compute, done.compute_s);
    all_flops += done.flops * replicas;
  }
  const double peak = work.peak.value();
  const bool has_flops = peak > 0 && busiest_flops > 0;
  const double available = has_flops ? scenario.strategy.ranks() * peak * estimate.step_s : 0;
  const double tokens = metrics::tokens_per_step(scenario);
  const double model_flops = work.model_flops_per_token.value() * tokens;
  const auto ratio = [](double value, double by) { return by > 0 ? value / by : kUnknown; };
  estimate.ideal_compute_s = has_flops ? busiest_flops / peak : busiest_compute;
  estimate.efficiency = estimate.step_s > 0 ? std::min(1.0, estimate.ideal_compute_s / estimate.step_s) : kUnknown;
  estimate.model_flop_utilisation = model_flops > 0 ? ratio(model_flops, available) : kUnknown;
  estimate.hardware_flop_utilisation = ratio(all_flops, available);
  estimate.tokens_per_s = ratio(tokens, estimate.step_s);
  estimate.sequences_per_s = ratio(static_cast<double>(scenario.strategy.global_batch()), estimate.step_s);
}

void add_memory(CoarseEstimate& estimate, const scenario::Scenario& scenario,
                const std::vector<graph::Program>& programs, const replay::LongestPath& path) {
  estimate.capacity_bytes = scenario.cluster.node.accelerator.memory.value();
  for (std::size_t p = 0; p < programs.size(); ++p) {
    const double peak = memory_peak(programs[p], path.spans.data() + path.first[p], estimate.step_s);
    if (p == 0 || peak > estimate.peak_bytes * (1 + 1e-12)) {
      estimate.peak_bytes = peak;
      estimate.fullest_rank = static_cast<int>(p);
    }
  }
  estimate.fits = estimate.peak_bytes <= estimate.capacity_bytes;
}

tl::expected<CoarseEstimate, error::Infeasible> replayed(scenario::Scenario scenario, const Catalogs& catalogs) {
  scenario.simulation.transport = scenario::Transport::kNoContention;
  const auto result = simulate(scenario, catalogs);
  if (!result) {
    return tl::unexpected(result.error());
  }
  const report::Report& report = result->report;
  CoarseEstimate estimate;
  estimate.step_s = report.step_s;
  estimate.ideal_compute_s = report.ideal_compute_s;
  estimate.efficiency = report.efficiency;
  estimate.model_flop_utilisation = report.model_flop_utilisation;
  estimate.hardware_flop_utilisation = report.hardware_flop_utilisation;
  estimate.tokens_per_s = report.tokens_per_s;
  estimate.sequences_per_s = report.sequences_per_s;
  estimate.peak_bytes = report.memory.peak_bytes;
  estimate.capacity_bytes = report.memory_capacity_bytes;
  estimate.fits = report.fits;
  estimate.operations = static_cast<std::int64_t>(result->prepared.graph.size());
  for (const report::Role& role : report.roles) {
    if (role.memory.peak_bytes >= report.memory.peak_bytes) {
      estimate.fullest_rank = role.pipeline_rank;
      break;
    }
  }
  return estimate;
}

}  // namespace

CoarseSearch::CoarseSearch(const Catalogs& catalogs) : catalogs_(catalogs) {}

tl::expected<CoarseEstimate, error::Infeasible> CoarseSearch::estimate(const scenario::Scenario& scenario) {
  return needs_replay(scenario) ? replayed(scenario, catalogs_) : closed(scenario);
}

tl::expected<CoarseEstimate, error::Infeasible> CoarseSearch::closed(const scenario::Scenario& scenario) {
  metrics::check_reference(scenario);
  if (auto fits = check_least_size(scenario); !fits) {
    return tl::unexpected(std::move(fits.error()));
  }
  const model::WorkModel work = model::work_model(scenario, catalogs_.cost_models);
  const auto table = table_of(scenario, work);
  if (!table) {
    return tl::unexpected(table.error());
  }
  if (auto fits = check_size(scenario, estimate_size(scenario, work, **table)); !fits) {
    return tl::unexpected(std::move(fits.error()));
  }
  if (const auto fabric = fabric_of(scenario.cluster); !fabric) {
    return tl::unexpected(fabric.error());
  }
  const auto programs = lowering::lower_coarse(scenario, work, **table, tensor_times(scenario));
  if (!programs) {
    return tl::unexpected(programs.error());
  }
  const replay::LongestPath path = replay::longest_path(*programs, program_times(scenario, *programs));
  if (!path.complete) {
    return replayed(scenario, catalogs_);  // which names the circle
  }
  CoarseEstimate estimate;
  estimate.step_s = path.end_s;
  estimate.operations = static_cast<std::int64_t>(path.spans.size());
  add_utilisation(estimate, scenario, work, *programs);
  add_memory(estimate, scenario, *programs, path);
  return estimate;
}

tl::expected<const fabric::Fabric*, error::Infeasible> CoarseSearch::fabric_of(const scenario::Cluster& cluster) {
  std::string key = key_of(cluster);
  if (key != cluster_key_) {
    auto fabric = chosen(catalogs_.topologies, cluster.topology.name).build(cluster);
    if (!fabric) {
      return tl::unexpected(std::move(fabric.error()));
    }
    fabric_ = std::move(*fabric);
    group_times_.clear();
    cluster_key_ = std::move(key);
  }
  return &fabric_;
}

tl::expected<std::shared_ptr<const schedules::ScheduleTable>, error::Infeasible> CoarseSearch::table_of(
    const scenario::Scenario& scenario, const model::WorkModel& work) {
  const scenario::Strategy& strategy = scenario.strategy;
  const auto made = [&]() -> tl::expected<std::shared_ptr<const schedules::ScheduleTable>, error::Infeasible> {
    auto table = schedule_table(scenario, catalogs_, work);
    if (!table) {
      return tl::unexpected(std::move(table.error()));
    }
    return std::make_shared<const schedules::ScheduleTable>(std::move(*table));
  };
  if (strategy.schedule_file) {
    return made();
  }
  const schedules::ScheduleRequest request = schedule_request(scenario);
  const schedules::RankTimes times = rank_times(scenario, work);
  std::string key = fmt::format("{}|{};{};{}|{};{};{};{};{}", key_of(strategy.schedule), request.pipeline_parallel,
                                request.micro_batches, request.layers, times.forward_s, times.input_gradient_s,
                                times.weight_gradient_s, times.message_s, times.kept_for_weight_gradient);
  if (const auto known = tables_.find(key); known != tables_.end()) {
    return known->second;
  }
  auto table = made();
  if (table) {
    if (tables_.size() >= kMostTables) {
      tables_.clear();
    }
    tables_.emplace(std::move(key), *table);
  }
  return table;
}

TransferTime CoarseSearch::time_of(const scenario::Scenario& scenario, GroupKind group, CollectiveKind kind,
                                   int pipeline_rank) {
  const Devices devices = devices_of(scenario.strategy, group, pipeline_rank);
  GroupKey key{kind, devices.first, devices.stride, devices.size, scenario.simulation.collective_algorithm};
  if (const auto known = group_times_.find(key); known != group_times_.end()) {
    return known->second;
  }
  std::vector<int> members;
  for (int i = 0; i < devices.size; ++i) {
    members.push_back(devices.first + i * devices.stride);
  }
  const auto& algorithm = chosen(catalogs_.collectives, key.algorithm);
  TransferTime time = collectives::idle_time(collectives::make_plans(algorithm, kind, members, fabric_));
  group_times_.emplace(std::move(key), time);
  return time;
}

std::vector<lowering::TensorTimes> CoarseSearch::tensor_times(const scenario::Scenario& scenario) {
  const scenario::Strategy& strategy = scenario.strategy;
  std::vector<lowering::TensorTimes> result(static_cast<std::size_t>(strategy.pipeline_parallel));
  if (strategy.tensor_parallel == 1) {
    return result;
  }
  for (int p = 0; p < strategy.pipeline_parallel; ++p) {
    for (const CollectiveKind kind :
         {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather}) {
      result[static_cast<std::size_t>(p)][static_cast<std::size_t>(kind)] =
          time_of(scenario, GroupKind::kTensor, kind, p);
    }
  }
  return result;
}

std::vector<replay::ProgramTimes> CoarseSearch::program_times(const scenario::Scenario& scenario,
                                                              const std::vector<graph::Program>& programs) {
  std::vector<replay::ProgramTimes> result(programs.size());
  for (std::size_t p = 0; p < programs.size(); ++p) {
    const graph::Program& program = programs[p];
    replay::ProgramTimes& times = result[p];
    const auto rank = static_cast<int>(p);
    const int device = deployment::device_of(scenario.strategy, 0, rank, 0);
    times.channels.resize(program.channels.size());
    for (std::size_t c = 0; c < program.channels.size(); ++c) {
      if (program.channels[c].sends) {
        const int peer = deployment::device_of(scenario.strategy, 0, program.channels[c].peer, 0);
        times.channels[c] = time_of_route(fabric_, fabric::route(fabric_, device, peer));
      }
    }
    for (std::size_t group = 0; group < graph::kGroupKinds; ++group) {
      times.joins[group] = devices_of(scenario.strategy, static_cast<GroupKind>(group), rank).size > 1;
    }
    std::array<std::array<bool, graph::kCollectiveKinds>, graph::kGroupKinds> known{};
    std::array<bool, 2> copies{};  // from and to the host
    for (const graph::Operation& operation : program.operations) {
      if (operation.kind == graph::OperationKind::kHostCopy) {
        copies[operation.to_host ? 1 : 0] = true;
      }
      const auto group = static_cast<std::size_t>(operation.group);
      const auto kind = static_cast<std::size_t>(operation.collective);
      if (operation.kind == graph::OperationKind::kCollective && times.joins[group] && !known[group][kind]) {
        known[group][kind] = true;
        times.collectives[group][kind] = time_of(scenario, operation.group, operation.collective, rank);
      }
    }
    if (copies[1]) {
      times.to_host = time_of_route(fabric_, fabric::host_route(fabric_, device, true));
    }
    if (copies[0]) {
      times.from_host = time_of_route(fabric_, fabric::host_route(fabric_, device, false));
    }
  }
  return result;
}

}  // namespace lamina::pipeline
