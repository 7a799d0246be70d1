#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <boost/graph/compressed_sparse_row_graph.hpp>

#include "sim/units/quantity.hpp"

/// What every pipeline role executes: in-order streams of operations plus dependencies. The replay and the executors
/// consume the same graph. One program serves all data- and tensor-parallel ranks of a pipeline rank.
namespace lamina::graph {

enum class OperationKind : std::uint8_t { kCompute, kSend, kReceive, kCollective, kHostCopy };

enum class Phase : std::uint8_t {
  kForward,
  kRecompute,
  kInputGradient,
  kWeightGradient,
  kBackward,  ///< input and weight gradient in one operation
  kPipeline,
  kTensor,
  kRestore,
  kReduce,
  kUpdate,
  kOffload,
};

/// What exposed time is charged to.
enum class Traffic : std::uint8_t { kNone, kPipeline, kReduce, kRestore, kTensor, kOffload };

inline constexpr int kTrafficClasses = 6;

enum class CollectiveKind : std::uint8_t { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kAllToAll };

inline constexpr int kCollectiveKinds = 5;

/// Which peers take part. Tensor and data groups hold ranks of one role; pipeline and embedding groups cross roles.
enum class GroupKind : std::uint8_t {
  kTensor,
  kData,
  kPipeline,   ///< all pipeline ranks of one replica and tensor rank (gradient norm)
  kEmbedding,  ///< first and last pipeline rank (tied embeddings)
};

inline constexpr int kGroupKinds = 4;

enum class StreamKind : std::uint8_t {
  kCompute,
  kPipeline,
  kPipelineSend,
  kPipelineReceive,
  kData,
  kTensor,
  kHostIn,
  kHostOut
};

/// A FIFO of a rank: an operation starts when it is the head of its stream and its predecessors are done.
struct Stream {
  StreamKind kind = StreamKind::kCompute;
  std::string name;      ///< "compute", "send to 3 (forward)", ...
  bool in_order = true;  ///< false: a set, not a FIFO; only predecessors count (communication of a recorded trace)
};

/// A directed edge to another role, used by the sends of this program or by its receives. The k-th send on a channel
/// pairs with the k-th receive of the peer's matching channel; a transfer starts when both are at the head of their
/// streams.
struct Channel {
  int peer = 0;          ///< pipeline rank at the other end
  int peer_channel = 0;  ///< index of the matching channel in the peer's program
  bool sends = false;
  bool gradients = false;  ///< carries input gradients (backward) instead of activations
};

enum class MemoryCategory : std::uint8_t { kState, kWeights, kGradients, kCheckpoints, kWorkingSet, kBuffers };

inline constexpr int kMemoryCategories = 6;

/// Bytes taken (> 0) or given back (< 0) when an operation starts or ends.
struct MemoryEffect {
  std::uint32_t operation = 0;
  bool at_end = false;
  MemoryCategory category = MemoryCategory::kBuffers;
  double bytes = 0;
};

struct Operation {
  OperationKind kind = OperationKind::kCompute;
  Phase phase = Phase::kForward;
  Traffic traffic = Traffic::kNone;
  CollectiveKind collective = CollectiveKind::kAllReduce;  ///< kCollective
  GroupKind group = GroupKind::kTensor;                    ///< kCollective; other values: process groups of a trace
  bool to_host = false;                                    ///< kHostCopy
  std::uint16_t stream = 0;
  std::uint16_t channel = 0;      ///< kSend, kReceive: index into Program::channels
  std::int32_t micro_batch = -1;  ///< -1: none
  std::int32_t stage = -1;
  std::int32_t layer = -1;  ///< global layer: 0..L-1 transformer layers; -1: embedding, L: head; -2: none
  std::int16_t block = -1;
  double duration_s = 0;    ///< kCompute: on a device of nominal speed
  double host_s = 0;        ///< that the host is busy launching it; compute stream only (launch_queue.hpp)
  double tail_s = 0;        ///< kCompute: it ends no earlier than this after its first launch (units::LaunchTime)
  bool host_waits = false;  ///< the host launches it only when everything before it is done (a synchronisation)
  double flops = 0;         ///< kCompute
  double bytes = 0;         ///< messages, copies: bytes moved; collectives: payload per rank before the algorithm
};

/// Dependencies and stream order as edges; vertices are operations of all programs, numbered program by program.
using DependencyGraph = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                                           boost::no_property, std::uint32_t, std::uint32_t>;

struct Program {
  std::vector<Stream> streams;
  std::vector<Channel> channels;
  std::vector<Operation> operations;  ///< operations of one stream stand in stream order
  std::vector<MemoryEffect> memory_effects;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> dependencies;  ///< (before, after), besides stream order
  double initial_memory[kMemoryCategories] = {};                      ///< resident for the whole step, bytes
};

/// Frozen by `freeze`; programs are not changed afterwards.
struct OperationGraph {
  std::vector<Program> programs;            ///< [pipeline rank]
  std::vector<std::uint32_t> first_vertex;  ///< [program], and the total at the end
  DependencyGraph edges;                    ///< stream order and dependencies, from -> to, within programs
  std::vector<std::uint32_t> partner;       ///< [vertex] matching send or receive; kNoPartner otherwise
  static constexpr std::uint32_t kNoPartner = 0xffffffffU;

  [[nodiscard]] std::size_t size() const { return partner.size(); }

  [[nodiscard]] std::uint32_t vertex(int program, std::uint32_t operation) const {
    return first_vertex[static_cast<std::size_t>(program)] + operation;
  }

  /// Pipeline rank that owns a vertex (logarithmic in the number of programs).
  [[nodiscard]] int program_of(std::uint32_t vertex) const;
  [[nodiscard]] const Operation& operation(std::uint32_t vertex) const;
};

/// Builds the edge structure and pairs messages.
/// @throws InternalError with rank, channel and position when a send has no receive or pairs differ in stage or
/// micro-batch
[[nodiscard]] OperationGraph freeze(std::vector<Program> programs);

/// Finds a cycle (deadlock of the in-order streams): "" if there is none, otherwise a text that names each rank on the
/// cycle, its operation and what it waits for. Boost.Graph topological order over the graph in which paired messages
/// and cross-role collectives are one vertex.
[[nodiscard]] std::string find_deadlock(const OperationGraph& graph);

/// "rank 3: receive from rank 2, stage 7, micro-batch 2 (receive from 2, forward stream)", for messages and traces.
[[nodiscard]] std::string describe(const OperationGraph& graph, std::uint32_t vertex);

/// "backward, stage 1, layer 31, micro-batch 0".
[[nodiscard]] std::string describe(const Operation& operation, const Program& program);

[[nodiscard]] const char* name_of(Phase phase);
[[nodiscard]] const char* name_of(Traffic traffic);
[[nodiscard]] const char* name_of(MemoryCategory category);
[[nodiscard]] const char* name_of(CollectiveKind kind);
[[nodiscard]] const char* name_of(GroupKind kind);

}  // namespace lamina::graph
