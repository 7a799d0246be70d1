#include "sim/lowering/program_builder.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lamina::lowering {
namespace {

std::string stream_name(graph::StreamKind kind, int peer, bool gradients) {
  const char* content = gradients ? "backward" : "forward";
  switch (kind) {
    case graph::StreamKind::kCompute:
      return "compute";
    case graph::StreamKind::kPipeline:
      return "pipeline";
    case graph::StreamKind::kPipelineSend:
      return fmt::format("send to {}, {}", peer, content);
    case graph::StreamKind::kPipelineReceive:
      return fmt::format("receive from {}, {}", peer, content);
    case graph::StreamKind::kData:
      return "data parallel";
    case graph::StreamKind::kTensor:
      return "tensor parallel";
    case graph::StreamKind::kHostIn:
      return "host to device";
    case graph::StreamKind::kHostOut:
      return "device to host";
  }
  return "?";
}

}  // namespace

ProgramBuilder::ProgramBuilder() {
  (void)stream(graph::StreamKind::kCompute);
}

std::uint16_t ProgramBuilder::stream(graph::StreamKind kind, int peer, bool gradients) {
  const StreamKey key{kind, peer, gradients};
  const auto known = std::find(streams_.begin(), streams_.end(), key);
  const auto index = static_cast<std::uint16_t>(known - streams_.begin());
  if (known == streams_.end()) {
    streams_.push_back(key);
    program_.streams.push_back({kind, stream_name(kind, peer, gradients)});
  }
  return index;
}

void ProgramBuilder::reserve(std::size_t operations, std::size_t memory_effects, std::size_t dependencies) {
  program_.operations.reserve(operations);
  program_.memory_effects.reserve(memory_effects);
  program_.dependencies.reserve(dependencies);
}

void ProgramBuilder::reside(graph::MemoryCategory category, double bytes) {
  program_.initial_memory[static_cast<int>(category)] += bytes;
}

std::uint16_t ProgramBuilder::add_channel(const graph::Channel& channel) {
  program_.channels.push_back(channel);
  return static_cast<std::uint16_t>(program_.channels.size() - 1);
}

}  // namespace lamina::lowering
