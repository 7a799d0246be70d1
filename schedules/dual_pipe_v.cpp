#include <memory>

#include <fmt/format.h>

#include "schedules/dual_pipe_steps.hpp"
#include "schedules/placement.hpp"
#include "schedules/schedule.hpp"

namespace lamina::schedules {
namespace {

/// DualPipe cut in half: one copy of the model in V placement, where the way down and the way back up take the place of
/// the two directions.
class DualPipeV final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    const int ranks = request.pipeline_parallel;
    if (request.micro_batches < 2 * ranks) {
      return tl::unexpected(error::Infeasible{
          fmt::format("dual_pipe_v needs at least two micro-batches per pipeline rank; it was asked for {} ranks and "
                      "{} micro-batches.",
                      ranks, request.micro_batches)});
    }
    tl::expected<ScheduleTable, error::Infeasible> result = v_table(request);
    if (!result) {
      return result;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      write_dual_pipe_row({rank, ranks, request.micro_batches, {rank, 2 * ranks - 1 - rank}},
                          result->actions[static_cast<std::size_t>(rank)]);
    }
    return result;
  }
};

}  // namespace

void register_dual_pipe_v(catalog::Catalog<Schedule>& catalog) {
  catalog.add({.name = "dual_pipe_v",
               .summary = "DualPipe on one copy of the model in V placement; forwards of one half run paired with "
                          "backwards of the other. A pair lasts the sum of its parts.",
               .source = "DualPipeV in the public DualPipe code of DeepSeek; the cut in half by Qi et al.; order as in "
                         "PyTorch's ScheduleDualPipeV",
               .parameters = {}},
              std::make_unique<DualPipeV>());
}

}  // namespace lamina::schedules
