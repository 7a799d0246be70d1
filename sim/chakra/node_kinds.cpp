#include "sim/chakra/node_kinds.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/report/text.hpp"

namespace lamina::chakra {
namespace {

constexpr std::int64_t kLongestMicros = 1'000'000'000'000;  // 11 days
constexpr std::int64_t kMostBytes = 1'000'000'000'000'000;  // 1 PB
constexpr double kNanosPerMicro = 1e3;

class Filler {
 public:
  Filler(Node& node, const et_def::Node& message, const Attributes& attributes, const RankContext& context,
         const Refuse& refuse)
      : node_(node), message_(message), attributes_(attributes), context_(context), refuse_(refuse) {}

  void fill() {
    switch (static_cast<NodeType>(message_.type() >= 0 && message_.type() <= 7 ? message_.type() : 0)) {
      case NodeType::kMetadata:
        node_.kind = NodeKind::kNothing;
        return;
      case NodeType::kMemoryLoad:
      case NodeType::kMemoryStore:
        node_.kind = message_.type() == static_cast<int>(NodeType::kMemoryLoad) ? NodeKind::kLoad : NodeKind::kStore;
        node_.bytes = size(attributes_.tensor_size, "tensor_size");
        return;
      case NodeType::kCompute:
        compute();
        return;
      case NodeType::kSend:
      case NodeType::kReceive:
        message();
        return;
      case NodeType::kCollective:
        collective();
        return;
      case NodeType::kInvalid:
        break;
    }
    refuse_("Lamina does not model nodes of this type", fmt::format("type {}", message_.type()),
            "METADATA 1, MEM_LOAD 2, MEM_STORE 3, COMP 4, COMM_SEND 5, COMM_RECV 6, COMM_COLL 7");
  }

 private:
  void compute() {
    const std::uint64_t micros =
        message_.has_duration_micros()
            ? message_.duration_micros()
            : static_cast<std::uint64_t>(std::max<std::int64_t>(0, attributes_.runtime.value_or(0)));
    if (attributes_.runtime.value_or(0) < 0 || micros > static_cast<std::uint64_t>(kLongestMicros)) {
      refuse_("the duration makes no sense",
              fmt::format("{} us",
                          attributes_.runtime.value_or(0) < 0 ? "a negative number of" : fmt::format("{}", micros)),
              fmt::format("0 to {} us", kLongestMicros));
    }
    node_.duration_s = static_cast<double>(micros) * 1e-6;
    if (attributes_.duration_ns) {
      const double nanos = *attributes_.duration_ns;
      if (!(std::abs(nanos / kNanosPerMicro - static_cast<double>(micros)) <= 1) || nanos < 0) {
        refuse_("duration_micros and the attribute duration_ns contradict each other",
                fmt::format("{} us and {} ns", micros, nanos), "remove duration_ns, or make them agree to 1 us");
      }
      node_.duration_s = nanos * 1e-9;
    }
    if (node_.duration_s == 0 && attributes_.num_ops.value_or(0) != 0) {
      refuse_("it has num_ops and no duration, and Lamina runs recorded durations only",
              fmt::format("num_ops {}", *attributes_.num_ops), "duration_micros");
    }
    node_.kind = node_.duration_s == 0   ? NodeKind::kNothing
                 : attributes_.is_cpu_op ? NodeKind::kHostCompute
                                         : NodeKind::kCompute;
  }

  double size(const std::optional<std::int64_t>& value, const char* name) {
    if (!value) {
      refuse_(fmt::format("the attribute {} is missing", name), "", "a size in bytes");
    }
    const std::int64_t bytes = value.value_or(0);
    if (bytes < 0 || bytes > kMostBytes) {
      refuse_(fmt::format("{} makes no sense", name), fmt::format("{}", bytes),
              fmt::format("0 to {} bytes", kMostBytes));
    }
    return static_cast<double>(bytes);
  }

  std::int32_t peer(const std::optional<std::int64_t>& value, const char* name) {
    if (!value) {
      refuse_(fmt::format("the attribute {} is missing", name), "", "a rank");
    }
    const std::int64_t rank = value.value_or(0);
    if (rank < 0 || rank >= context_.ranks) {
      refuse_(fmt::format("{} is no rank of this trace", name), fmt::format("{}", rank),
              fmt::format("0 to {}", context_.ranks - 1));
    }
    if (rank == context_.rank) {
      refuse_("a rank cannot exchange messages with itself", fmt::format("{} {}", name, rank), "another rank");
    }
    return static_cast<std::int32_t>(rank);
  }

