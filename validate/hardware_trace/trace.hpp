#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What a profiler recorded on the devices of a real job, as plain data: one RankTrace per rank. Times are whole
/// nanoseconds: microseconds since 1970 with three decimals need 61 bits, a double has 53.
namespace lamina::validate::hardware_trace {

enum class EventClass : std::uint8_t {
  kGemm,         ///< matrix products and convolutions
  kAttention,    ///< fused attention
  kMemoryBound,  ///< element-wise, reductions, norms, copies by kernel, optimizer
  kOtherKernel,  ///< a kernel whose name says none of these
  kCommunication,
  kCopyToHost,
  kCopyFromHost,
  kCopyOnDevice,
  kCopyBetweenDevices,
  kSet,      ///< memset
  kCompute,  ///< compute of our own timeline
};

inline constexpr std::size_t kEventClasses = 11;

enum class CollectiveName : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kAllToAll,
  kReduce,
  kSend,
  kReceive,
  kSendReceive,  ///< a kernel for messages of either direction, or for an all-to-all made of messages
  kBarrier,
  kOther,
};

inline constexpr std::size_t kCollectiveNames = 11;

/// Where the description of a communication kernel was found: the three historical places of PyTorch traces, and ours.
enum class DetailSource : std::uint8_t {
  kKernel,        ///< arguments of the kernel itself
  kCpuOperation,  ///< arguments of record_param_comms, joined by "External id"
  kName,          ///< nowhere: only what the kernel's name tells; no sizes
  kTimeline,      ///< a timeline of Lamina
};

inline constexpr std::size_t kDetailSources = 4;

/// Numbers into RankTrace::names; kNoName: none.
using NameId = std::uint32_t;

inline constexpr NameId kNoName = 0xffffffffU;

struct Communication {
  CollectiveName name = CollectiveName::kOther;
  DetailSource source = DetailSource::kName;
  double bytes = 0;             ///< the larger of what a rank gives and what it gets; 0: not known
  std::int32_t group_size = 0;  ///< 0: not known
  NameId group = kNoName;       ///< process group
  std::int64_t sequence = -1;   ///< of the group's collectives; -1: not known
  std::int32_t peer = -1;       ///< of a message: the other end
};

/// What a range of the host announces: "PP:3F1" of torch.distributed.pipelining, "Forward 1".
struct Action {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  NameId name = kNoName;
  char kind = '?';                ///< F forward, B backward, I input gradient, W weight gradient, ? another
  std::int32_t stage = -1;        ///< -1: not said
  std::int32_t micro_batch = -1;  ///< -1: not said
};

/// An operation of our own timeline.
struct Operation {
  NameId phase = kNoName;
  std::int32_t stage = -1;
  std::int32_t layer = -2;  ///< as graph::Operation::layer
  std::int32_t micro_batch = -1;
  double bytes = 0;
};

/// "ProfilerStep#n".
struct Step {
  std::int64_t number = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;

  [[nodiscard]] bool operator==(const Step&) const = default;
};

/// One kernel, copy or memset on a device.
struct Event {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  NameId name = kNoName;
  std::int32_t stream = 0;        ///< our own timelines: index into RankTrace::streams
  std::uint32_t correlation = 0;  ///< to the launch; 0: none
  std::int32_t detail = -1;       ///< kCommunication: into communications
  std::int32_t action = -1;       ///< into actions: the one that launched it; own timelines: into operations
  std::int16_t step = -1;         ///< into steps: the one that launched it
  EventClass kind = EventClass::kOtherKernel;

  [[nodiscard]] std::int64_t end_ns() const { return start_ns + duration_ns; }
};

enum class Format : std::uint8_t { kKineto, kNsight, kTimeline };

struct RankTrace {
  std::string file;
  Format format = Format::kKineto;
  std::int32_t rank = -1;        ///< -1: not said
  std::int32_t world_size = -1;  ///< -1: not said
  std::int32_t device = -1;
  std::string device_name;
  std::string backend;
  std::string title;         ///< own timelines: of the process, "pipeline rank 0 (data 1, tensor 0)"
  std::int64_t base_ns = 0;  ///< already added to all times
  std::int64_t records = 0;  ///< read, of any kind
  std::vector<std::string> names;
  std::vector<std::string> streams;  ///< own timelines: names of streams
  std::vector<Event> events;         ///< by start; own timelines: by stream, in stream order
  std::vector<Communication> communications;
  std::vector<Operation> operations;
  std::vector<Action> actions;  ///< by start
  std::vector<Step> steps;      ///< by start

  [[nodiscard]] std::string_view name_of(NameId id) const {
    return id < names.size() ? std::string_view(names[id]) : std::string_view();
  }
};

[[nodiscard]] std::string_view word_for(EventClass kind);      ///< "gemm", "memory_bound" ...
[[nodiscard]] std::string_view word_for(CollectiveName name);  ///< "all_reduce" ...
[[nodiscard]] std::string_view word_for(DetailSource source);  ///< "kernel", "cpu_operation" ...
[[nodiscard]] std::string_view word_for(Format format);        ///< "kineto", "nsight", "lamina"

[[nodiscard]] bool is_kernel_compute(EventClass kind);  ///< a kernel that is not communication, or compute of ours
[[nodiscard]] bool is_copy(EventClass kind);            ///< memcpy or memset

}  // namespace lamina::validate::hardware_trace
