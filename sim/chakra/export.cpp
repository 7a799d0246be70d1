#include "sim/chakra/export.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <string_view>

#include "et_def.pb.h"
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message_lite.h>

#include "sim/chakra/node_kinds.hpp"
#include "sim/error/error.hpp"

namespace lamina::chakra {
namespace {

constexpr const char* kVersion = "0.0.4";
constexpr double kMicros = 1e6;
constexpr double kNanos = 1e9;

/// Appends messages, each after its length.
class File {
 public:
  explicit File(std::string& out) : stream_(&out), coded_(&stream_) {}

  void append(const google::protobuf::MessageLite& message) {
    coded_.WriteVarint32(static_cast<std::uint32_t>(message.ByteSizeLong()));
    message.SerializeToCodedStream(&coded_);
  }

 private:
  google::protobuf::io::StringOutputStream stream_;
  google::protobuf::io::CodedOutputStream coded_;
};

void set_int32(et_def::Node& node, const char* name, std::int32_t value) {
  et_def::Attribute& attribute = *node.add_attributes();
  attribute.set_name(name);
  attribute.set_int32_value(value);
}

void set_int64(et_def::Node& node, const char* name, double value) {
  et_def::Attribute& attribute = *node.add_attributes();
  attribute.set_name(name);
  attribute.set_int64_value(std::llround(value));
}

void set_text(et_def::Node& node, const char* name, const std::string& value) {
  et_def::Attribute& attribute = *node.add_attributes();
  attribute.set_name(name);
  attribute.set_string_value(value);
}

CommunicationType type_of(graph::CollectiveKind kind) {
  switch (kind) {
    case graph::CollectiveKind::kAllReduce:
      return CommunicationType::kAllReduce;
    case graph::CollectiveKind::kReduceScatter:
      return CommunicationType::kReduceScatter;
    case graph::CollectiveKind::kAllGather:
      return CommunicationType::kAllGather;
    case graph::CollectiveKind::kBroadcast:
      return CommunicationType::kBroadcast;
    case graph::CollectiveKind::kAllToAll:
      return CommunicationType::kAllToAll;
  }
  throw error::InternalError("unknown collective");
}

/// One rank's operations as nodes.
class NodeWriter {
 public:
  NodeWriter(const graph::OperationGraph& graph, const deployment::Deployment& whole, std::size_t rank)
      : graph_(graph),
        whole_(whole),
        rank_(whole.ranks[rank]),
        program_(graph.programs[static_cast<std::size_t>(rank_.program)]) {}

  void fill(et_def::Node& node, std::uint32_t number) const {
    const graph::Operation& operation = program_.operations[number];
    node.set_name(graph::describe(operation, program_));
    bool on_host = false;
    switch (operation.kind) {
      case graph::OperationKind::kCompute:
        set_type(node, NodeType::kCompute);
        on_host = program_.streams[operation.stream].kind != graph::StreamKind::kCompute;
        set_duration(node, operation.duration_s * rank_.slowness);
        break;
      case graph::OperationKind::kSend:
      case graph::OperationKind::kReceive:
        message(node, operation, number);
        break;
      case graph::OperationKind::kCollective:
        on_host = !collective(node, operation);
        break;
      case graph::OperationKind::kHostCopy:
        set_type(node, operation.to_host ? NodeType::kMemoryStore : NodeType::kMemoryLoad);
        set_int64(node, "tensor_size", operation.bytes);
        break;
    }
    et_def::Attribute& attribute = *node.add_attributes();
    attribute.set_name("is_cpu_op");
    attribute.set_boolean_value(on_host);
  }

 private:
  static void set_type(et_def::Node& node, NodeType type) { node.set_type(static_cast<std::int64_t>(type)); }

  static void set_duration(et_def::Node& node, double duration_s) {
    if (duration_s > 0) {
      node.set_duration_micros(static_cast<std::uint64_t>(std::llround(duration_s * kMicros)));
      et_def::Attribute& attribute = *node.add_attributes();
      attribute.set_name("duration_ns");
      attribute.set_double_value(duration_s * kNanos);
    }
  }

  void message(et_def::Node& node, const graph::Operation& operation, std::uint32_t number) const {
    const bool sends = operation.kind == graph::OperationKind::kSend;
    const deployment::Channel& channel = whole_.channels[static_cast<std::size_t>(rank_.channels[operation.channel])];
    const deployment::Rank& sender = whole_.ranks[static_cast<std::size_t>(channel.sender)];
    const deployment::Rank& receiver = whole_.ranks[static_cast<std::size_t>(channel.receiver)];
    set_type(node, sends ? NodeType::kSend : NodeType::kReceive);
    set_int32(node, "comm_src", sender.device);
    set_int32(node, "comm_dst", receiver.device);
    // One tag for each message of a pair: the send's number in its program.
    const std::uint32_t send =
        sends ? number : graph_.partner[graph_.vertex(rank_.program, number)] - graph_.vertex(sender.program, 0);
    set_int32(node, "comm_tag", static_cast<std::int32_t>(send));
    set_int64(node, "comm_size", operation.bytes);
  }

