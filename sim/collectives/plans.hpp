#pragma once

#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/collectives/collective.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/units/transfer_time.hpp"

/// Which algorithm and which protocol a collective uses for which payload.
namespace lamina::collectives {

/// Payloads in (above, up_to] bytes.
struct PayloadRange {
  double above = -1;
  double up_to = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool contains(double payload) const { return payload > above && payload <= up_to; }
};

/// One flow of a plan.
struct PlannedPhase {
  std::vector<LinkUse> links;
  double bytes_per_payload = 0;
  /// The flow takes as long, and holds its links, as if it moved this many times its bytes: under a protocol that does
  /// not reach the links' rate.
  double pace = 1;
  Seconds latency;
};

/// What a collective does for the payloads of a range: one algorithm under one protocol.
struct Plan {
  std::string_view algorithm;
  std::string protocol;  ///< "": the links name none
  PayloadRange range;
  Seconds latency;        ///< of all phases
  double s_per_byte = 0;  ///< of payload, on an idle network
  std::vector<PlannedPhase> phases;
};

/// In order of payload, the ranges without gap or overlap: every candidate under every protocol of the links by which
/// the group communicates (the network's when it leaves a device-link domain, else the device links'), of which the one
/// that takes least on an idle network is used, as NCCL's tuner chooses by its own model (NCCL, src/graph/tuning.cc):
///
///   time = start + latency of the hops' routes + hops x hop + bytes / (rate of the slowest link x its efficiency)
///
/// In a group that leaves its domain, `hop` and `efficiency` of hops and links inside are those of the device links'
/// protocol of the same name, if there is one. An algorithm that protocols name has these alone; the others have those
/// that name none. Without any protocol a collective starts at once at the links' rate.
[[nodiscard]] std::vector<Plan> make_plans(const Collective& collective, graph::CollectiveKind kind,
                                           const std::vector<int>& devices, const fabric::Fabric& fabric);

/// Those of them that some payload uses: paths of large groups take much memory.
[[nodiscard]] std::vector<Plan> make_plans(const Collective& collective, graph::CollectiveKind kind,
                                           const std::vector<int>& devices, const fabric::Fabric& fabric,
                                           const std::set<double>& payloads);

/// Closed form on an idle network.
[[nodiscard]] TransferTime idle_time(const std::vector<Plan>& plans);

/// Seconds of one byte that crosses the links, each as often as counted, on an idle network.
[[nodiscard]] double seconds_per_byte(const std::vector<LinkUse>& links, const fabric::Fabric& fabric);

}  // namespace lamina::collectives
