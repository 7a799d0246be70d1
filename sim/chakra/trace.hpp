#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/graph/operation_graph.hpp"

/// Chakra execution traces (MLCommons): what ASTRA-sim and others replay. One file per rank, PREFIX.<rank>.et, of
/// length-delimited protobuf messages, and a JSON file with the process groups.
namespace lamina::chakra {

enum class NodeKind : std::uint8_t {
  kNothing,  ///< metadata, and compute that takes no time: only its dependencies count
  kCompute,
  kHostCompute,  ///< is_cpu_op
  kSend,
  kReceive,
  kCollective,
  kLoad,   ///< host memory to device
  kStore,  ///< device to host memory
};

struct Node {
  std::uint64_t id = 0;
  NodeKind kind = NodeKind::kNothing;
  graph::CollectiveKind collective = graph::CollectiveKind::kAllReduce;
  std::int32_t peer = -1;   ///< rank at the other end of a message
  std::int32_t group = -1;  ///< index into Groups::all
  std::int64_t tag = 0;
  double duration_s = 0;
  double bytes = 0;  ///< messages and copies: bytes moved; collectives: Lamina's payload (docs/chakra.md)
  std::uint32_t first_dependency = 0;  ///< into RankTrace::dependencies
  std::uint32_t dependencies = 0;
  std::string name;
};

/// One file. Nodes stand in an order in which each comes after all it depends on; among those that may be next the one
/// with the lowest id comes first.
struct RankTrace {
  std::string file;
  std::vector<Node> nodes;
  std::vector<std::uint32_t> dependencies;  ///< positions in `nodes`
};

struct Group {
  std::string name;                   ///< pg_name; empty: all ranks
  std::vector<std::int32_t> members;  ///< ascending
};

/// The first holds all ranks and has no name.
struct Groups {
  std::vector<Group> all;
  std::unordered_map<std::string, std::int32_t> by_name;
  std::string file;
  bool file_found = false;
};

struct Trace {
  std::vector<RankTrace> ranks;
  Groups groups;
};

/// Most nodes and dependencies of all files together, longest message of a file and longest file of groups.
inline constexpr std::int64_t kMostNodes = 50'000'000;
inline constexpr std::int64_t kMostDependencies = 200'000'000;
inline constexpr std::uint64_t kLongestMessage = std::uint64_t{4} << 20U;
inline constexpr std::uint64_t kLongestGroupsFile = std::uint64_t{16} << 20U;

/// Reads PREFIX.0.et to PREFIX.<n-1>.et, each once and one at a time, and the groups. `groups_file` empty:
/// comm_groups.json beside the traces; it may be absent if no node names a group.
/// @throws ScenarioError naming file, rank and node id: nothing there, a gap in the numbering, not a trace, cut off,
/// a dependency that is missing or circular, an id twice, an attribute missing, of the wrong type or out of range, what
/// Lamina does not model; EnvironmentError for a file that cannot be read
[[nodiscard]] Trace read_trace(const std::filesystem::path& prefix, const std::filesystem::path& groups_file = {});

/// What a rank's file is checked against.
struct RankContext {
  std::string file;
  int rank = 0;
  int ranks = 0;
  const Groups* groups = nullptr;  ///< those that its nodes may name
};

/// One rank's file.
[[nodiscard]] RankTrace read_rank(std::istream& bytes, const RankContext& context);

/// `text`: {"1": [0, 1], ...}.
/// @throws ScenarioError
[[nodiscard]] Groups read_groups(const std::string& text, const std::string& file, int ranks);

/// Only the group of all ranks.
[[nodiscard]] Groups group_of_all(int ranks);

/// "step.3.et: rank 3, node 17 ("sa3")".
[[nodiscard]] std::string name_of(const Trace& trace, std::size_t rank, std::size_t node);

}  // namespace lamina::chakra
