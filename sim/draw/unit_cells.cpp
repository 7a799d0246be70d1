#include "sim/draw/unit_cells.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/report/format.hpp"

namespace lamina::draw {
namespace {

using schedules::Action;
using schedules::ActionType;
using schedules::ScheduleTable;

constexpr double kNotDone = -1;

Kind kind_of(ActionType type) {
  switch (type) {
    case ActionType::kForward:
      return Kind::kForward;
    case ActionType::kBackward:
      return Kind::kBackward;
    case ActionType::kInputGradient:
      return Kind::kInputGradient;
    case ActionType::kWeightGradient:
      return Kind::kWeightGradient;
  }
  return Kind::kForward;
}

/// In-order execution of all ranks: sweeps over them until nothing is left.
class UnitExecution {
 public:
  explicit UnitExecution(const ScheduleTable& table)
      : table_(table),
        chunks_(static_cast<double>(table.model_chunks) / static_cast<double>(std::max<std::size_t>(1, ranks()))),
        next_(ranks(), 0),
        free_(ranks(), 0),
        busy_(ranks(), 0),
        boxes_(ranks()),
        done_(table.stages.size() * static_cast<std::size_t>(table.micro_batches) * kResults, kNotDone) {}

  void run() {
    bool split_pairs = false;
    while (!finished()) {
      bool progress = false;
      for (std::size_t rank = 0; rank < ranks(); ++rank) {
        while (advance(rank, split_pairs)) {
          progress = true;
          split_pairs = false;
        }
      }
      if (!progress && split_pairs) {
        throw error::InternalError("schedule: the rows of the table wait for each other");
      }
      // A pair whose second half needs its first runs one after the other.
      split_pairs = !progress;
    }
  }

  [[nodiscard]] std::vector<Box>& boxes(std::size_t rank) { return boxes_[rank]; }

  [[nodiscard]] double makespan() const { return free_.empty() ? 0 : *std::max_element(free_.begin(), free_.end()); }

  [[nodiscard]] double busiest() const { return busy_.empty() ? 0 : *std::max_element(busy_.begin(), busy_.end()); }

 private:
  static constexpr std::size_t kResults = 3;  ///< activations, input gradients, weight gradients

  [[nodiscard]] std::size_t ranks() const { return table_.actions.size(); }

