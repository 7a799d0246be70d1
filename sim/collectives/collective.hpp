#pragma once

#include <cstdint>
#include <vector>

#include "sim/catalog/catalog.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/graph/operation_graph.hpp"

/// Collectives as fluid flows: a ring moves at the pace of its slowest edge, so all its edges share one rate and the
/// ring is one flow over the union of its links, each link listed as often as it is crossed. Multi-phase algorithms are
/// chains.
namespace lamina::collectives {

/// `count` crossings of a link by one flow.
struct LinkUse {
  fabric::LinkId link = fabric::kNoLink;
  std::int32_t count = 1;
  auto operator<=>(const LinkUse&) const = default;
};

/// One flow of a collective: it moves `bytes_per_payload` x payload bytes over every link use, after `latency`.
struct FlowPhase {
  std::vector<LinkUse> links;  ///< sorted by link, each once; empty: nothing to move, only latency
  double bytes_per_payload = 0;
  Seconds latency;
  bool new_path = true;  ///< false: same links as the previous phase
};

/// One message of the message form: bytes = fraction x payload.
struct MessageStep {
  int from = 0;  ///< index into the members
  int to = 0;
  double fraction = 0;
  int step = 0;  ///< a member sends step k after it has received (and sent) its step k - 1 messages
};

/// 1. `phases` and `messages` move the same bytes over the same links; on an idle network of equal links the fluid time
/// is
///    within 1 % of the message time.
/// 2. Members are devices in rank order; at least two.
class Collective {
 public:
  virtual ~Collective() = default;
  [[nodiscard]] virtual std::vector<FlowPhase> phases(graph::CollectiveKind kind, const std::vector<int>& devices,
                                                      const fabric::Fabric& fabric) const = 0;
  [[nodiscard]] virtual std::vector<MessageStep> messages(graph::CollectiveKind kind, const std::vector<int>& devices,
                                                          const fabric::Fabric& fabric) const = 0;
};

/// "ring" and "hierarchical". Payload convention (NCCL): all-reduce, broadcast: the buffer; all-gather, reduce-scatter,
/// all-to-all: the whole buffer of one rank (n shards).
[[nodiscard]] catalog::Catalog<Collective> builtin_collectives();

/// Closed form on an idle, uniform network: sum over phases of latency + bytes x crossings / slowest link's bandwidth.
[[nodiscard]] Seconds idle_time(const std::vector<FlowPhase>& phases, Bytes payload, const fabric::Fabric& fabric);

}  // namespace lamina::collectives