  /// False: nobody else takes part, and the node only stands for its dependencies.
  bool collective(et_def::Node& node, const graph::Operation& operation) const {
    const std::int32_t group = rank_.groups[static_cast<std::size_t>(operation.group)];
    if (group < 0) {
      set_type(node, NodeType::kCompute);
      return false;
    }
    const auto members = static_cast<double>(whole_.groups[static_cast<std::size_t>(group)].members.size());
    set_type(node, NodeType::kCollective);
    set_int64(node, "comm_type", static_cast<double>(type_of(operation.collective)));
    const bool counts_the_shard = operation.collective == graph::CollectiveKind::kAllGather;
    set_int64(node, "comm_size", counts_the_shard ? operation.bytes / members : operation.bytes);
    set_text(node, "pg_name", fmt::format("{}", group + 1));
    return true;
  }

  const graph::OperationGraph& graph_;
  const deployment::Deployment& whole_;
  const deployment::Rank& rank_;
  const graph::Program& program_;
};

}  // namespace

Exporter::Exporter(const graph::OperationGraph& graph, const deployment::Deployment& whole)
    : graph_(graph), whole_(whole), rank_of_device_(whole.ranks.size(), whole.ranks.size()) {
  for (std::size_t rank = 0; rank < whole.ranks.size(); ++rank) {
    const auto device = static_cast<std::size_t>(whole.ranks[rank].device);
    if (device >= rank_of_device_.size() || rank_of_device_[device] != whole.ranks.size()) {
      throw error::InternalError(fmt::format("rank {} is on device {} of {}", rank, device, whole.ranks.size()));
    }
    rank_of_device_[device] = rank;
  }
  for (std::size_t program = 0; program < graph.programs.size(); ++program) {
    orders_.push_back(order_of(program));
  }
}

Exporter::Order Exporter::order_of(std::size_t program) const {
  const std::size_t size = graph_.programs[program].operations.size();
  const std::uint32_t first = graph_.first_vertex[program];
  std::vector<std::vector<std::uint32_t>> before(size);
  std::vector<std::uint32_t> waiting(size, 0);
  const auto each_successor = [&](std::uint32_t operation, const auto& visit) {
    const auto [begin, end] = out_edges(first + operation, graph_.edges);
    for (auto edge = begin; edge != end; ++edge) {
      visit(target(*edge, graph_.edges) - first);
    }
  };
  for (std::uint32_t i = 0; i < size; ++i) {
    each_successor(i, [&](std::uint32_t after) {
      before[after].push_back(i);
      ++waiting[after];
    });
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < size; ++i) {
    if (waiting[i] == 0) {
      ready.push(i);
    }
  }
  Order order;
  std::vector<std::uint64_t> id(size, 0);
  while (!ready.empty()) {
    const std::uint32_t now = ready.top();
    ready.pop();
    id[now] = order.operations.size();
    order.operations.push_back(now);
    std::vector<std::uint64_t>& dependencies = order.dependencies.emplace_back();
    for (const std::uint32_t one : before[now]) {
      dependencies.push_back(id[one]);
    }
    std::sort(dependencies.begin(), dependencies.end());
    each_successor(now, [&](std::uint32_t after) {
      if (--waiting[after] == 0) {
        ready.push(after);
      }
    });
  }
  if (order.operations.size() != size) {
    throw error::InternalError(fmt::format("the operations of program {} wait for each other", program));
  }
  return order;
}

std::string Exporter::rank_file(std::size_t rank) const {
  std::string out;
  {
    File file(out);
    et_def::GlobalMetadata metadata;
    metadata.set_version(kVersion);
    file.append(metadata);
    const std::size_t number = rank_of_device_.at(rank);
    const NodeWriter writer(graph_, whole_, number);
    const Order& order = orders_[static_cast<std::size_t>(whole_.ranks[number].program)];
    et_def::Node node;
    for (std::size_t id = 0; id < order.operations.size(); ++id) {
      node.Clear();
      node.set_id(id);
      for (const std::uint64_t before : order.dependencies[id]) {
        node.add_data_dependencies(before);
      }
      writer.fill(node, order.operations[id]);
      file.append(node);
    }
  }
  return out;
}

std::string Exporter::groups_file() const {
  std::string text = "{";
  for (std::size_t group = 0; group < whole_.groups.size(); ++group) {
    std::vector<std::int32_t> devices;
    for (const std::int32_t member : whole_.groups[group].members) {
      devices.push_back(whole_.ranks[static_cast<std::size_t>(member)].device);
    }
    std::sort(devices.begin(), devices.end());
    text += fmt::format("{}\"{}\": [{}]", group == 0 ? "\n" : ",\n", group + 1, fmt::join(devices, ", "));
  }
  return text + "\n}\n";
}

}  // namespace lamina::chakra
