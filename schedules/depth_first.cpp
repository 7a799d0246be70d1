#include "schedules/depth_first.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace lamina::schedules {

catalog::ParameterSpec group_size_parameter() {
  return {.name = "micro_batch_group_size",
          .kind = catalog::ParameterKind::kInteger,
          .default_value = "0",
          .choices = {},
          .minimum = 0,
          .maximum = 1e6,
          .help =
              "Micro-batches that pass a chunk before the next chunk's turn, at least the pipeline ranks, the last "
              "group too; 0: "
              "micro-batches / max(1, micro-batches div ranks), as PyTorch does."};
}

tl::expected<int, error::Infeasible> depth_first_group(const ScheduleRequest& request, int chunks_per_rank) {
  const int ranks = request.pipeline_parallel;
  const int micro_batches = request.micro_batches;
  if (chunks_per_rank == 1) {
    return micro_batches;  // nothing to alternate with
  }
  const int chosen = request.parameters.integer("micro_batch_group_size");
  if (chosen == 0) {
    const int rounds = std::max(1, micro_batches / ranks);
    if (micro_batches % rounds != 0) {
      return tl::unexpected(error::Infeasible{
          fmt::format("{} micro-batches do not divide into {} equal groups of at least {} (the pipeline ranks); set "
                      "micro_batch_group_size, which may leave a shorter last group of at least {}.",
                      micro_batches, rounds, ranks, ranks)});
    }
    return micro_batches / rounds;
  }
  const int last = micro_batches % chosen == 0 ? chosen : micro_batches % chosen;
  if (chosen < micro_batches && std::min(chosen, last) < ranks) {
    const std::string group = chosen < ranks
                                  ? fmt::format("micro_batch_group_size {} is", chosen)
                                  : fmt::format(
                                        "{} micro-batches in groups of {} (micro_batch_group_size) leave a last "
                                        "group of {},",
                                        micro_batches, chosen, last);
    return tl::unexpected(error::Infeasible{
        fmt::format("{} less than the {} pipeline ranks: with {} chunks per rank, a rank's next forward can wait for a "
                    "forward that the last rank issues behind a backward that waits for this rank (deadlock).",
                    group, ranks, chunks_per_rank)});
  }
  return chosen;
}

std::vector<ChunkPass> depth_first_passes(int micro_batches, int chunks_per_rank, int group) {
  std::vector<ChunkPass> passes;
  passes.reserve(static_cast<std::size_t>(micro_batches) * static_cast<std::size_t>(chunks_per_rank));
  for (int first = 0; first < micro_batches; first += std::min(group, micro_batches - first)) {
    for (int chunk = 0; chunk < chunks_per_rank; ++chunk) {
      for (int index = 0; index < std::min(group, micro_batches - first); ++index) {
        passes.push_back({first + index, chunk});
      }
    }
  }
  return passes;
}

}  // namespace lamina::schedules
