#pragma once

#include <cstdint>
#include <string_view>
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

/// Hops that follow one another; of rings a mean, hence not whole.
struct Hops {
  Seconds wire;        ///< latency of their routes
  double inside = 0;   ///< of them over device links or host paths
  double between = 0;  ///< of them over the network

  Hops& operator+=(const Hops& other) {
    wire += other.wire;
    inside += other.inside;
    between += other.between;
    return *this;
  }

  friend Hops operator*(double factor, const Hops& hops) {
    return {factor * hops.wire, factor * hops.inside, factor * hops.between};
  }
};

/// One flow of a collective: it moves `bytes_per_payload` x payload bytes over every link use, after the hops' latency.
struct FlowPhase {
  std::vector<LinkUse> links;  ///< sorted by link, each once; empty: nothing to move, only latency
  double bytes_per_payload = 0;
  Hops hops;
};

/// One message of the message form: bytes = fraction x payload.
struct MessageStep {
  int from = 0;  ///< index into the members
  int to = 0;
  double fraction = 0;
  int step = 0;  ///< a member sends step k after it has received (and sent) its step k - 1 messages
};

/// One algorithm at work.
struct Candidate {
  std::string_view algorithm;
  std::vector<FlowPhase> phases;
};

/// 1. The first candidate's phases and `messages` move the same bytes over the same links; on an idle network of equal
///    links its fluid time is within 1 % of the message time.
/// 2. Members are devices in rank order; at least two.
class Collective {
 public:
  virtual ~Collective() = default;
  /// What it may do; at least one. Which one it does, plans.hpp decides by payload.
  [[nodiscard]] virtual std::vector<Candidate> candidates(graph::CollectiveKind kind, const std::vector<int>& devices,
                                                          const fabric::Fabric& fabric) const = 0;
  /// Empty when switches do part of the work, so that messages from device to device do not make it up.
  [[nodiscard]] virtual std::vector<MessageStep> messages(graph::CollectiveKind kind, const std::vector<int>& devices,
                                                          const fabric::Fabric& fabric) const = 0;
};

/// "automatic", "hierarchical", "nvls", "ring", "sharp" and "tree". Payload convention (NCCL): all-reduce, broadcast:
/// the buffer; all-gather, reduce-scatter, all-to-all: the whole buffer of one rank (n shards).
[[nodiscard]] catalog::Catalog<Collective> builtin_collectives();

}  // namespace lamina::collectives
