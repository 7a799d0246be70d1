#include "sim/comparison/rank.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "sim/comparison/verdict.hpp"
#include "sim/error/error.hpp"

namespace lamina::comparison {

using report::Entry;
using report::RankedBy;
using report::Ranking;
using report::Report;

namespace {

bool same(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

/// Tokens per step, or sequences where the model has no tokens.
double work_of(const Report& report) {
  return report.tokens_per_step > 0 ? report.tokens_per_step
                                    : static_cast<double>(report.scenario->strategy.global_batch());
}

RankedBy measure_for(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    const Report& first = entries.front().report;
    if (!same(work_of(entry.report), work_of(first)) || !same(entry.report.devices, first.devices)) {
      return RankedBy::kTokensPerDevice;
    }
  }
  return RankedBy::kStepTime;
}

bool same_model(const scenario::Model& a, const scenario::Model& b) {
  return a.name == b.name && a.layers == b.layers && a.hidden == b.hidden && a.sequence_length == b.sequence_length &&
         a.vocabulary == b.vocabulary && a.custom.has_value() == b.custom.has_value();
}

void add_warnings(Ranking& ranking) {
  if (ranking.by == RankedBy::kTokensPerDevice) {
    ranking.warnings.emplace_back(
        "The layouts differ in tokens per step or in devices, so they are ranked by tokens per second and device.");
  }
  for (const Entry& entry : ranking.entries) {
    const scenario::Model& first = ranking.entries.front().report.scenario->model;
    const scenario::Model& model = entry.report.scenario->model;
    if (!same_model(model, first)) {
      ranking.warnings.push_back(
          fmt::format("The layouts train different models ({}, {}): a token of one is not the work of a token of the "
                      "other.",
                      first.name, model.name == first.name ? "one of the same name" : model.name));
      return;
    }
  }
}

int busiest_role(const Report& report) {
  const auto role_of = [&](int index) -> const report::Role& { return report.roles[static_cast<std::size_t>(index)]; };
  int best = report.critical_role;  // among equals the one that ends the step explains it best
  if (best < 0 || best >= static_cast<int>(report.roles.size())) {
    return 0;
  }
  for (int index = 0; index < static_cast<int>(report.roles.size()); ++index) {
    if (role_of(index).times.compute_s > role_of(best).times.compute_s * (1 + 1e-9)) {
      best = index;
    }
  }
  return best;
}

/// None needs less than any bandwidth; what was not asked counts as equal.
double need_of(const Entry& entry) {
  switch (entry.need.kind) {
    case report::NeedKind::kFound:
      return entry.need.bandwidth_bytes_per_s;
    case report::NeedKind::kMoreThanAny:
      return std::numeric_limits<double>::infinity();
    default:
      return 0;
  }
}

/// Indices of a group of equals in the order in which they stand.
void sort_equals(const std::vector<Entry>& entries, std::vector<std::size_t>::iterator begin,
                 std::vector<std::size_t>::iterator end) {
  std::stable_sort(begin, end, [&](std::size_t a, std::size_t b) {
    const double memory_a = entries[a].report.memory.peak_bytes;
    const double memory_b = entries[b].report.memory.peak_bytes;
    if (!same(memory_a, memory_b)) {
      return memory_a < memory_b;
    }
    return need_of(entries[a]) < need_of(entries[b]);
  });
}

}  // namespace

double comparable_time(const Entry& entry, const Entry& like, RankedBy by) {
  if (by == RankedBy::kStepTime) {
    return entry.report.step_s;
  }
  const double per_device = work_of(entry.report) / entry.report.devices;
  const double like_per_device = work_of(like.report) / like.report.devices;
  return entry.report.step_s / per_device * like_per_device;
}

Ranking rank(std::vector<Entry> entries, std::vector<report::Refusal> refusals) {
  Ranking ranking;
  ranking.refusals = std::move(refusals);
  if (entries.empty()) {
    return ranking;
  }
  for (Entry& entry : entries) {
    if (entry.report.scenario == nullptr || !(entry.report.step_s > 0)) {
      throw error::InternalError("comparison: entry without a scenario or a step");
    }
    entry.busiest_role = busiest_role(entry.report);
  }
  ranking.by = measure_for(entries);
  std::vector<double> times;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    times.push_back(comparable_time(entries[i], entries.front(), ranking.by));
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool fits_a = entries[a].report.fits;
    return fits_a != entries[b].report.fits ? fits_a : times[a] < times[b];
  });
  double best = 0;
  for (auto begin = order.begin(); begin != order.end();) {
    const Entry& leader = entries[*begin];
    const double time = times[*begin];
    auto end = begin;
    while (end != order.end() && entries[*end].report.fits == leader.report.fits &&
           times[*end] <= time * (1 + kEqual)) {
      entries[*end].rank = static_cast<int>(begin - order.begin()) + 1;
      ++end;
    }
    sort_equals(entries, begin, end);
    begin = end;
  }
  best = times[order.front()];
  for (const std::size_t index : order) {
    entries[index].behind = times[index] / best - 1;
    ranking.entries.push_back(std::move(entries[index]));
  }
  add_warnings(ranking);
  ranking.verdict = verdict(ranking);
  return ranking;
}

}  // namespace lamina::comparison