  [[nodiscard]] bool finished() const {
    for (std::size_t rank = 0; rank < ranks(); ++rank) {
      if (next_[rank] < table_.actions[rank].size()) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] double duration(const Action& action) const {
    return (action.type == ActionType::kBackward ? 2 : 1) / chunks_;
  }

  double& done(std::size_t result, int stage, int micro_batch) {
    const auto row = static_cast<std::size_t>(stage) * static_cast<std::size_t>(table_.micro_batches);
    return done_.at((row + static_cast<std::size_t>(micro_batch)) * kResults + result);
  }

  static std::size_t result_of(ActionType type) {
    switch (type) {
      case ActionType::kForward:
        return 0;
      case ActionType::kBackward:
      case ActionType::kInputGradient:
        return 1;
      case ActionType::kWeightGradient:
        return 2;
    }
    return 0;
  }

  /// When the inputs of an action exist; kNotDone: not yet.
  double ready(const Action& action) {
    const schedules::Stage& stage = table_.stages.at(static_cast<std::size_t>(action.stage));
    const int feeder = action.type == ActionType::kForward ? stage.previous : stage.next;
    double time = 0;
    if (action.type == ActionType::kWeightGradient) {
      return done(1, action.stage, action.micro_batch);
    }
    if (action.type != ActionType::kForward) {
      time = done(0, action.stage, action.micro_batch);
      if (time == kNotDone) {
        return kNotDone;
      }
    }
    if (feeder < 0) {
      return time;
    }
    const double fed = done(result_of(action.type), feeder, action.micro_batch);
    return fed == kNotDone ? kNotDone : std::max(time, fed);
  }

  /// Executes the next action of a rank, or its next pair.
  bool advance(std::size_t rank, bool split_pair) {
    const std::vector<Action>& row = table_.actions[rank];
    const std::size_t position = next_[rank];
    if (position >= row.size()) {
      return false;
    }
    const Action& first = row[position];
    const double inputs = ready(first);
    if (inputs == kNotDone) {
      return false;
    }
    if (!first.paired_with_next || position + 1 == row.size() || split_pair) {
      execute(rank, first, Part::kWhole, std::max(free_[rank], inputs), duration(first));
      return true;
    }
    const Action& second = row[position + 1];
    const double other_inputs = ready(second);
    if (other_inputs == kNotDone) {
      return false;
    }
    const double start = std::max({free_[rank], inputs, other_inputs});
    const double both = duration(first) + duration(second);
    execute(rank, first, Part::kUpper, start, both);
    execute(rank, second, Part::kLower, start, both);
    busy_[rank] -= both;  // counted twice
    return true;
  }

  void execute(std::size_t rank, const Action& action, Part part, double start, double duration) {
    const double end = start + duration;
    boxes_[rank].push_back({start, end, kind_of(action.type), part, 0, action.stage, action.micro_batch, true});
    done(result_of(action.type), action.stage, action.micro_batch) = end;
    free_[rank] = end;
    busy_[rank] += duration;
    ++next_[rank];
  }

  const ScheduleTable& table_;
  double chunks_;  ///< stages of a rank that share its unit of work
  std::vector<std::size_t> next_;
  std::vector<double> free_;
  std::vector<double> busy_;
  std::vector<std::vector<Box>> boxes_;
  std::vector<double> done_;  ///< [stage][micro-batch][result] end
};

/// Shade of every stage: its place among the stages of its rank.
std::map<int, int> shades_of(const std::vector<Box>& boxes) {
  std::set<int> stages;
  for (const Box& box : boxes) {
    stages.insert(box.stage);
  }
  std::map<int, int> shades;
  for (const int stage : stages) {
    shades.emplace(stage, static_cast<int>(shades.size()));
  }
  return shades;
}

std::vector<Box> within(const std::vector<Box>& boxes, double from, double until) {
  std::vector<Box> shown;
  for (Box box : boxes) {
    box.start = std::max(box.start, from);
    box.end = std::min(box.end, until);
    if (box.end > box.start) {
      shown.push_back(box);
    }
  }
  return shown;
}

std::vector<std::string> facts_of(const ScheduleTable& table, const UnitExecution& execution, int shades) {
  std::vector<std::string> facts = {
      fmt::format("{} rank{}", table.actions.size(), table.actions.size() == 1 ? "" : "s"),
      fmt::format("{} micro-batch{}", table.micro_batches, table.micro_batches == 1 ? "" : "es")};
  if (shades > 1) {
    facts.push_back(fmt::format("{} stages per rank", shades));
  }
  const double makespan = execution.makespan();
  facts.push_back(fmt::format("makespan {} units", report::three_digits(makespan)));
  if (makespan > 0) {
    facts.push_back(fmt::format("bubble {}", report::percent(1 - execution.busiest() / makespan)));
  }
  return facts;
}

}  // namespace

Chart unit_cells(const ScheduleTable& table, const Window& window) {
  UnitExecution execution(table);
  execution.run();
  Chart chart;
  chart.start = std::max(0.0, window.from);
  chart.end = std::min(execution.makespan(), window.until);
  for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
    std::vector<Box>& boxes = execution.boxes(rank);
    const std::map<int, int> shades = shades_of(boxes);
    chart.shades = std::max(chart.shades, static_cast<int>(shades.size()));
    if (rank < window.first_rank || rank > window.last_rank) {
      continue;
    }
    for (Box& box : boxes) {
      box.shade = shades.at(box.stage);
    }
    chart.rows.push_back({fmt::format("rank {}", rank), {{false, within(boxes, chart.start, chart.end)}}});
  }
  chart.facts = facts_of(table, execution, chart.shades);
  return chart;
}

}  // namespace lamina::draw