  void message() {
    const bool sends = message_.type() == static_cast<int>(NodeType::kSend);
    node_.kind = sends ? NodeKind::kSend : NodeKind::kReceive;
    const auto& own = sends ? attributes_.comm_src : attributes_.comm_dst;
    if (own && *own != context_.rank) {
      refuse_(fmt::format("{} is not the rank of the file", sends ? "comm_src" : "comm_dst"), fmt::format("{}", *own),
              fmt::format("{}", context_.rank));
    }
    node_.peer = sends ? peer(attributes_.comm_dst, "comm_dst") : peer(attributes_.comm_src, "comm_src");
    node_.tag = attributes_.comm_tag.value_or(0);
    node_.bytes = size(attributes_.comm_size, "comm_size");
  }

  void collective() {
    node_.kind = NodeKind::kCollective;
    node_.group = group();
    const auto members =
        static_cast<double>(context_.groups->all[static_cast<std::size_t>(node_.group)].members.size());
    if (!attributes_.comm_type) {
      refuse_("the attribute comm_type is missing", "", "a collective of et_def.proto, for example 0 (ALL_REDUCE)");
    }
    const std::int64_t type = attributes_.comm_type.value_or(0);
    switch (static_cast<CommunicationType>(type >= 0 && type <= 9 ? type : 1)) {
      case CommunicationType::kAllReduce:
        node_.collective = graph::CollectiveKind::kAllReduce;
        node_.bytes = size(attributes_.comm_size, "comm_size");
        return;
      case CommunicationType::kAllGather:  // comm_size is what one rank puts in
        node_.collective = graph::CollectiveKind::kAllGather;
        node_.bytes = size(attributes_.comm_size, "comm_size") * members;
        return;
      case CommunicationType::kBroadcast:
        node_.collective = graph::CollectiveKind::kBroadcast;
        node_.bytes = size(attributes_.comm_size, "comm_size");
        return;
      case CommunicationType::kAllToAll:
        node_.collective = graph::CollectiveKind::kAllToAll;
        node_.bytes = size(attributes_.comm_size, "comm_size");
        return;
      case CommunicationType::kReduceScatter:
      case CommunicationType::kReduceScatterBlock:
        node_.collective = graph::CollectiveKind::kReduceScatter;
        node_.bytes = size(attributes_.comm_size, "comm_size");
        return;
      case CommunicationType::kBarrier:  // everybody waits, nothing moves
        node_.collective = graph::CollectiveKind::kAllReduce;
        node_.bytes = 0;
        return;
      case CommunicationType::kReduce:
      case CommunicationType::kGather:
      case CommunicationType::kScatter:
        break;
    }
    refuse_(
        "Lamina does not model this collective", fmt::format("comm_type {}", type),
        "ALL_REDUCE 0, ALL_GATHER 2, BROADCAST 5, ALL_TO_ALL 6, REDUCE_SCATTER 7, REDUCE_SCATTER_BLOCK 8, BARRIER 9");
  }

  std::int32_t group() {
    const std::string name = attributes_.pg_name.value_or("");
    if (name.empty()) {
      if (attributes_.leaves_dimensions_out) {
        refuse_("involved_dim leaves dimensions out, and dimensions are not part of a trace", "",
                "a process group, named by pg_name");
      }
      return 0;
    }
    const Groups& groups = *context_.groups;
    const auto found = groups.by_name.find(name);
    if (found == groups.by_name.end()) {
      refuse_("pg_name is no process group", fmt::format("\"{}\"", report::truncate(report::printable(name), 40)),
              groups.file_found ? fmt::format("a key of {}", groups.file)
                                : fmt::format("a key of {}, and there is no such file", groups.file));
      return 0;
    }
    const std::vector<std::int32_t>& members = groups.all[static_cast<std::size_t>(found->second)].members;
    if (!std::binary_search(members.begin(), members.end(), context_.rank)) {
      refuse_(fmt::format("the rank is not a member of process group \"{}\"", report::printable(name)), "",
              fmt::format("one of the ranks that {} lists", groups.file));
    }
    return found->second;
  }

  Node& node_;
  const et_def::Node& message_;
  const Attributes& attributes_;
  const RankContext& context_;
  const Refuse& refuse_;
};

}  // namespace

void fill_node(Node& node, const et_def::Node& message, const Attributes& attributes, const RankContext& context,
               const Refuse& refuse) {
  Filler(node, message, attributes, context, refuse).fill();
}

}  // namespace lamina::chakra
