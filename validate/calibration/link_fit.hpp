#pragma once

#include <vector>

#include "validate/calibration/transfers.hpp"

/// From measured collectives to links: time = latency + bytes / bandwidth, as the ring of sim/collectives takes them.
namespace lamina::validate::calibration {

/// What the fit is to describe.
enum class LinkKind : std::uint8_t {
  kByNodes,  ///< a device link for one node, a network for several
  kDeviceLink,
  kNetwork,
};

struct LinkOptions {
  LinkKind kind = LinkKind::kByNodes;
  int nics_per_node = 0;  ///< 0: not given; the network's bandwidth is then that of a node with one port
  bool in_place = false;  ///< times in place instead of out of place (which stand in where there is only one)
};

/// A point of the fit.
struct LinePoint {
  double x = 0;  ///< bytes over the link
  double seconds = 0;
};

/// seconds = latency + x / rate.
struct Line {
  double latency = 0;
  double rate = 0;
  std::size_t small = 0;          ///< points, from the first, whose median set the latency
  std::size_t large = 0;          ///< points, to the last, whose median set the rate
  bool latency_resolved = false;  ///< latency is at least half of the time of the smallest size
  bool rate_resolved = false;     ///< the transfer is at least half of the time of the largest size
};

/// Latency from small sizes, rate from large ones, each the median over them with the other's part taken off, in turns
/// until both stand still. Least relative residuals at both ends; what lies between (slow starts, switches of protocol)
/// does not pull the line, and shows as residual. Small: up to 64 KiB of x, but at least 3 points (a half of fewer than
/// 6); large: from an eighth of the largest x, likewise.
/// @param points sorted by x, which are positive and differ; at least one
[[nodiscard]] Line fit_line(const std::vector<LinePoint>& points);

/// One entry: a device link (bandwidth, latency per hop) or a network (bandwidth per port, latency per message).
///
/// The bandwidth is that of the ring's links: size x bus_factor / time for a device link; size x node_factor / time /
/// nics per node for a network. The latency is that of the whole collective over its ring_steps
/// hops, of a network over those between nodes (node_steps): hops inside nodes are taken to cost nothing beside.
/// @param set with ranks (at least 2) and nodes known, and at least one transfer or rate
[[nodiscard]] Entry fit_link(const TransferSet& set, const LinkOptions& options);

/// Median time of copies of one size.
struct CopyTime {
  double bytes = 0;
  double seconds = 0;
  double samples = 0;
  double spread = 0;
};

/// A host path: bandwidth and latency of the line through copies, their table and residuals. Name, summary, source and
/// what was measured are left to the caller.
/// @pre `times` not empty, by ascending size
[[nodiscard]] Entry fit_host_path(const std::vector<CopyTime>& times);

}  // namespace lamina::validate::calibration
