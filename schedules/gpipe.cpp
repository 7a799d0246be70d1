#include <memory>

#include "schedules/schedule.hpp"

namespace lamina::schedules {
namespace {

/// Rank r runs F of all micro-batches, then B of all micro-batches, both ascending; stage r on rank r.
class Gpipe final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    tl::expected<ScheduleTable, error::Infeasible> result = placed_table(request, 1);
    if (!result) {
      return result;
    }
    for (int rank = 0; rank < request.pipeline_parallel; ++rank) {
      std::vector<Action>& row = result->actions[static_cast<std::size_t>(rank)];
      for (const ActionType type : {ActionType::kForward, ActionType::kBackward}) {
        for (int micro_batch = 0; micro_batch < request.micro_batches; ++micro_batch) {
          row.push_back({.type = type, .stage = rank, .micro_batch = micro_batch});
        }
      }
    }
    return result;
  }
};

}  // namespace

void register_gpipe(catalog::Catalog<Schedule>& catalog) {
  catalog.add({.name = "gpipe",
               .summary = "All forwards, then all backwards; one stage per pipeline rank.",
               .source = "Huang et al., GPipe, arXiv 1811.06965; order as in PyTorch's ScheduleGPipe",
               .parameters = {}},
              std::make_unique<Gpipe>());
}

}  // namespace lamina::schedules
