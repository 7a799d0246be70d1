#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/error/error.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/lowering/coarse.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/replay/longest_path.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::pipeline {

/// What a search needs to know of a layout; names and units as in report::Report.
struct CoarseEstimate {
  double step_s = 0;
  double ideal_compute_s = 0;
  double efficiency = 0;
  double model_flop_utilisation = 0;  ///< NaN for a model without FLOPs, as the next
  double hardware_flop_utilisation = 0;
  double tokens_per_s = 0;
  double sequences_per_s = 0;
  double peak_bytes = 0;  ///< of the fullest pipeline rank: the replay's or above it
  int fullest_rank = 0;
  double capacity_bytes = 0;
  bool fits = true;
  std::int64_t operations = 0;  ///< that were laid out to find it
};

/// Estimates many layouts, one after the other, as `simulate` with `transport: no_contention` sees them, in about a
/// thousandth of a second each. Keeps what layouts have in common: the fabric of the last cluster, the times of
/// collectives on it, the last tables of schedules. Not for several threads at once; one per worker.
///
/// Step time: equal to that replay (rounding apart) when all replicas and tensor ranks do the same, as they do unless
/// nodes cut them differently; otherwise that of replica 0 and tensor rank 0. `simulation.fold` makes no difference.
/// Memory: at least that replay's, and at most what the communication streams hold at once above it (docs/model.md,
/// section 6). Scenarios with disturbances, `communication_slowdown` or collectives in message form are replayed in
/// full, without contention.
class CoarseSearch {
 public:
  /// `catalogs` must outlive it.
  explicit CoarseSearch(const Catalogs& catalogs);

  /// @return Infeasible where `simulate` returns one, with the same reason
  /// @throws as `simulate`
  [[nodiscard]] tl::expected<CoarseEstimate, error::Infeasible> estimate(const scenario::Scenario& scenario);

 private:
  /// A group of devices that are a stride apart, and what it runs.
  struct GroupKey {
    graph::CollectiveKind kind = graph::CollectiveKind::kAllReduce;
    int first = 0;
    int stride = 0;
    int size = 0;
    std::string algorithm;
    auto operator<=>(const GroupKey&) const = default;
  };

  [[nodiscard]] tl::expected<const fabric::Fabric*, error::Infeasible> fabric_of(const scenario::Cluster& cluster);
  [[nodiscard]] tl::expected<std::shared_ptr<const schedules::ScheduleTable>, error::Infeasible> table_of(
      const scenario::Scenario& scenario, const model::WorkModel& work);
  [[nodiscard]] TransferTime time_of(const scenario::Scenario& scenario, graph::GroupKind group,
                                     graph::CollectiveKind kind, int pipeline_rank);
  [[nodiscard]] std::vector<lowering::TensorTimes> tensor_times(const scenario::Scenario& scenario);
  [[nodiscard]] std::vector<replay::ProgramTimes> program_times(const scenario::Scenario& scenario,
                                                                const std::vector<graph::Program>& programs);
  [[nodiscard]] tl::expected<CoarseEstimate, error::Infeasible> closed(const scenario::Scenario& scenario);

  const Catalogs& catalogs_;
  std::string cluster_key_;
  fabric::Fabric fabric_;
  std::map<GroupKey, TransferTime> group_times_;
  std::map<std::string, std::shared_ptr<const schedules::ScheduleTable>> tables_;
};

}  // namespace lamina::pipeline
