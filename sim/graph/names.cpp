#include <fmt/format.h>

#include "sim/graph/operation_graph.hpp"

namespace lamina::graph {

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kRecompute:
      return "recompute";
    case Phase::kInputGradient:
      return "input gradient";
    case Phase::kWeightGradient:
      return "weight gradient";
    case Phase::kBackward:
      return "backward";
    case Phase::kPipeline:
      return "pipeline message";
    case Phase::kTensor:
      return "tensor collective";
    case Phase::kRestore:
      return "restore";
    case Phase::kReduce:
      return "reduce";
    case Phase::kUpdate:
      return "update";
    case Phase::kOffload:
      return "offload";
  }
  return "?";
}

const char* name_of(Traffic traffic) {
  switch (traffic) {
    case Traffic::kNone:
      return "none";
    case Traffic::kPipeline:
      return "pipeline";
    case Traffic::kReduce:
      return "reduce";
    case Traffic::kRestore:
      return "restore";
    case Traffic::kTensor:
      return "tensor";
    case Traffic::kOffload:
      return "offload";
  }
  return "?";
}

const char* name_of(MemoryCategory category) {
  switch (category) {
    case MemoryCategory::kState:
      return "state";
    case MemoryCategory::kWeights:
      return "weights";
    case MemoryCategory::kGradients:
      return "gradients";
    case MemoryCategory::kCheckpoints:
      return "checkpoints";
    case MemoryCategory::kWorkingSet:
      return "working_set";
    case MemoryCategory::kBuffers:
      return "buffers";
  }
  return "?";
}

const char* name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all-reduce";
    case CollectiveKind::kReduceScatter:
      return "reduce-scatter";
    case CollectiveKind::kAllGather:
      return "all-gather";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kAllToAll:
      return "all-to-all";
  }
  return "?";
}

const char* name_of(GroupKind kind) {
  switch (kind) {
    case GroupKind::kTensor:
      return "tensor";
    case GroupKind::kData:
      return "data";
    case GroupKind::kPipeline:
      return "pipeline";
    case GroupKind::kEmbedding:
      return "embedding";
  }
  return "?";
}

namespace {

std::string what(const Operation& operation, const Program& program) {
  switch (operation.kind) {
    case OperationKind::kSend:
      return fmt::format("send to rank {}", program.channels[operation.channel].peer);
    case OperationKind::kReceive:
      return fmt::format("receive from rank {}", program.channels[operation.channel].peer);
    case OperationKind::kCollective:
      return fmt::format("{} {} in the {} group", name_of(operation.phase), name_of(operation.collective),
                         name_of(operation.group));
    case OperationKind::kHostCopy:
      return operation.to_host ? "copy to host" : "copy from host";
    case OperationKind::kCompute:
      return name_of(operation.phase);
  }
  return "?";
}

}  // namespace

std::string describe(const Operation& operation, const Program& program) {
  std::string text = what(operation, program);
  if (operation.stage >= 0) {
    text += fmt::format(", stage {}", operation.stage);
  }
  if (operation.layer >= -1) {
    text += operation.layer == -1 ? std::string(", embedding") : fmt::format(", layer {}", operation.layer);
  }
  if (operation.micro_batch >= 0) {
    text += fmt::format(", micro-batch {}", operation.micro_batch);
  }
  return text;
}

std::string describe(const OperationGraph& graph, std::uint32_t vertex) {
  const int program = graph.program_of(vertex);
  const Program& owner = graph.programs[static_cast<std::size_t>(program)];
  const Operation& operation = owner.operations[vertex - graph.first_vertex[static_cast<std::size_t>(program)]];
  return fmt::format("rank {}: {} ({} stream)", program, describe(operation, owner),
                     owner.streams[operation.stream].name);
}

}  // namespace lamina::graph
