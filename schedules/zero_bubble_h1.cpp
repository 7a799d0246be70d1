#include <algorithm>
#include <memory>

#include "schedules/schedule.hpp"
#include "schedules/split_backward.hpp"

namespace lamina::schedules {
namespace {

/// Rank r warms up with min(m, p - r) forwards and computes weight gradients r micro-batches behind the input
/// gradients: the memory of one_forward_one_backward at a third of its bubble.
class ZeroBubbleH1 final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    tl::expected<ScheduleTable, error::Infeasible> result = placed_table(request, 1);
    if (!result) {
      return result;
    }
    for (int rank = 0; rank < request.pipeline_parallel; ++rank) {
      const int warm_up = std::min(request.micro_batches, request.pipeline_parallel - rank);
      write_split_backward_row(rank, request.micro_batches, warm_up, rank,
                               result->actions[static_cast<std::size_t>(rank)]);
    }
    return result;
  }
};

}  // namespace

void register_zero_bubble_h1(catalog::Catalog<Schedule>& catalog) {
  catalog.add(
      {.name = "zero_bubble_h1",
       .summary =
           "1F1B with the backward split and weight gradients delayed: a third of its bubble at its peak memory.",
       .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 2.1 (ZB-H1)",
       .parameters = {}},
      std::make_unique<ZeroBubbleH1>());
}

}  // namespace lamina::schedules
