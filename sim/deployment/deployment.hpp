#pragma once

#include <array>
#include <cstdint>
#include <ranges>
#include <vector>

#include "sim/collectives/plans.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/scenario/scenario.hpp"

/// The operation graph laid out on a fabric: which rank runs which program on which device, over which links each
/// message, collective and host copy goes. Whole (one entry per rank) or folded (one entry per class): the replay
/// cannot tell.
namespace lamina::deployment {

struct Link {
  fabric::LinkClass link_class = fabric::LinkClass::kPort;
  double bandwidth = 0;         ///< bytes per second; a folded link's capacity may be divided by a common factor
  double capacity_divisor = 1;  ///< that factor: real bytes on one link = charged bytes x divisor
  double multiplicity = 1;      ///< links of the fabric that this one stands for
  bool never_limits = false;
  fabric::LinkId representative = fabric::kNoLink;
  std::int32_t profile = -1;  ///< into Deployment::profiles: bandwidth that changes with time
};

/// Shares of a link's nominal bandwidth over time.
struct Profile {
  std::vector<scenario::BandwidthChange> changes;  ///< times ascend, the first is 0
  double period_s = 0;                             ///< 0: the last share lasts
};

/// Links of one kind of flow; shared by all flows of a channel, of a group's collective kind, or of a host copy
/// direction.
struct Path {
  std::vector<collectives::LinkUse> links;  ///< `link` indexes Deployment::links
  double latency_s = 0;
  /// Time of one byte of one such flow alone on its links, at their nominal bandwidth (the best one of a link with a
  /// profile): largest count / bandwidth. 0: nothing limits it. Does not change when flows are folded into one.
  double alone_s_per_byte = 0;
};

/// A flow of a chain: bytes moved over a path per byte of payload.
struct FlowStep {
  std::int32_t path = -1;
  double bytes_per_payload = 1;
  double pace = 1;                    ///< as collectives::PlannedPhase::pace
  collectives::PayloadRange range{};  ///< the chain is made of the steps whose range contains the payload
};

struct Channel {
  std::int32_t sender = -1;  ///< rank index in Deployment::ranks
  std::int32_t receiver = -1;
  std::int32_t path = -1;
};

/// One message of a collective in message form; `from` and `to` index the group's members.
struct GroupMessage {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t path = -1;
  std::int32_t step = 0;  ///< sent after the sender has sent and received all its messages of earlier steps
  double bytes_per_payload = 0;
};

struct Group {
  std::vector<std::int32_t> members;  ///< ranks of this deployment that take part (folded: one per class)
  int size = 0;                       ///< members in reality
  std::array<std::vector<FlowStep>, graph::kCollectiveKinds> steps;  ///< by CollectiveKind; only those that occur
  std::array<std::vector<GroupMessage>, graph::kCollectiveKinds> messages;  ///< message form: replaces `steps`

  /// The chain of flows for a payload.
  [[nodiscard]] auto chain(graph::CollectiveKind kind, double payload) const {
    return std::views::filter(steps[static_cast<std::size_t>(kind)],
                              [payload](const FlowStep& step) { return step.range.contains(payload); });
  }
};

struct Rank {
  std::int32_t program = 0;  ///< pipeline rank
  std::int32_t data = 0;
  std::int32_t tensor = 0;
  std::int32_t device = 0;
  double multiplicity = 1;  ///< ranks that this one stands for
  double slowness = 1;      ///< factor on compute durations
  double host_delay_s = 0;  ///< before every host_delay_every-th compute operation
  std::int32_t host_delay_every = 1;
  std::vector<std::int32_t> channels;  ///< [program channel] -> Deployment::channels
  /// By Operation::group: one entry per graph::GroupKind, then one per slot of a trace's process groups.
  std::vector<std::int32_t> groups = std::vector<std::int32_t>(graph::kGroupKinds, -1);
  std::int32_t to_host = -1;  ///< path
  std::int32_t from_host = -1;
};

struct Deployment {
  std::vector<Rank> ranks;
  std::vector<Channel> channels;
  std::vector<Group> groups;
  std::vector<Path> paths;
  std::vector<Link> links;
  std::vector<Profile> profiles;
  double total_ranks = 0;
};

/// Device of rank (data, pipeline, tensor) under the scenario's placement order.
[[nodiscard]] int device_of(const scenario::Strategy& strategy, int data, int pipeline, int tensor);

/// One entry per rank of the whole cluster, ordered by pipeline, data, tensor.
[[nodiscard]] Deployment deploy(const graph::OperationGraph& graph, const scenario::Strategy& strategy,
                                const fabric::Fabric& fabric, const collectives::Collective& algorithm,
                                scenario::CollectiveForm form = scenario::CollectiveForm::kFluid);

}  // namespace lamina::deployment
