#pragma once

#include <vector>

#include "schedules/schedule.hpp"

/// Orders of forwards, input gradients and weight gradients for one stage per rank, made from their durations: each
/// rank takes what is ready, and fills the time it would wait with weight gradients (the idea of Qi et al., arXiv
/// 2401.10241, section 3.1; the rules here are Lamina's own).
namespace lamina::schedules {

/// What is to be planned. Memory is counted in the activations that one micro-batch leaves on a rank: 1 from its
/// forward to its input gradient, `times.kept_for_weight_gradient` from there to its weight gradient.
struct FillingTask {
  int ranks = 1;
  int micro_batches = 1;
  double memory_limit = 1;  ///< >= 1
  RankTimes times = {};
};

/// How a rank picks its next pass. An input gradient that is ready goes first, and weight gradients fill what is left;
/// the numbers say what else.
struct FillingRule {
  std::vector<int> most_ahead;     ///< by rank: forwards without their input gradient, at most
  std::vector<int> most_deferred;  ///< by rank: weight gradients that may wait while a forward is ready
  double overrun = 0;              ///< share of a weight gradient by which it may delay an input known to come
  bool alternate = false;          ///< after another pass a ready forward goes before a ready input gradient
};

/// [rank][position]; the k-th pass of a type is that of micro-batch k.
using PassOrder = std::vector<std::vector<ActionType>>;

/// Greedy plan by one rule. Every order it makes can be executed: a rank waits only for what was sent before.
[[nodiscard]] PassOrder fill_bubbles(const FillingTask& task, const FillingRule& rule);

/// Duration of an order that every rank executes as soon as its inputs are there.
struct Extent {
  double span_s = 0;      ///< longest time of a rank from its first start to its last end
  double makespan_s = 0;  ///< from the start of the step to the last end
};

[[nodiscard]] Extent extent_of(const FillingTask& task, const PassOrder& order);

}  // namespace lamina::schedules
