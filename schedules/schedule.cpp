#include "schedules/schedule.hpp"

#include <cstddef>

#include <fmt/format.h>

namespace lamina::schedules {

std::vector<Stage> looping_placement(int ranks, int stages) {
  std::vector<Stage> result(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    result[static_cast<std::size_t>(stage)] = {.rank = stage % ranks,
                                               .model_chunk = stage,
                                               .previous = stage - 1,
                                               .next = stage + 1 < stages ? stage + 1 : -1};
  }
  return result;
}

tl::expected<ScheduleTable, error::Infeasible> placed_table(const ScheduleRequest& request, int chunks_per_rank) {
  const int ranks = request.pipeline_parallel;
  if (ranks < 1 || request.micro_batches < 1 || chunks_per_rank < 1) {
    return tl::unexpected(error::Infeasible{fmt::format(
        "A schedule needs at least one pipeline rank, micro-batch and chunk per rank; it was asked for {}, {} and {}.",
        ranks, request.micro_batches, chunks_per_rank)});
  }
  const long long chunks = static_cast<long long>(ranks) * chunks_per_rank;
  if (request.layers < 1 || request.layers % chunks != 0) {
    return tl::unexpected(
        error::Infeasible{fmt::format("{} layers do not divide evenly over {} pipeline ranks with {} chunk{} each.",
                                      request.layers, ranks, chunks_per_rank, chunks_per_rank == 1 ? "" : "s")});
  }
  ScheduleTable table;
  table.model_chunks = static_cast<int>(chunks);
  table.micro_batches = request.micro_batches;
  table.stages = looping_placement(ranks, table.model_chunks);
  table.actions.resize(static_cast<std::size_t>(ranks));
  for (std::vector<Action>& row : table.actions) {
    row.reserve(static_cast<std::size_t>(chunks_per_rank) * static_cast<std::size_t>(request.micro_batches) * 2);
  }
  return table;
}

std::string to_string(const Action& action) {
  constexpr char kLetters[] = {'F', 'B', 'I', 'W'};
  return fmt::format("{}{}{}", action.stage, kLetters[static_cast<std::size_t>(action.type)], action.micro_batch);
}

}  // namespace lamina::schedules
