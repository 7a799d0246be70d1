#include "sim/lowering/partition.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace lamina::lowering {
namespace {

tl::unexpected<error::Infeasible> missing_end(const scenario::Scenario& scenario, const char* option, const char* end) {
  const char* why = scenario.model.custom ? "is given by durations of its layers" : "has no vocabulary";
  return tl::unexpected(
      error::Infeasible{fmt::format("strategy.{} deals the {} as a layer, but model {} {} and so no {}. Leave it out.",
                                    option, end, scenario.model.name, why, end)});
}

}  // namespace

int dealt_layers(const scenario::Strategy& strategy, int transformer_layers) {
  return transformer_layers + (strategy.embedding_counts_as_layer ? 1 : 0) + (strategy.head_counts_as_layer ? 1 : 0);
}

LayerRange layers_of_chunk(const scenario::Strategy& strategy, int transformer_layers, int model_chunks, int chunk) {
  const long long dealt = dealt_layers(strategy, transformer_layers);
  const auto boundary = [&](int c) {
    const auto place = static_cast<int>(dealt * c / model_chunks) - (strategy.embedding_counts_as_layer ? 1 : 0);
    return std::clamp(place, 0, transformer_layers);
  };
  return {boundary(chunk), boundary(chunk + 1)};
}

tl::expected<void, error::Infeasible> check_counted_ends(const scenario::Scenario& scenario) {
  const scenario::Strategy& strategy = scenario.strategy;
  const bool has_ends = !scenario.model.custom && scenario.model.vocabulary > 0;
  if (strategy.embedding_counts_as_layer && !has_ends) {
    return missing_end(scenario, "account_for_embedding_in_pipeline_split", "embedding");
  }
  if (strategy.head_counts_as_layer && !has_ends) {
    return missing_end(scenario, "account_for_loss_in_pipeline_split", "head");
  }
  return {};
}

tl::expected<void, error::Infeasible> check_partition(const scenario::Scenario& scenario, const model::WorkModel& work,
                                                      const schedules::ScheduleTable& table) {
  const scenario::Strategy& strategy = scenario.strategy;
  if (auto ends = check_counted_ends(scenario); !ends) {
    return ends;
  }
  const bool has_embedding = !work.embedding.blocks.empty();
  const bool has_head = !work.head.blocks.empty();
  const int chunks = table.model_chunks;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const bool holds_end = (chunk == 0 && has_embedding) || (chunk == chunks - 1 && has_head);
    if (!holds_end && layers_of_chunk(strategy, work.layers, chunks, chunk).size() == 0) {
      return tl::unexpected(error::Infeasible{
          fmt::format("schedule {} cuts the model into {} parts, and part {} would hold no layer: {} layers are dealt.",
                      strategy.schedule.name, chunks, chunk, dealt_layers(strategy, work.layers))});
    }
  }
  return {};
}

}  // namespace lamina::lowering
