#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "schedules/bubble_filling.hpp"
#include "schedules/schedule.hpp"
#include "schedules/split_backward_plans.hpp"

namespace lamina::schedules {
namespace {

constexpr double kPlannedPasses = 2e6;  // a pass takes about half a microsecond to plan
constexpr std::size_t kFewestRules = 4;

/// Forwards that a rank can run from its first one until the input gradient of that micro-batch comes back.
double forwards_until_first_gradient(const FillingTask& task, int rank) {
  const RankTimes& times = task.times;
  if (times.forward_s <= 0) {
    return task.memory_limit;
  }
  const double hop = times.forward_s + times.input_gradient_s + 2 * times.message_s;
  return 1 + (task.ranks - 1 - rank) * hop / times.forward_s;
}

int whole(double count, double most) {
  return static_cast<int>(std::clamp(count, 1.0, most));
}

enum class WarmUp { kAsOneForwardOneBackward, kNoLongerThanNeeded, kUntilFirstGradient, kMemory };
enum class Deferral { kAsFarAsTheRank, kFreeMemory, kMemory };

FillingRule rule_of(const FillingTask& task, WarmUp warm_up, Deferral deferral, double overrun, bool alternate) {
  FillingRule rule;
  rule.overrun = overrun;
  rule.alternate = alternate;
  const double most = std::min(task.memory_limit, static_cast<double>(task.micro_batches));
  const double kept = std::max(task.times.kept_for_weight_gradient, 1e-3);
  for (int rank = 0; rank < task.ranks; ++rank) {
    const double needed = forwards_until_first_gradient(task, rank);
    int ahead = whole(most, most);
    if (warm_up == WarmUp::kAsOneForwardOneBackward) {
      ahead = whole(task.ranks - rank, most);
    } else if (warm_up == WarmUp::kNoLongerThanNeeded) {
      ahead = whole(std::floor(needed), most);
    } else if (warm_up == WarmUp::kUntilFirstGradient) {
      ahead = whole(std::ceil(needed), most);
    }
    int deferred = rank;
    if (deferral == Deferral::kFreeMemory) {
      deferred = static_cast<int>((task.memory_limit - ahead) / kept);
    } else if (deferral == Deferral::kMemory) {
      deferred = static_cast<int>(task.memory_limit / kept);
    }
    rule.most_ahead.push_back(ahead);
    rule.most_deferred.push_back(std::min(deferred, task.micro_batches));
  }
  return rule;
}

std::size_t affordable_plans(const FillingTask& task) {
  return static_cast<std::size_t>(kPlannedPasses / (3.0 * task.ranks * task.micro_batches));
}

/// All combinations, the most promising first: large tables try only those.
std::vector<FillingRule> rules_of(const FillingTask& task) {
  std::vector<FillingRule> rules = {
      rule_of(task, WarmUp::kAsOneForwardOneBackward, Deferral::kAsFarAsTheRank, 0, false),
      rule_of(task, WarmUp::kUntilFirstGradient, Deferral::kMemory, 1, true),
      rule_of(task, WarmUp::kUntilFirstGradient, Deferral::kFreeMemory, 0, false),
      rule_of(task, WarmUp::kUntilFirstGradient, Deferral::kMemory, 1, false),
  };
  for (const double overrun : {0.0, 0.5, 1.0}) {
    for (const WarmUp warm_up : {WarmUp::kAsOneForwardOneBackward, WarmUp::kNoLongerThanNeeded,
                                 WarmUp::kUntilFirstGradient, WarmUp::kMemory}) {
      for (const Deferral deferral : {Deferral::kAsFarAsTheRank, Deferral::kFreeMemory, Deferral::kMemory}) {
        for (const bool alternate : {false, true}) {
          rules.push_back(rule_of(task, warm_up, deferral, overrun, alternate));
        }
      }
    }
  }
  rules.resize(std::clamp(affordable_plans(task), kFewestRules, rules.size()));
  return rules;
}

/// The objective, and what decides between equals.
struct Cost {
  double first = 0;
  double second = 0;

  /// Sums that differ by rounding only are equal.
  [[nodiscard]] bool is_less_than(const Cost& other) const {
    const double rounding = 1e-9 * other.first;
    return first < other.first - rounding || (first <= other.first + rounding && second < other.second - rounding);
  }
};

/// Keeps the least costly order that it is shown; the first of equals.
class Best {
 public:
  Best(const FillingTask& task, bool span) : task_(task), span_(span) {}

  void consider(PassOrder order) {
    const Extent extent = extent_of(task_, order);
    const Cost cost = span_ ? Cost{extent.span_s, extent.makespan_s} : Cost{extent.makespan_s, extent.span_s};
    if (!least_ || cost.is_less_than(*least_)) {
      least_ = cost;
      order_ = std::move(order);
    }
  }

  [[nodiscard]] const PassOrder& order() const { return order_; }

 private:
  const FillingTask& task_;
  bool span_;
  std::optional<Cost> least_;
  PassOrder order_;
};

/// Tries the greedy rules, then the orders of the schedules with fixed rules (which greed alone does not always reach),
/// and keeps the order with the smallest bubble.
class ZeroBubbleAuto final : public Schedule {
 public:
  [[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const override {
    tl::expected<ScheduleTable, error::Infeasible> result = placed_table(request, 1);
    if (!result) {
      return result;
    }
    const int limit = request.parameters.integer("memory_limit");
    const FillingTask task{request.pipeline_parallel, request.micro_batches,
                           static_cast<double>(limit == 0 ? request.pipeline_parallel : limit), request.times};
    Best best(task, request.parameters.choice("objective") == "span");
    for (const FillingRule& rule : rules_of(task)) {
      best.consider(fill_bubbles(task, rule));
    }
    for (const SplitBackwardPlan& plan : split_backward_plans(task, affordable_plans(task))) {
      best.consider(order_of(task, plan));
    }
    write(best.order(), *result);
    return result;
  }

 private:
  static void write(const PassOrder& order, ScheduleTable& table) {
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      int next[4] = {};  // by type
      for (const ActionType type : order[rank]) {
        table.actions[rank].push_back({type, static_cast<int>(rank), next[static_cast<std::size_t>(type)]++});
      }
    }
  }
};

}  // namespace

void register_zero_bubble_auto(catalog::Catalog<Schedule>& catalog) {
  catalog.add(
      {.name = "zero_bubble_auto",
       .summary = "Made to measure from the durations of the passes: the best of greedy plans and of the rows of 1F1B, "
                  "ZB-H1 and ZB-H2, within a memory limit. Not proven optimal.",
       .source = "Goal and memory limits: Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 3 "
                 "(ZB-1p, ZB-2p); the rules are Lamina's own",
       .parameters = {{.name = "memory_limit",
                       .kind = catalog::ParameterKind::kInteger,
                       .default_value = "0",
                       .choices = {},
                       .minimum = 0,
                       .maximum = 1e6,
                       .help = "Activations that a rank may hold, in micro-batches. 0: as many as pipeline ranks, the "
                               "memory of 1F1B (the paper's ZB-1p); twice as many is ZB-2p."},
                      {.name = "objective",
                       .kind = catalog::ParameterKind::kChoice,
                       .default_value = "makespan",
                       .choices = {"makespan", "span"},
                       .help = "What is made small: the whole step, or the longest time of a rank from its first to "
                               "its last pass (the paper's, for optimizers without a barrier over ranks)."}}},
      std::make_unique<ZeroBubbleAuto>());
}

}  // namespace lamina::schedules
