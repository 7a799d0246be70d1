#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "sim/report/report.hpp"

/// A filled report whose figures are those of the X_160 example (improved, 38,640 devices) as arithmetic gives them:
/// 8 x 1.258e12 parameters x 2,415 x 2,560 tokens / (38,640 x 312e12 FLOP/s) = 5.16 s of compute, efficiency 0.85.
namespace lamina::report::sample {

inline constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

inline scenario::Scenario scenario() {
  scenario::Scenario result;
  result.name = "infiniband-3d-improved";
  result.description = "X_160 on 38,640 devices";
  result.file = "/home/user/infiniband-3d-improved.yaml";
  result.model.name = "x160";
  result.model.layers = 160;
  result.model.hidden = 25600;
  result.model.sequence_length = 2560;
  result.cluster.nodes = 2415;
  result.cluster.node.name = "dgx-a100-16";
  result.cluster.node.devices = 16;
  result.cluster.node.accelerator.name = "a100-sxm-80gb";
  result.cluster.network.name = "infiniband-hdr";
  result.cluster.network.bandwidth = BytesPerSecond(25e9);
  result.cluster.topology.name = "fat_tree";
  result.strategy.data_parallel = 483;
  result.strategy.pipeline_parallel = 5;
  result.strategy.tensor_parallel = 16;
  result.strategy.micro_batches = 5;
  result.strategy.sharding.level = scenario::ShardingLevel::kFull;
  result.strategy.recompute = scenario::Recompute::kFull;
  result.training = scenario::Training{};
  result.reference = scenario::Reference{"Lamy-Poirier 2021 (arXiv 2106.02679), X_160 table, InfiniBand", {}};
  return result;
}

inline RoleTimes times(int rank) {
  RoleTimes result;
  result.compute_s = 5.16;
  result.exposed_s[static_cast<std::size_t>(graph::Traffic::kTensor)] = 0.784;
  result.exposed_s[static_cast<std::size_t>(graph::Traffic::kRestore)] = 0.0124;
  result.bubble_s = 0.11 + 0.01 * rank;
  result.tail_s = 0.0436 - 0.01 * rank;
  result.span_s = 6.05;
  return result;
}

inline Memory memory(int rank) {
  Memory result;
  result.breakdown_bytes = {0.391e9, 1.97e9, 1.97e9, 1.31e9, 0.29e9, 0.1e9};
  for (const double part : result.breakdown_bytes) {
    result.peak_bytes += part;
  }
  result.peak_bytes -= 1e6 * rank;
  result.peak_time_s = 4.81;
  result.peak_operation = "backward of layer 31, micro-batch 0";
  return result;
}

inline ReferenceRow reference(std::string name, double value, double measured, double tolerance) {
  ReferenceRow row;
  row.reference.name = std::move(name);
  row.reference.value = value;
  row.reference.tolerance = tolerance;
  row.measured = measured;
  row.relative_difference = measured / value - 1;
  row.agrees = std::abs(row.relative_difference) <= tolerance;
  return row;
}

inline void add_loads(Report& report) {
  report.links = {{fabric::LinkClass::kDeviceLink, 77280, 300e9, 255e9, 41.8e9, 300e9},
                  {fabric::LinkClass::kHostPath, 77280, 31.5e9, 0, 0, 0},
                  {fabric::LinkClass::kPort, 77280, 25e9, 31.2e9, 5.11e9, 25e9},
                  {fabric::LinkClass::kTrunk, 77280, 25e9, 31.2e9, 5.11e9, 25e9}};
  report.critical_path.compute_s = 5.28;
  report.critical_path.traffic_s[static_cast<std::size_t>(graph::Traffic::kTensor)] = 0.8;
  report.critical_path.traffic_s[static_cast<std::size_t>(graph::Traffic::kPipeline)] = 0.031;
}

/// `scenario` must outlive the report.
inline Report report(const scenario::Scenario& scenario) {
  Report result;
  result.scenario = &scenario;
  result.cost_model = "ideal (100 % of peak)";
  result.schedule = "layered_modular";
  result.topology = "fat tree, 3 levels, 76 leaves of 32 nodes, non-blocking";
  result.collectives = "hierarchical";
  result.devices = 38640;
  result.cluster_devices = 38640;
  result.step_s = 6.11;
  result.ideal_compute_s = 5.16;
  result.efficiency = 0.8445;
  result.model_flop_utilisation = 0.6334;
  result.hardware_flop_utilisation = 0.8445;
  result.bubble_makespan_fraction = 0.0252;
  result.bubble_span_fraction = 0.0199;
  result.critical_role_times = times(4);
  result.critical_role = 4;
  result.tokens_per_step = 2415 * 2560;
  result.tokens_per_s = result.tokens_per_step / result.step_s;
  result.sequences_per_s = 2415 / result.step_s;
  for (int rank = 0; rank < 5; ++rank) {
    result.roles.push_back({rank, 7728, times(rank), memory(rank), 1.6e15});
  }
  result.memory = memory(0);
  result.memory_capacity_bytes = 80 * kGibibyte;
  result.training = Training{100000, 6.18e11, 7.07, 273256, 2416.4, "layered_modular_2021"};
  result.reference = {reference("step.efficiency", 0.85, 0.8445, 0.02), reference("training.days", 7.0, 7.07, 0.03),
                      reference("memory.breakdown_bytes.state", 0.4e9, 0.391e9, 0.05)};
  result.activities = 15242;
  result.simulated_ranks = 5;
  add_loads(result);
  return result;
}

}  // namespace lamina::report::sample
