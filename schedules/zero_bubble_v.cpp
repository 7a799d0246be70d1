#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <utility>

#include "schedules/placement.hpp"
#include "schedules/schedule.hpp"

namespace lamina::schedules {
namespace {

constexpr auto kF = ActionType::kForward;
constexpr auto kI = ActionType::kInputGradient;
constexpr auto kW = ActionType::kWeightGradient;

/// The row of one rank; every type of action of each of its two chunks counts its own micro-batches.
class VRow {
 public:
  using Actions = std::initializer_list<std::pair<ActionType, std::size_t>>;

  /// Micro-batches from `micro_batches` on are counted and not written.
  VRow(std::array<int, 2> stages, int micro_batches, std::vector<Action>& row)
      : stages_(stages), micro_batches_(micro_batches), row_(row) {}

  void add(int times, Actions actions) {
    for (int i = 0; i < times; ++i) {
      for (const auto& [type, chunk] : actions) {
        const int micro_batch = counts_[static_cast<std::size_t>(type)][chunk]++;
        if (micro_batch < micro_batches_) {
          row_.push_back({type, stages_[chunk], micro_batch});
        }
      }
    }
  }

  [[nodiscard]] int count(ActionType type, std::size_t chunk) const {
    return counts_[static_cast<std::size_t>(type)][chunk];
  }

 private:
  std::array<int, 2> stages_;
  int micro_batches_;
  std::vector<Action>& row_;
  std::array<std::array<int, 2>, 4> counts_{};
};

/// V placement; the order is laid out for max(2p - 1, m) micro-batches and those that do not exist are left out.
class ZeroBubbleV final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    tl::expected<ScheduleTable, error::Infeasible> result = v_table(request);
    if (!result) {
      return result;
    }
    for (int rank = 0; rank < request.pipeline_parallel; ++rank) {
      write_row(rank, *result);
    }
    return result;
  }

 private:
  static void write_row(int rank, ScheduleTable& table) {
    const int ranks = static_cast<int>(table.actions.size());
    const int laid_out = std::max(2 * ranks - 1, table.micro_batches);
    VRow row({rank, 2 * ranks - 1 - rank}, table.micro_batches, table.actions[static_cast<std::size_t>(rank)]);
    row.add(2 * (ranks - rank) - 1, {{kF, 0}});
    row.add(rank, {{kF, 1}, {kF, 0}});
    row.add(ranks - rank, {{kF, 1}, {kI, 1}, {kW, 1}});
    while (row.count(kF, 1) < laid_out) {
      row.add(row.count(kF, 0) < laid_out ? 1 : 0, {{kF, 0}});
      row.add(1, {{kI, 0}, {kW, 0}, {kF, 1}, {kI, 1}, {kW, 1}});
    }
    row.add(rank, {{kI, 0}, {kI, 1}});
    row.add(ranks - rank, {{kI, 0}, {kW, 0}});
    row.add(laid_out - row.count(kW, 1), {{kW, 1}});
    row.add(laid_out - row.count(kW, 0), {{kW, 0}});
  }
};

}  // namespace

void register_zero_bubble_v(catalog::Catalog<Schedule>& catalog) {
  catalog.add({.name = "zero_bubble_v",
               .summary = "Two chunks per rank placed as a V, split backward: no bubble within a rank's span at the "
                          "memory of 1F1B when F, I and W last equally long.",
               .source = "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 6 (ZB-V); order as in "
                         "PyTorch's ScheduleZBVZeroBubble",
               .parameters = {}},
              std::make_unique<ZeroBubbleV>());
}

}  // namespace lamina::schedules
