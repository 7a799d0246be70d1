#include <memory>

#include "schedules/controllable_memory.hpp"
#include "schedules/placement.hpp"
#include "schedules/schedule.hpp"

namespace lamina::schedules {
namespace {

/// V placement from the building block with the shortest lifespans: about a third of the activations of 1F1B.
class VMin final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    tl::expected<ScheduleTable, error::Infeasible> result = v_table(request);
    if (!result) {
      return result;
    }
    const int ranks = request.pipeline_parallel;
    const int shift = ranks % 3 == 0 ? 2 : 0;  // keeps the four passes in different slots of the period
    std::vector<BuildingBlock> blocks;
    for (int rank = 0; rank < ranks; ++rank) {
      blocks.push_back({rank, 2 * ranks - rank - 1, 2 * ranks + shift + rank, 4 * ranks + shift - rank - 1});
    }
    write_from_building_blocks(blocks, *result);
    return result;
  }
};

}  // namespace

void register_v_min(catalog::Catalog<Schedule>& catalog) {
  catalog.add({.name = "v_min",
               .summary = "Two chunks per rank placed as a V, split backward: a third of the activations of 1F1B; the "
                          "bubble grows with the micro-batches when F, I and W last differently.",
               .source = "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362 (V-Min)",
               .parameters = {}},
              std::make_unique<VMin>());
}

}  // namespace lamina::schedules
