#include <algorithm>
#include <memory>

#include "schedules/depth_first.hpp"
#include "schedules/placement.hpp"
#include "schedules/schedule.hpp"

namespace lamina::schedules {
namespace {

/// Chunk c of rank r is stage c p + r. After a warm-up of min(v m, (v - 1) g + 2 (p - 1 - r)) forwards, one forward and
/// one backward alternate over the chunks in depth-first order with groups of g micro-batches.
class Interleaved final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    tl::expected<ScheduleTable, error::Infeasible> result = looping_table(request);
    if (!result) {
      return result;
    }
    const int ranks = request.pipeline_parallel;
    const int chunks = chunks_per_rank(*result);
    const tl::expected<int, error::Infeasible> group = depth_first_group(request, chunks);
    if (!group) {
      return tl::unexpected(group.error());
    }
    const std::vector<ChunkPass> passes = depth_first_passes(request.micro_batches, chunks, *group);
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<Action>& row = result->actions[static_cast<std::size_t>(rank)];
      const long long fill = static_cast<long long>(chunks - 1) * *group + 2LL * (ranks - 1 - rank);
      const auto warm_up = static_cast<std::size_t>(std::min(fill, static_cast<long long>(passes.size())));
      // Without a steady state Megatron-LM receives the first gradient by itself.
      result->pairs_from.push_back(warm_up < passes.size() ? warm_up : 2 * passes.size());
      for (std::size_t position = 0; position < passes.size() + warm_up; ++position) {
        if (position < passes.size()) {
          const ChunkPass& pass = passes[position];
          row.push_back({ActionType::kForward, pass.chunk * ranks + rank, pass.micro_batch});
        }
        if (position >= warm_up) {
          const ChunkPass& pass = passes[position - warm_up];
          row.push_back({ActionType::kBackward, (chunks - 1 - pass.chunk) * ranks + rank, pass.micro_batch});
        }
      }
    }
    return result;
  }
};

}  // namespace

void register_interleaved(catalog::Catalog<Schedule>& catalog) {
  catalog.add({.name = "interleaved",
               .summary = "Depth-first: one forward and one backward alternate over several chunks per pipeline rank.",
               .source = "Narayanan et al., Megatron-LM, arXiv 2104.04473, section 2.2; order as in PyTorch's "
                         "ScheduleInterleaved1F1B",
               .parameters = {layers_per_chunk_parameter(), group_size_parameter()}},
              std::make_unique<Interleaved>());
}

}  // namespace lamina::schedules
