#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/chakra/import.hpp"
#include "sim/chakra/trace.hpp"
#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/timeline/timeline.hpp"

namespace lamina::chakra {

/// Where a rank's step goes; the four times add up to the step.
struct RankTimes {
  double compute_s = 0;  ///< a compute node runs on the device
  double exposed_s = 0;  ///< none does, but a message, collective or copy of the rank is moving (or in its latency)
  double waiting_s = 0;  ///< neither, before the rank's last node ends
  double tail_s = 0;     ///< from there to the end of the step
};

struct Spread {
  double least = 0;
  double median = 0;
  double most = 0;
};

struct CollectiveCount {
  std::int64_t collectives = 0;  ///< each counted once, not once per member
  double bytes = 0;              ///< sum of their payloads
};

/// What `lamina run --trace` says.
struct TraceReport {
  std::string name;     ///< of the cluster's file
  std::string cluster;  ///< its file
  std::string trace;    ///< PREFIX
  double step_s = 0;
  std::int64_t ranks = 0;
  std::int64_t devices = 0;  ///< of the cluster
  std::int64_t nodes = 0;
  std::int64_t programs = 0;        ///< that differ
  std::int64_t replayed_ranks = 0;  ///< one for each class
  Spread compute_s;
  Spread exposed_s;
  Spread waiting_s;
  std::int64_t messages = 0;
  double message_bytes = 0;
  std::array<CollectiveCount, graph::kCollectiveKinds> collectives{};
  std::vector<report::LinkLoad> links;
  std::string network;  ///< the fabric in a line
  std::string transport;
  std::string algorithm;
  std::vector<std::string> disturbances;  ///< a sentence each
  std::vector<std::string> warnings;
  std::vector<RankTimes> rank_times;  ///< [rank]
  std::int64_t activities = 0;
};

struct TraceRun {
  TraceReport report;
  Imported imported;
  deployment::Deployment deployment;  ///< folded unless `simulation` says otherwise
  timeline::Timeline timeline;
};

/// Checks the trace, lays it out on the cluster (rank r on device r) and replays it. Of `scenario` cluster, simulation
/// and disturbances are used. `prefix` is for the report.
/// @throws ScenarioError for a trace that cannot run, and for jitter; an Infeasible is about the cluster, or the size
[[nodiscard]] tl::expected<TraceRun, error::Infeasible> run_trace(const Trace& trace, const std::string& prefix,
                                                                  const scenario::Scenario& scenario,
                                                                  const pipeline::Catalogs& catalogs);

}  // namespace lamina::chakra
