#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "schedules/dual_pipe_steps.hpp"
#include "schedules/schedule.hpp"

namespace lamina::schedules {
namespace {

/// Two copies of the model, fed from opposite ends with m / 2 micro-batches each: stage s < p is chunk s on rank s,
/// stage p + k is chunk k of the second copy on rank p - 1 - k. The copies' gradients must be summed between ranks r
/// and p - 1 - r before the update; that exchange is not part of the table and is not modelled.
class DualPipe final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    const int ranks = request.pipeline_parallel;
    const int micro_batches = request.micro_batches;
    if (ranks % 2 != 0 || micro_batches % 2 != 0 || micro_batches < 2 * ranks) {
      return tl::unexpected(error::Infeasible{fmt::format(
          "dual_pipe needs an even number of pipeline ranks and an even number of micro-batches, at least two per "
          "rank; it was asked for {} ranks and {} micro-batches.",
          ranks, micro_batches)});
    }
    tl::expected<ScheduleTable, error::Infeasible> result = placed_table(request, 1);
    if (!result) {
      return result;
    }
    add_second_copy(*result);
    for (int rank = 0; rank < ranks; ++rank) {
      const int mirrored = ranks - 1 - rank;
      DualPipeRank position{std::min(rank, mirrored), ranks / 2, micro_batches / 2, {rank, ranks + mirrored}};
      if (rank > mirrored) {
        std::swap(position.stages[0], position.stages[1]);
      }
      write_dual_pipe_row(position, result->actions[static_cast<std::size_t>(rank)]);
    }
    return result;
  }

 private:
  static void add_second_copy(ScheduleTable& table) {
    const int ranks = table.model_chunks;
    for (int chunk = 0; chunk < ranks; ++chunk) {
      Stage stage = table.stages[static_cast<std::size_t>(chunk)];
      stage.rank = ranks - 1 - chunk;
      stage.previous = chunk > 0 ? ranks + chunk - 1 : -1;
      stage.next = chunk + 1 < ranks ? ranks + chunk + 1 : -1;
      table.stages.push_back(stage);
    }
  }
};

}  // namespace

void register_dual_pipe(catalog::Catalog<Schedule>& catalog) {
  catalog.add(
      {.name = "dual_pipe",
       .summary = "Two copies of the model fed from both ends; forwards of one run paired with backwards of the "
                  "other. A pair lasts the sum of its parts, and summing the two copies' gradients is not "
                  "modelled.",
       .source = "DeepSeek-V3 technical report, arXiv 2412.19437, section 3.2.1; steps of the public DualPipe "
                 "code",
       .parameters = {}},
      std::make_unique<DualPipe>());
}

}  // namespace lamina::schedules
