#include <memory>

#include "schedules/placement.hpp"
#include "schedules/schedule.hpp"

namespace lamina::schedules {
namespace {

/// Layered gradient accumulation and modular pipeline: chunk c of rank r is stage c p + r; all micro-batches pass a
/// chunk before any passes the next, forward from the first chunk on, backward from the last. One pipeline rank gives
/// plain layered accumulation. Fewer micro-batches than ranks are served; the ranks then wait at every turn of the
/// loop.
class LayeredModular final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    const bool ascending = request.parameters.choice("backward_order") == "ascending";
    const int ranks = request.pipeline_parallel;
    tl::expected<ScheduleTable, error::Infeasible> result = looping_table(request);
    if (!result) {
      return result;
    }
    const int chunks = chunks_per_rank(*result);
    const int last = request.micro_batches - 1;
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<Action>& row = result->actions[static_cast<std::size_t>(rank)];
      for (int chunk = 0; chunk < chunks; ++chunk) {
        for (int index = 0; index <= last; ++index) {
          row.push_back({.type = ActionType::kForward, .stage = chunk * ranks + rank, .micro_batch = index});
        }
      }
      for (int chunk = chunks - 1; chunk >= 0; --chunk) {
        for (int index = 0; index <= last; ++index) {
          row.push_back({.type = ActionType::kBackward,
                         .stage = chunk * ranks + rank,
                         .micro_batch = ascending ? index : last - index});
        }
      }
    }
    return result;
  }
};

}  // namespace

void register_layered_modular(catalog::Catalog<Schedule>& catalog) {
  catalog.add({.name = "layered_modular",
               .summary = "Layered gradient accumulation on a modular pipeline: breadth-first over chunks of layers.",
               .source = "Lamy-Poirier, arXiv 2106.02679; breadth-first order as in arXiv 2211.05953",
               .parameters = {layers_per_chunk_parameter(),
                              {.name = "backward_order",
                               .kind = catalog::ParameterKind::kChoice,
                               .default_value = "ascending",
                               .choices = {"ascending", "descending"},
                               .help = "Order of the micro-batches in the backward pass of a chunk."}}},
              std::make_unique<LayeredModular>());
}

}  // namespace lamina::schedules
