#include "schedules/placement.hpp"

#include <fmt/format.h>

namespace lamina::schedules {

catalog::ParameterSpec layers_per_chunk_parameter() {
  return {.name = "layers_per_chunk",
          .kind = catalog::ParameterKind::kInteger,
          .default_value = "1",
          .choices = {},
          .minimum = 1,
          .maximum = 1e6,
          .help = "Consecutive layers in one chunk; pipeline ranks x chunks x this are all layers."};
}

tl::expected<ScheduleTable, error::Infeasible> looping_table(const ScheduleRequest& request) {
  const int layers_per_chunk = request.parameters.integer("layers_per_chunk");
  const int ranks = request.pipeline_parallel;
  const long long layers_per_turn = static_cast<long long>(ranks) * layers_per_chunk;
  if (layers_per_turn < 1 || request.layers < 1 || request.layers % layers_per_turn != 0) {
    return tl::unexpected(
        error::Infeasible{fmt::format("{} layers do not divide evenly over {} pipeline ranks in chunks of {} layer{}.",
                                      request.layers, ranks, layers_per_chunk, layers_per_chunk == 1 ? "" : "s")});
  }
  return placed_table(request, static_cast<int>(request.layers / layers_per_turn));
}

std::vector<Stage> v_placement(int ranks) {
  std::vector<Stage> stages = looping_placement(ranks, 2 * ranks);
  for (int stage = ranks; stage < 2 * ranks; ++stage) {
    stages[static_cast<std::size_t>(stage)].rank = 2 * ranks - 1 - stage;
  }
  return stages;
}

tl::expected<ScheduleTable, error::Infeasible> v_table(const ScheduleRequest& request) {
  tl::expected<ScheduleTable, error::Infeasible> table = placed_table(request, 2);
  if (table) {
    table->stages = v_placement(request.pipeline_parallel);
  }
  return table;
}

int chunks_per_rank(const ScheduleTable& table) {
  return static_cast<int>(table.stages.size() / table.actions.size());
}

}  // namespace lamina::schedules
