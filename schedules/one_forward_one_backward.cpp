#include <algorithm>
#include <memory>

#include "schedules/schedule.hpp"

namespace lamina::schedules {
namespace {

/// Rank r starts w = min(m, p - 1 - r) forwards, then alternates one forward with one backward, then drains the
/// backwards: at most w + 1 micro-batches are alive.
class OneForwardOneBackward final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    tl::expected<ScheduleTable, error::Infeasible> result = placed_table(request, 1);
    if (!result) {
      return result;
    }
    for (int rank = 0; rank < request.pipeline_parallel; ++rank) {
      std::vector<Action>& row = result->actions[static_cast<std::size_t>(rank)];
      const int warm_up = std::min(request.micro_batches, request.pipeline_parallel - 1 - rank);
      for (int forward = 0; forward < warm_up; ++forward) {
        row.push_back({.type = ActionType::kForward, .stage = rank, .micro_batch = forward});
      }
      for (int backward = 0; backward < request.micro_batches; ++backward) {
        if (const int forward = warm_up + backward; forward < request.micro_batches) {
          row.push_back({.type = ActionType::kForward, .stage = rank, .micro_batch = forward});
        }
        row.push_back({.type = ActionType::kBackward, .stage = rank, .micro_batch = backward});
      }
    }
    return result;
  }
};

}  // namespace

void register_one_forward_one_backward(catalog::Catalog<Schedule>& catalog) {
  catalog.add({.name = "one_forward_one_backward",
               .summary = "After a warm-up one forward and one backward alternate; one stage per pipeline rank.",
               .source = "Narayanan et al., Megatron-LM, arXiv 2104.04473, section 2.2 (PipeDream-Flush)",
               .parameters = {}},
              std::make_unique<OneForwardOneBackward>());
}

}  // namespace lamina::schedules
