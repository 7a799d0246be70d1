#include <memory>

#include "schedules/controllable_memory.hpp"
#include "schedules/placement.hpp"
#include "schedules/schedule.hpp"

namespace lamina::schedules {
namespace {

/// V placement from the building block that keeps about half of the activations of 1F1B.
class VHalf final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    tl::expected<ScheduleTable, error::Infeasible> result = v_table(request);
    if (!result) {
      return result;
    }
    const int ranks = request.pipeline_parallel;
    const int shift = ranks % 2 == 0 ? 3 : 0;  // keeps the four passes in different slots of the period
    std::vector<BuildingBlock> blocks;
    for (int rank = 0; rank < ranks; ++rank) {
      blocks.push_back(
          {2 * rank, 3 * ranks - rank - 2, 3 * ranks + shift + 2 * rank - 1, 6 * ranks + shift - rank - 2});
    }
    write_from_building_blocks(blocks, *result);
    return result;
  }
};

}  // namespace

void register_v_half(catalog::Catalog<Schedule>& catalog) {
  catalog.add({.name = "v_half",
               .summary = "Two chunks per rank placed as a V, split backward: half the activations of 1F1B at about "
                          "half its bubble.",
               .source = "Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362 (V-Half)",
               .parameters = {}},
              std::make_unique<VHalf>());
}

}  // namespace lamina::schedules
