#include <algorithm>
#include <memory>

#include "schedules/depth_first.hpp"
#include "schedules/placement.hpp"
#include "schedules/schedule.hpp"

namespace lamina::schedules {
namespace {

/// As `interleaved` with a shorter warm-up, min(v m, (v - 1) g + p - 1 - r), input gradients in place of backwards, and
/// the weight gradients r backward passes behind them.
class InterleavedZeroBubble final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    tl::expected<ScheduleTable, error::Infeasible> result = looping_table(request);
    if (!result) {
      return result;
    }
    const int chunks = chunks_per_rank(*result);
    const tl::expected<int, error::Infeasible> group = depth_first_group(request, chunks);
    if (!group) {
      return tl::unexpected(group.error());
    }
    const std::vector<ChunkPass> passes = depth_first_passes(request.micro_batches, chunks, *group);
    for (int rank = 0; rank < request.pipeline_parallel; ++rank) {
      const long long fill = static_cast<long long>(chunks - 1) * *group + request.pipeline_parallel - 1 - rank;
      const auto warm_up = static_cast<std::size_t>(std::min(fill, static_cast<long long>(passes.size())));
      write_row(passes, chunks, rank, warm_up, *result);
    }
    return result;
  }

 private:
  static void write_row(const std::vector<ChunkPass>& passes, int chunks, int rank, std::size_t warm_up,
                        ScheduleTable& table) {
    std::vector<Action>& row = table.actions[static_cast<std::size_t>(rank)];
    const int ranks = static_cast<int>(table.actions.size());
    const auto lag = static_cast<std::size_t>(rank);
    const auto backward = [&](ActionType type, std::size_t index) {
      const ChunkPass& pass = passes[index];
      row.push_back({type, (chunks - 1 - pass.chunk) * ranks + rank, pass.micro_batch});
    };
    for (std::size_t position = 0; position < passes.size() + warm_up + lag; ++position) {
      if (position < passes.size()) {
        row.push_back({ActionType::kForward, passes[position].chunk * ranks + rank, passes[position].micro_batch});
      }
      if (position >= warm_up && position - warm_up < passes.size()) {
        backward(ActionType::kInputGradient, position - warm_up);
      }
      if (position >= warm_up + lag) {
        backward(ActionType::kWeightGradient, position - warm_up - lag);
      }
    }
  }
};

}  // namespace

void register_interleaved_zero_bubble(catalog::Catalog<Schedule>& catalog) {
  catalog.add({.name = "interleaved_zero_bubble",
               .summary = "Interleaved with the backward split: weight gradients fill part of the bubble.",
               .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241; order as in PyTorch's "
                         "ScheduleInterleavedZeroBubble",
               .parameters = {layers_per_chunk_parameter(), group_size_parameter()}},
              std::make_unique<InterleavedZeroBubble>());
}

}  // namespace lamina::schedules
