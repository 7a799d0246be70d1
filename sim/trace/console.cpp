#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "sim/report/console_style.hpp"
#include "sim/report/format.hpp"
#include "sim/trace/write.hpp"

namespace lamina::trace {
namespace {

using report::Page;
using report::Tone;

constexpr std::size_t kLabelColumns = 18;
constexpr std::size_t kShown = 3;  ///< steps, differences and reasons that are named

/// "-0.0240 %": errors here are far below the three digits of report::percent.
std::string percent(double fraction) {
  return fmt::format("{:+.{}f} %", 100 * fraction, std::abs(fraction) < 0.001 ? 4 : 2);
}

/// Six digits, so that what differs by a thousandth looks different.
std::string exact(double seconds) {
  return fmt::format("{:.6g} s", seconds);
}

std::string count(std::size_t number, const char* word) {
  return fmt::format("{} {}{}", report::whole(static_cast<double>(number)), word, number == 1 ? "" : "s");
}

std::string file_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string dimensions(const Comparison& comparison) {
  const std::string micro_batches =
      comparison.fewest_micro_batches == comparison.most_micro_batches
          ? std::to_string(comparison.most_micro_batches)
          : fmt::format("{} to {}", comparison.fewest_micro_batches, comparison.most_micro_batches);
  return fmt::format("{}, {}, {} of {} each, {} micro-batches", count(comparison.steps.size(), "step"),
                     count(static_cast<std::size_t>(comparison.replicas), "replica"),
                     count(static_cast<std::size_t>(comparison.pipeline_ranks), "pipeline rank"),
                     count(static_cast<std::size_t>(comparison.chunks), "chunk"), micro_batches);
}

void add_errors(Page& page, const Comparison& comparison) {
  constexpr double kOnePercent = 0.01;
  const StepComparison& worst = comparison.steps[comparison.worst_step];
  const auto near = std::count_if(comparison.steps.begin(), comparison.steps.end(), [](const StepComparison& step) {
    return std::abs(step.relative_error()) <= kOnePercent;
  });
  page.labelled("replay", fmt::format("{}, messages {}", comparison.schedule, name_of(comparison.messages)),
                kLabelColumns);
  page.labelled("pipeline part",
                fmt::format("median error {}, worst {} (step {})", percent(comparison.median_error),
                            percent(worst.relative_error()), worst.step),
                kLabelColumns);
  page.labelled("within 1 %", fmt::format("{} of {}", near, count(comparison.steps.size(), "step")), kLabelColumns);
}

void add_order(Page& page, const Comparison& comparison) {
  const auto& differences = comparison.order_differences;
  if (differences.empty()) {
    page.labelled("order",
                  fmt::format("identical: {} passes run in the order of the schedule",
                              report::whole(static_cast<double>(comparison.passes))),
                  kLabelColumns);
    return;
  }
  page.labelled("order", fmt::format("differs from the schedule on {} of a step", count(differences.size(), "worker")),
                kLabelColumns);
  for (std::size_t i = 0; i < std::min(kShown, differences.size()); ++i) {
    const OrderDifference& one = differences[i];
    page.labelled("",
                  fmt::format("step {}, replica {}, rank {}, position {}: measured {}; scheduled {}", one.step,
                              one.replica, one.rank, one.position, describe(one.measured), describe(one.scheduled)),
                  kLabelColumns);
  }
}

/// Reasons by how often they occur, the most frequent first.
void add_skipped(Page& page, const Comparison& comparison) {
  if (comparison.skipped.empty()) {
    page.labelled("skipped", "nothing", kLabelColumns);
    return;
  }
  std::map<std::string, std::size_t> reasons;
  for (const Skipped& skipped : comparison.skipped) {
    ++reasons[skipped.reason];
  }
  std::vector<std::pair<std::string, std::size_t>> sorted(reasons.begin(), reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = fmt::format("{} of a step, incomplete:", count(comparison.skipped.size(), "replica"));
  for (std::size_t i = 0; i < std::min(kShown, sorted.size()); ++i) {
    text += fmt::format("{} {} ({})", i == 0 ? "" : ";", sorted[i].first, sorted[i].second);
  }
  page.labelled("skipped", sorted.size() > kShown ? fmt::format("{}; ...", text) : text, kLabelColumns);
}

void add_stages(Page& page, const Comparison& comparison) {
  const std::vector<std::size_t> widths = {9, 9, 9, 10, 13, 13, 11};
  page.line();
  page.heading("Where time goes", "medians over steps and replicas");
  page.line(report::table_row({"", "forward", "backward", "compute", "idle measured", "idle replayed", "launch gaps"},
                              widths));
  for (std::size_t rank = 0; rank < comparison.stages.size(); ++rank) {
    const StageSummary& stage = comparison.stages[rank];
    page.line(report::table_row(
        {fmt::format("  rank {}", rank), report::seconds(stage.forward_s), report::seconds(stage.backward_s),
         report::seconds(stage.compute_s), report::seconds(stage.measured_idle_s),
         report::seconds(stage.replayed_idle_s), report::seconds(stage.measured_gap_s)},
        widths));
  }
}

/// "the pipeline takes 17.3 % longer than if ...".
std::string cost(double fraction, const char* otherwise) {
  constexpr double kNothing = 0.005;
  return std::abs(fraction) < kNothing
             ? fmt::format("the pipeline takes as long as if {}", otherwise)
             : fmt::format("the pipeline takes {} {} than if {}", report::percent(std::abs(fraction)),
                           fraction > 0 ? "longer" : "less", otherwise);
}

void add_costs(Page& page, const Comparison& comparison) {
  const StageSummary& critical = comparison.stages[static_cast<std::size_t>(comparison.critical_rank)];
  double mean = 0;
  for (const StageSummary& stage : comparison.stages) {
    mean += stage.compute_s / static_cast<double>(comparison.stages.size());
  }
  page.line();
  page.heading("What slows the pipeline", "by replaying other times");
  page.labelled("critical stage",
                fmt::format("rank {} computes {}, {} against the mean of the ranks", comparison.critical_rank,
                            report::seconds(critical.compute_s), report::percent(critical.compute_s / mean - 1, true)),
                kLabelColumns);
  const Straggler& straggler = comparison.straggler;
  page.labelled("straggler",
                straggler.replica < 0 ? std::string("none to be found: there is one replica")
                                      : fmt::format("replica {}, rank {} computes {:.3f} times as long as its peers",
                                                    straggler.replica, straggler.rank, straggler.ratio),
                kLabelColumns);
  page.labelled("stragglers", cost(comparison.stragglers_cost, "all workers and micro-batches of a stage were alike"),
                kLabelColumns);
  page.labelled("imbalance", cost(comparison.imbalance_cost, "their work were also dealt evenly over the stages"),
                kLabelColumns);
}

void add_steps(Page& page, const Comparison& comparison) {
  std::vector<std::size_t> order(comparison.steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(comparison.steps[a].relative_error()) > std::abs(comparison.steps[b].relative_error());
  });
  const std::vector<std::size_t> widths = {10, 12, 12, 12, 18, 11};
  page.line();
  page.heading("Steps that differ most", order.size() > kShown ? "all of them: --format csv" : "");
  page.line(report::table_row({"  step", "measured", "replayed", "error", "without stragglers", "balanced"}, widths));
  for (std::size_t i = 0; i < std::min(kShown, order.size()); ++i) {
    const StepComparison& step = comparison.steps[order[i]];
    page.line(
        report::table_row({fmt::format("  {}", step.step), exact(step.measured_s), exact(step.replayed_s),
                           percent(step.relative_error()), exact(step.without_stragglers_s), exact(step.balanced_s)},
                          widths));
  }
}

}  // namespace

const char* name_of(PointToPoint messages) {
  return messages == PointToPoint::kFusedRendezvous ? "fused_rendezvous" : "separate_streams";
}

std::string to_console(const Comparison& comparison, bool colour) {
  Page page(colour);
  page.heading(file_name(comparison.file));
  page.paragraph(dimensions(comparison), 2, 2, Tone::kFaint);
  page.line();
  add_errors(page, comparison);
  add_order(page, comparison);
  add_skipped(page, comparison);
  add_stages(page, comparison);
  add_costs(page, comparison);
  add_steps(page, comparison);
  return page.text();
}

}  // namespace lamina::trace
