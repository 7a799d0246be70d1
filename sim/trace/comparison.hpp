#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "schedules/schedule.hpp"
#include "sim/error/error.hpp"
#include "sim/trace/job.hpp"
#include "sim/trace/layout.hpp"

/// A job's measured pipelines against the replay of their operation times. The pipeline part of a replica is the time
/// from its first forward to the end of its last backward; that of a step is its longest replica's.
namespace lamina::trace {

struct RankComparison {
  double compute_s = 0;        ///< the same in both
  double measured_idle_s = 0;  ///< pipeline part minus compute
  double measured_gap_s = 0;   ///< of it: neither computing nor in a send or receive (launch delays)
  double replayed_idle_s = 0;
  bool same_order = true;  ///< passes were measured in the order of the schedule
};

struct ReplicaComparison {
  int replica = 0;
  double measured_s = 0;
  double replayed_s = 0;
  std::vector<RankComparison> ranks;

  [[nodiscard]] double relative_error() const { return replayed_s / measured_s - 1; }
};

struct StepComparison {
  std::int64_t step = 0;
  double measured_s = 0;
  double replayed_s = 0;
  double without_stragglers_s = 0;
  double balanced_s = 0;
  std::vector<ReplicaComparison> replicas;

  [[nodiscard]] double relative_error() const { return replayed_s / measured_s - 1; }
};

/// The first pass of a rank that stands elsewhere in the schedule.
struct OrderDifference {
  std::int64_t step = 0;
  int replica = 0;
  int rank = 0;
  std::size_t position = 0;  ///< in the rank's order, from 0
  Pass measured;
  Pass scheduled;
};

/// Medians over steps and replicas.
struct StageSummary {
  double forward_s = 0;  ///< of one micro-batch through all chunks of the rank
  double backward_s = 0;
  double compute_s = 0;  ///< of all
  double measured_idle_s = 0;
  double measured_gap_s = 0;
  double replayed_idle_s = 0;
};

/// The worker whose compute is most above that of its peers (the other replicas' median at the same rank).
struct Straggler {
  int replica = -1;  ///< -1: there is nothing to compare with
  int rank = -1;
  double ratio = 1;  ///< median over steps of its compute over its peers'
};

struct Comparison {
  std::string file;
  std::string schedule;
  PointToPoint messages = PointToPoint::kFusedRendezvous;
  int pipeline_ranks = 0;
  int chunks = 1;
  int replicas = 0;
  int fewest_micro_batches = 0;
  int most_micro_batches = 0;
  std::vector<StepComparison> steps;
  std::vector<OrderDifference> order_differences;  ///< one for each rank, replica and step that has one
  std::int64_t passes = 0;                         ///< whose order was compared
  std::vector<Skipped> skipped;
  std::vector<StageSummary> stages;  ///< [pipeline rank]
  int critical_rank = 0;             ///< with the most compute
  Straggler straggler;
  double median_error = 0;  ///< of the steps' relative errors
  double median_absolute_error = 0;
  std::size_t worst_step = 0;   ///< index of the largest |relative error|
  double stragglers_cost = 0;   ///< median over steps of replayed_s / without_stragglers_s - 1
  double imbalance_cost = 0;    ///< median over steps of without_stragglers_s / balanced_s - 1
  std::int64_t activities = 0;  ///< operations replayed
};

enum class Messages { kUsual, kFusedRendezvous, kSeparateStreams };

struct CompareOptions {
  std::string schedule;                  ///< empty: `usual_schedule`
  Messages messages = Messages::kUsual;  ///< kUsual: fused, or separate streams where the order would deadlock fused
};

/// Replays every step of the job on SimGrid, in the order of the schedule, and compares.
/// @return Infeasible when the schedule cannot order the job, or deadlocks with the messages asked for
/// @throws ScenarioError for a job without a complete replica
[[nodiscard]] tl::expected<Comparison, error::Infeasible> compare(
    const Job& job, const catalog::Catalog<schedules::Schedule>& schedules, const CompareOptions& options = {});

}  // namespace lamina::trace
