#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/fabric/fabric.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/scenario/scenario.hpp"

/// The answer to a scenario: plain numbers with units in their names. Writers turn it into text; nothing is computed there.
namespace lamina::report {

/// Where one rank's step time goes. compute_s + sum(exposed_s) + bubble_s + tail_s = step time.
struct RoleTimes {
  double compute_s = 0;
  std::array<double, graph::kTrafficClasses> exposed_s{};  ///< compute stood still for this class's transfers
  double bubble_s = 0;  ///< compute stood still because another rank was not ready, between step start and last own work
  double tail_s = 0;    ///< from this rank's last operation to the end of the step
  double span_s = 0;    ///< first start to last end of compute
};

struct Memory {
  double peak_bytes = 0;
  double peak_time_s = 0;
  std::string peak_operation;  ///< "backward of layer 31, micro-batch 0"
  std::array<double, graph::kMemoryCategories> breakdown_bytes{};  ///< at the peak
};

struct Role {
  int pipeline_rank = 0;
  double ranks = 0;  ///< devices that play it
  RoleTimes times;   ///< of its slowest class
  Memory memory;
  double flops = 0;  ///< hardware FLOPs per step and rank
  double peak_activations = 0;  ///< micro-batches of its whole share of the model, from forward to weight gradient
  std::int64_t messages = 0;    ///< sent to other pipeline ranks, per step and device
  double message_bytes = 0;     ///< of all of them
  std::int64_t restores = 0;    ///< gathers of sharded weights, per step and device, a layer each
  double restored_bytes = 0;    ///< weights gathered by all of them
  std::int64_t reductions = 0;  ///< sums of gradients over the data-parallel group, a layer each
};

struct LinkLoad {
  fabric::LinkClass link_class = fabric::LinkClass::kPort;
  double links = 0;               ///< in the whole cluster
  double bandwidth_bytes_per_s = 0;  ///< of one
  double bytes = 0;               ///< through the busiest one, per step
  double average_bytes_per_s = 0;  ///< of the busiest one over the step
  double peak_bytes_per_s = 0;     ///< of the busiest one (flows at their average rate)
};

struct CriticalPath {
  double compute_s = 0;
  std::array<double, graph::kTrafficClasses> traffic_s{};
};

struct Training {
  double steps = 0;
  double tokens = 0;
  double days = 0;
  double device_days = 0;
  double critical_batch_sequences = 0;  ///< 0: no law asked for
  std::string batch_law;
};

/// Step times of repeats that differ by jitter only.
struct StepDistribution {
  int repeats = 0;
  double mean_s = 0;
  double p50_s = 0;
  double p99_s = 0;
  double least_s = 0;
  double most_s = 0;
};

struct ReferenceRow {
  scenario::ReferenceValue reference;
  double measured = 0;
  double relative_difference = 0;
  bool agrees = false;  ///< within tolerance, or within 1 % (absolute) of the stated expected difference
};

struct Report {
  const scenario::Scenario* scenario = nullptr;
  std::string cost_model;
  std::string schedule;
  std::string topology;  ///< description of the fabric
  std::string collectives;
  std::string transport = "SimGrid";
  std::vector<std::string> disturbances;  ///< one line each
  double devices = 0;  ///< that the strategy uses
  double cluster_devices = 0;

  double step_s = 0;
  double ideal_compute_s = 0;  ///< hardware FLOPs of the busiest role at peak
  double efficiency = 0;       ///< ideal_compute_s / step_s
  double model_flop_utilisation = 0;
  double hardware_flop_utilisation = 0;
  double bubble_makespan_fraction = 0;  ///< (makespan - compute of the busiest role) / makespan, pipeline part
  double bubble_span_fraction = 0;      ///< longest span of a role minus its compute, over that span
  RoleTimes critical_role_times;        ///< of the role that ends the step
  int critical_role = 0;
  double tokens_per_s = 0;
  double sequences_per_s = 0;
  double tokens_per_step = 0;

  std::vector<Role> roles;
  std::vector<LinkLoad> links;
  CriticalPath critical_path;
  Memory memory;  ///< of the role with the highest peak
  double memory_capacity_bytes = 0;
  bool fits = true;
  std::string why_not;  ///< when it does not fit

  std::optional<Training> training;
  std::optional<StepDistribution> distribution;  ///< with jitter; the rest of the report is the undisturbed step's
  std::vector<ReferenceRow> reference;

  std::int64_t activities = 0;
  std::int64_t simulated_ranks = 0;
  bool folded = true;
  std::vector<std::string> warnings;
};

/// JSON document, schema "lamina.report/1" (see docs/report.md); byte-identical for equal reports.
[[nodiscard]] std::string to_json(const Report& report);

/// Text of at most 80 columns. `colour`: ANSI escapes.
[[nodiscard]] std::string to_console(const Report& report, bool colour);

/// One header line and one row per role, units in the column names.
[[nodiscard]] std::string to_csv(const std::vector<Report>& reports);

/// Several reports side by side with their references (a folder of scenarios).
[[nodiscard]] std::string to_comparison(const std::vector<Report>& reports, bool colour);

}  // namespace lamina::report
