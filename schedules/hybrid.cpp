#include <memory>

#include <fmt/format.h>

#include "schedules/placement.hpp"
#include "schedules/schedule.hpp"

namespace lamina::schedules {
namespace {

/// d = m / a depth-first rounds, each of them breadth-first over a micro-batches, forward and backward; micro-batch
/// number = (index in the round) d + round. At most a micro-batches are alive; every round pays its own bubble.
class Hybrid final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    tl::expected<ScheduleTable, error::Infeasible> result = looping_table(request);
    if (!result) {
      return result;
    }
    const int ranks = request.pipeline_parallel;
    const int chosen = request.parameters.integer("breadth_first_micro_batches");
    const int breadth = chosen == 0 ? ranks : chosen;
    if (request.micro_batches % breadth != 0) {
      return tl::unexpected(error::Infeasible{fmt::format(
          "{} micro-batches do not divide into rounds of {} (breadth_first_micro_batches{}).", request.micro_batches,
          breadth, chosen == 0 ? fmt::format(", by default the {} pipeline ranks", ranks) : "")});
    }
    for (int rank = 0; rank < ranks; ++rank) {
      write_row(rank, breadth, *result);
    }
    return result;
  }

 private:
  static void write_row(int rank, int breadth, ScheduleTable& table) {
    const int ranks = static_cast<int>(table.actions.size());
    const int chunks = chunks_per_rank(table);
    const int rounds = table.micro_batches / breadth;
    std::vector<Action>& row = table.actions[static_cast<std::size_t>(rank)];
    for (int round = 0; round < rounds; ++round) {
      for (const ActionType type : {ActionType::kForward, ActionType::kBackward}) {
        for (int turn = 0; turn < chunks; ++turn) {
          const int chunk = type == ActionType::kForward ? turn : chunks - 1 - turn;
          for (int index = 0; index < breadth; ++index) {
            row.push_back({type, chunk * ranks + rank, index * rounds + round});
          }
        }
      }
    }
  }
};

}  // namespace

void register_hybrid(catalog::Catalog<Schedule>& catalog) {
  catalog.add(
      {.name = "hybrid",
       .summary = "Depth-first rounds of a breadth-first pass: the modular pipeline with bounded activations.",
       .source = "Lamy-Poirier, Breadth-First Pipeline Parallelism, arXiv 2211.05953; rule of Fast-LLM's "
                 "breadth_first_micro_batches and depth_first_micro_batches",
       .parameters = {layers_per_chunk_parameter(),
                      {.name = "breadth_first_micro_batches",
                       .kind = catalog::ParameterKind::kInteger,
                       .default_value = "0",
                       .choices = {},
                       .minimum = 0,
                       .maximum = 1e6,
                       .help = "Micro-batches of one breadth-first round; the number of rounds is all micro-batches "
                               "over this. 0: as many as pipeline ranks."}}},
      std::make_unique<Hybrid>());
}

}  // namespace lamina::schedules
