#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/calibration/calibration.hpp"

/// Measured collectives, as logs and tables state them, before any fit.
namespace lamina::validate::calibration {

enum class Collective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kSendReceive,
};

/// "all_reduce", ...: nccl-tests' programs without "_perf".
[[nodiscard]] std::string name_of(Collective collective);

/// Any usual spelling: "all_reduce", "all-reduce", "AllReduce", "alltoall", "sendrecv", "collective-permute"; nothing
/// for others.
[[nodiscard]] std::optional<Collective> collective_of(std::string_view word);

/// All names, for messages.
[[nodiscard]] std::vector<std::string> collective_names();

/// Bytes that every link of the ring carries per byte of nccl-tests' size: the factor of its bus bandwidth (nccl-tests,
/// doc/PERFORMANCE.md): all-reduce 2(n-1)/n, all-gather, reduce-scatter, all-to-all, gather and scatter (n-1)/n,
/// else 1.
[[nodiscard]] double bus_factor(Collective collective, int ranks);

/// Bytes that leave (and enter) one node per byte of size. That of the bus for what a ring moves; an all-to-all sends
/// from each of k = n / nodes ranks to n - k others: k (n - k) / n.
[[nodiscard]] double node_factor(Collective collective, int ranks, int nodes);

/// Hops one after the other as sim/collectives/ring.cpp takes them: all-reduce 2(n-1), sendrecv 1, else n-1.
[[nodiscard]] double ring_steps(Collective collective, int ranks);

/// Those of them between nodes: of a ring's hops nodes / ranks; all of an all-to-all, every shift of which leaves a
/// node. One node: all.
[[nodiscard]] double node_steps(Collective collective, int ranks, int nodes);

/// One line of a log.
struct Transfer {
  double bytes = 0;           ///< nccl-tests' size: the buffer, or the n shards together
  double seconds = kUnknown;  ///< out of place
  double in_place_seconds = kUnknown;
  double bus_rate = kUnknown;  ///< bytes/s, where the source states no time
};

/// One system and collective.
struct TransferSet {
  std::string file;
  int line = 0;               ///< where it begins; 0: the file
  std::vector<Label> labels;  ///< what distinguishes it from the file's other sets: device, ranks, ...
  Collective collective = Collective::kAllReduce;
  int ranks = 0;  ///< 0: the source does not say
  int nodes = 0;  ///< 0: the source does not say
  std::vector<Transfer> transfers;
  std::vector<double> rates;  ///< bus bandwidths, bytes/s, of sources that state neither size nor time
  std::vector<Label> conditions;
  std::vector<LeftOut> left_out;
  std::vector<std::string> notes;
};

/// n from the ratio of bus to algorithm bandwidth; 0 when the collective has a constant factor or the ratio does not
/// give one whole number.
[[nodiscard]] int ranks_from_factor(Collective collective, double factor);

}  // namespace lamina::validate::calibration
