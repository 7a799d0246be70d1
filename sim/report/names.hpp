#pragma once

#include <array>
#include <string_view>

#include "sim/fabric/fabric.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/scenario/scenario.hpp"

/// Words of the report for enumerators. Scripts read them, so they are fixed here and tested, not derived.
namespace lamina::report {

/// Traffic classes that can stand exposed, in the order in which all writers show them.
inline constexpr std::array<graph::Traffic, 5> kExposedTraffic = {graph::Traffic::kPipeline, graph::Traffic::kReduce,
                                                                  graph::Traffic::kRestore, graph::Traffic::kTensor,
                                                                  graph::Traffic::kOffload};

inline constexpr std::array<graph::MemoryCategory, graph::kMemoryCategories> kMemoryOrder = {
    graph::MemoryCategory::kState,       graph::MemoryCategory::kWeights,    graph::MemoryCategory::kGradients,
    graph::MemoryCategory::kCheckpoints, graph::MemoryCategory::kWorkingSet, graph::MemoryCategory::kBuffers};

template <class Enumerator>
[[nodiscard]] constexpr std::size_t index_of(Enumerator value) {
  return static_cast<std::size_t>(value);
}

[[nodiscard]] std::string_view word_for(graph::Traffic traffic);          ///< "pipeline"
[[nodiscard]] std::string_view word_for(graph::MemoryCategory category);  ///< "working_set"
[[nodiscard]] std::string_view word_for(graph::Phase phase);              ///< "weight_gradient"
[[nodiscard]] std::string_view word_for(graph::CollectiveKind kind);      ///< "all_gather"
[[nodiscard]] std::string_view word_for(fabric::LinkClass link_class);    ///< "device_link"
[[nodiscard]] std::string_view word_for(scenario::ShardingLevel level);   ///< "optimizer"
[[nodiscard]] std::string_view word_for(scenario::Recompute recompute);   ///< "selective"
[[nodiscard]] std::string_view word_for(scenario::Update update);         ///< "after_global_norm"
[[nodiscard]] std::string_view word_for(scenario::Dimension dimension);   ///< "tensor"
[[nodiscard]] std::string_view word_for(scenario::DataType type);         ///< "bf16"
[[nodiscard]] std::string_view word_for(scenario::OffloadUpdate place);   ///< "host"
[[nodiscard]] std::string_view word_for(scenario::CollectiveForm form);   ///< "fluid"

}  // namespace lamina::report
