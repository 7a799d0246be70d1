#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "validate/hardware_trace/trace.hpp"

/// The same collective or message in the traces of several ranks.
namespace lamina::validate::hardware_trace {

/// One rank's part.
struct Part {
  std::uint32_t trace = 0;  ///< index of the RankTrace
  std::uint32_t event = 0;
};

struct Instance {
  std::string name;       ///< "all_reduce"
  std::string group;      ///< process group; "" when the traces do not say
  bool message = false;   ///< parts: the send, the receive
  bool complete = false;  ///< every member was recorded
  std::vector<Part> parts;
};

struct Matched {
  std::vector<Instance> instances;  ///< of two parts at least, by group and order
  std::int64_t alone = 0;           ///< communication kernels without counterpart
  /// Groups that were left out since their ranks recorded different numbers of a collective.
  std::vector<std::string> uneven;
};

/// Collectives are matched by group and sequence number where traces give both, else by their order within group and
/// kind, if all ranks of the group recorded as many; traces that name no groups at all are taken as one. Messages by
/// their order between two ranks.
[[nodiscard]] Matched match_instances(const std::vector<RankTrace>& traces);

}  // namespace lamina::validate::hardware_trace
