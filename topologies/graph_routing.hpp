#pragma once

#include <cstdint>
#include <vector>

#include <boost/graph/compressed_sparse_row_graph.hpp>

#include "sim/fabric/fabric.hpp"
#include "sim/units/quantity.hpp"

namespace lamina::topologies {

/// One direction of a cable between two switches.
struct Arc {
  std::int32_t from = 0;
  std::int32_t to = 0;
  fabric::LinkId link = fabric::kNoLink;
  Seconds latency{0};
};

/// Shortest routes through switches joined at will: least switches first, then least cable latency, in picoseconds.
///
/// Where several next arcs are on equally short routes, equal-cost multi-path routing takes arc number
/// `hash mod count`, in the order of `arcs`. As switches do, the hash depends on the flow and on the switch, so that
/// flows which part at one switch are spread again at the next: SplitMix64(SplitMix64(2^32 from_port + to_port) +
/// switch), with the finaliser of Steele, Lea and Flood, OOPSLA 2014. There and back may take different cables, but
/// never routes of different length.
class GraphRouting {
 public:
  /// `arcs` holds every cable in both directions, with latencies of at most 0.1 s; `targets` are the switches to which
  /// routes are wanted. Time grows with targets x arcs, memory with targets x switches (8 bytes each).
  GraphRouting(std::int32_t switches, const std::vector<Arc>& arcs, const std::vector<std::int32_t>& targets);

  /// Whether there is a route from a switch to one of the targets.
  [[nodiscard]] bool reaches(std::int32_t from, std::int32_t target) const;

  /// Appends the links from one switch to one of the targets; adds the switches crossed, both ends included, and the
  /// latency of the cables.
  /// @throws InternalError if there is no route
  void append(std::int32_t from, std::int32_t target, std::uint64_t flow, fabric::NetworkHop& hop) const;

 private:
  struct Properties {
    fabric::LinkId link = fabric::kNoLink;
    std::int64_t cost = 0;
  };

  using SwitchGraph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, Properties,
                                                         boost::no_property, std::uint32_t, std::uint32_t>;

  [[nodiscard]] const std::int64_t* costs_to(std::int32_t target) const;

  SwitchGraph graph_;
  std::vector<std::int32_t> row_of_target_;  ///< [switch]; -1: no target
  std::vector<std::int64_t> costs_;          ///< [row x switches + switch]
};

/// The flow from one port to another, hashed.
[[nodiscard]] std::uint64_t hash_flow(std::int32_t from_port, std::int32_t to_port);

}  // namespace lamina::topologies
