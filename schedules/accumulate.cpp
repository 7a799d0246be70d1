#include <memory>

#include <fmt/format.h>

#include "schedules/schedule.hpp"

namespace lamina::schedules {
namespace {

/// Forward and backward of one micro-batch through all layers before the next one starts; no pipeline.
class Accumulate final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    if (request.pipeline_parallel != 1) {
      return tl::unexpected(error::Infeasible{fmt::format(
          "accumulate has no pipeline: pipeline_parallel is {}, it must be 1.", request.pipeline_parallel)});
    }
    tl::expected<ScheduleTable, error::Infeasible> result = placed_table(request, 1);
    if (!result) {
      return result;
    }
    for (int micro_batch = 0; micro_batch < request.micro_batches; ++micro_batch) {
      result->actions[0].push_back({.type = ActionType::kForward, .micro_batch = micro_batch});
      result->actions[0].push_back({.type = ActionType::kBackward, .micro_batch = micro_batch});
    }
    return result;
  }
};

}  // namespace

void register_accumulate(catalog::Catalog<Schedule>& catalog) {
  catalog.add({.name = "accumulate",
               .summary = "Gradient accumulation micro-batch by micro-batch without a pipeline: the baseline.",
               .source = "Common practice; the baseline of Lamy-Poirier, arXiv 2106.02679",
               .parameters = {}},
              std::make_unique<Accumulate>());
}

}  // namespace lamina::schedules
