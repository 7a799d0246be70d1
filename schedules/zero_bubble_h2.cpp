#include <algorithm>
#include <memory>

#include "schedules/schedule.hpp"
#include "schedules/split_backward.hpp"

namespace lamina::schedules {
namespace {

/// Rank r warms up with min(m, 2 (p - r) - 1) forwards and computes weight gradients 2 r micro-batches behind the input
/// gradients: no idle time between a rank's first and last operation when F, I and W last equally long and m >= 2p - 1,
/// for nearly twice the activations. Fewer micro-batches are served, with a bubble.
class ZeroBubbleH2 final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    tl::expected<ScheduleTable, error::Infeasible> result = placed_table(request, 1);
    if (!result) {
      return result;
    }
    for (int rank = 0; rank < request.pipeline_parallel; ++rank) {
      const int warm_up = std::min(request.micro_batches, 2 * (request.pipeline_parallel - rank) - 1);
      write_split_backward_row(rank, request.micro_batches, warm_up, 2 * rank,
                               result->actions[static_cast<std::size_t>(rank)]);
    }
    return result;
  }
};

}  // namespace

void register_zero_bubble_h2(catalog::Catalog<Schedule>& catalog) {
  catalog.add({.name = "zero_bubble_h2",
               .summary = "Split backward with a longer warm-up: no bubble within a rank's span, 2p - 1 activations.",
               .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 2.2 (ZB-H2)",
               .parameters = {}},
              std::make_unique<ZeroBubbleH2>());
}

}  // namespace lamina::schedules
