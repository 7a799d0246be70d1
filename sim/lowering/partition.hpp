#pragma once

#include <tl/expected.hpp>

#include "schedules/schedule.hpp"
#include "sim/error/error.hpp"
#include "sim/model/work.hpp"
#include "sim/scenario/scenario.hpp"

/// Which layers a model chunk holds. The embedding stands in front of the first chunk's layers and the head behind the
/// last chunk's; both may count as layers of the deal (Megatron-LM's --account-for-embedding-in-pipeline-split and
/// --account-for-loss-in-pipeline-split).
namespace lamina::lowering {

/// Transformer layers `first` to `end` - 1; none when a chunk holds only the embedding or the head.
struct LayerRange {
  int first = 0;
  int end = 0;

  [[nodiscard]] int size() const { return end - first; }
};

/// Layers that are dealt to the chunks: the transformer layers, and the ends that count as layers.
[[nodiscard]] int dealt_layers(const scenario::Strategy& strategy, int transformer_layers);

/// Chunk c of K holds the dealt layers floor(N c / K) to floor(N (c + 1) / K) - 1 of N; as evenly as they divide.
[[nodiscard]] LayerRange layers_of_chunk(const scenario::Strategy& strategy, int transformer_layers, int model_chunks,
                                         int chunk);

/// @return Infeasible when an end counts as a layer that the model does not have
[[nodiscard]] tl::expected<void, error::Infeasible> check_counted_ends(const scenario::Scenario& scenario);

/// @return Infeasible when an end counts as a layer that the model does not have, or a chunk would hold nothing
[[nodiscard]] tl::expected<void, error::Infeasible> check_partition(const scenario::Scenario& scenario,
                                                                    const model::WorkModel& work,
                                                                    const schedules::ScheduleTable& table);

}  // namespace lamina::lowering
