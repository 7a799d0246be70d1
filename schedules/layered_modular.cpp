#include <memory>

#include <fmt/format.h>

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
    const int layers_per_chunk = request.parameters.integer("layers_per_chunk");
    const bool ascending = request.parameters.choice("backward_order") == "ascending";
    const int ranks = request.pipeline_parallel;
    const long long layers_per_turn = static_cast<long long>(ranks) * layers_per_chunk;
    if (layers_per_turn < 1 || request.layers < 1 || request.layers % layers_per_turn != 0) {
      return tl::unexpected(error::Infeasible{
          fmt::format("{} layers do not divide evenly over {} pipeline ranks in chunks of {} layer{}.", request.layers,
                      ranks, layers_per_chunk, layers_per_chunk == 1 ? "" : "s")});
    }
    const int chunks = static_cast<int>(request.layers / layers_per_turn);
    tl::expected<ScheduleTable, error::Infeasible> result = placed_table(request, chunks);
    if (!result) {
      return result;
    }
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
  catalog.add(
      {.name = "layered_modular",
       .summary = "Layered gradient accumulation on a modular pipeline: breadth-first over chunks of layers.",
       .source = "Lamy-Poirier, arXiv 2106.02679; breadth-first order as in arXiv 2211.05953",
       .parameters = {{.name = "layers_per_chunk",
                       .kind = catalog::ParameterKind::kInteger,
                       .default_value = "1",
                       .choices = {},
                       .minimum = 1,
                       .maximum = 1e6,
                       .help = "Consecutive layers in one chunk; pipeline ranks x chunks x this are all layers."},
                      {.name = "backward_order",
                       .kind = catalog::ParameterKind::kChoice,
                       .default_value = "ascending",
                       .choices = {"ascending", "descending"},
                       .help = "Order of the micro-batches in the backward pass of a chunk."}}},
      std::make_unique<LayeredModular>());
}

}  // namespace lamina::schedules
