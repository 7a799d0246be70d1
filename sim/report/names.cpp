#include "sim/report/names.hpp"

#include "sim/error/error.hpp"

namespace lamina::report {

namespace {

template <std::size_t Size, class Enumerator>
std::string_view pick(const std::array<std::string_view, Size>& words, Enumerator value) {
  const std::size_t index = index_of(value);
  if (index >= Size) {
    throw error::InternalError("report: enumerator without a word");
  }
  return words[index];
}

}  // namespace

std::string_view word_for(graph::Traffic traffic) {
  return pick(std::array<std::string_view, 6>{"none", "pipeline", "reduce", "restore", "tensor", "offload"}, traffic);
}

std::string_view word_for(graph::MemoryCategory category) {
  return pick(std::array<std::string_view, 6>{"state", "weights", "gradients", "checkpoints", "working_set", "buffers"},
              category);
}

std::string_view word_for(graph::Phase phase) {
  return pick(std::array<std::string_view, 11>{"forward", "recompute", "input_gradient", "weight_gradient", "backward",
                                               "pipeline", "tensor", "restore", "reduce", "update", "offload"},
              phase);
}

std::string_view word_for(graph::CollectiveKind kind) {
  return pick(std::array<std::string_view, 5>{"all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all"},
              kind);
}

std::string_view word_for(fabric::LinkClass link_class) {
  return pick(std::array<std::string_view, 4>{"device_link", "host_path", "port", "trunk"}, link_class);
}

std::string_view word_for(scenario::ShardingLevel level) {
  return pick(std::array<std::string_view, 4>{"none", "optimizer", "gradients", "full"}, level);
}

std::string_view word_for(scenario::Recompute recompute) {
  return pick(std::array<std::string_view, 3>{"none", "selective", "full"}, recompute);
}

std::string_view word_for(scenario::Update update) {
  return pick(std::array<std::string_view, 2>{"after_global_norm", "with_reduction"}, update);
}

std::string_view word_for(scenario::Dimension dimension) {
  return pick(std::array<std::string_view, 3>{"tensor", "data", "pipeline"}, dimension);
}

std::string_view word_for(scenario::DataType type) {
  return pick(std::array<std::string_view, 5>{"fp32", "tf32", "fp16", "bf16", "fp8"}, type);
}

std::string_view word_for(scenario::OffloadUpdate place) {
  return pick(std::array<std::string_view, 2>{"host", "device"}, place);
}

std::string_view word_for(scenario::CollectiveForm form) {
  return pick(std::array<std::string_view, 2>{"fluid", "message"}, form);
}

}  // namespace lamina::report
