#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/report/console_sections.hpp"
#include "sim/report/format.hpp"
#include "sim/report/names.hpp"
#include "sim/report/text.hpp"

namespace lamina::report {

namespace {

std::string rule(std::size_t columns) {
  std::string result;
  for (std::size_t i = 0; i < columns; ++i) {
    result += "─";
  }
  return result;
}

std::string model_line(const scenario::Model& model) {
  std::string text = fmt::format("{}, {} layers", model.name, model.layers);
  if (!model.custom) {
    text += fmt::format(", width {}, sequences of {} tokens", whole(static_cast<double>(model.hidden)),
                        whole(static_cast<double>(model.sequence_length)));
  }
  return text;
}

std::string cluster_line(const Report& report, const scenario::Cluster& cluster) {
  std::string text = whole(report.devices);
  if (report.devices < report.cluster_devices) {
    text += " of " + whole(report.cluster_devices);
  }
  text += fmt::format(" x {}, {} a node", cluster.node.accelerator.name, cluster.node.devices);
  if (cluster.nodes > 1) {
    text += ", " + cluster.network.name;
  }
  return text;
}

std::string strategy_line(const Report& report, const scenario::Strategy& strategy) {
  std::string text =
      fmt::format("{}: data {} x pipeline {} x tensor {}, {} micro-batch{} of {}, batch {}", report.schedule,
                  strategy.data_parallel, strategy.pipeline_parallel, strategy.tensor_parallel, strategy.micro_batches,
                  strategy.micro_batches == 1 ? "" : "es", strategy.micro_batch_size,
                  whole(static_cast<double>(strategy.global_batch())));
  if (strategy.sharding.level != scenario::ShardingLevel::kNone) {
    text += fmt::format(", sharding {}", word_for(strategy.sharding.level));
  }
  if (strategy.recompute != scenario::Recompute::kNone) {
    text += fmt::format(", recompute {}", word_for(strategy.recompute));
  }
  if (strategy.fused_attention) {
    text += ", fused attention";
  }
  if (strategy.offload.state || strategy.offload.checkpoints) {
    text += fmt::format(", offload{}{}", strategy.offload.state ? " state" : "",
                        strategy.offload.checkpoints ? " checkpoints" : "");
  }
  return text;
}

/// "label        value" in 26 columns, the value in bold and at least one column from its neighbour.
std::string fact(const Page& page, std::string_view label, std::string_view value, Tone tone = Tone::kTitle) {
  constexpr std::size_t kLabel = 12;
  constexpr std::size_t kValue = 14;
  const std::string shown = truncate(value, kValue - 1);
  return page.paint(pad_right(label, kLabel), Tone::kFaint) + page.paint(shown, tone) +
         std::string(kValue - display_width(shown), ' ');
}

/// A profile of the user's own may hold no FLOPs and no tokens: then there is no figure.
std::string if_known(double value, const std::string& text) {
  return value == 0 || std::isnan(value) ? "-" : text;
}

std::string memory_fact(const Report& report) {
  constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
  return fmt::format("{}/{} GiB", three_digits(report.memory.peak_bytes / kGibibyte),
                     three_digits(report.memory_capacity_bytes / kGibibyte));
}

}  // namespace

void add_title(Page& page, const Report& report) {
  const scenario::Scenario& scenario = *report.scenario;
  const std::string name = truncate(printable(scenario.name), kColumns - 4);
  page.line(page.paint(name, Tone::kTitle) + " " + page.paint(rule(kColumns - 1 - display_width(name)), Tone::kFaint));
  page.labelled("model", model_line(scenario.model), 12);
  page.labelled("cluster", cluster_line(report, scenario.cluster), 12);
  page.labelled("strategy", strategy_line(report, scenario.strategy), 12);
}

void add_answer(Page& page, const Report& report) {
  const std::string fits = report.fits ? "yes" : "NO";
  const std::string used =
      report.memory_capacity_bytes > 0 ? ", " + percent(report.memory.peak_bytes / report.memory_capacity_bytes) : "";
  page.line();
  page.line("  " + fact(page, "step time", seconds(report.step_s)) +
            fact(page, "tokens/s", if_known(report.tokens_per_s, scaled(report.tokens_per_s))) +
            fact(page, "memory", memory_fact(report)));
  page.line("  " + fact(page, "efficiency", percent(report.efficiency)) +
            fact(page, "sequences/s", three_digits(report.sequences_per_s)) +
            fact(page, "fits", fits + used, report.fits ? Tone::kGood : Tone::kBad));
  std::string last =
      "  " +
      fact(page, "model FLOPs",
           if_known(report.model_flop_utilisation, percent(report.model_flop_utilisation) + " peak")) +
      fact(page, "all FLOPs",
           if_known(report.hardware_flop_utilisation, percent(report.hardware_flop_utilisation) + " peak"));
  if (report.training) {
    last += fact(page, "training", three_digits(report.training->days) + " days");
  }
  page.line(std::move(last));
  if (!report.fits) {
    page.paragraph("Does not fit: " + report.why_not, 2, 4, Tone::kBad);
  }
  if (report.training) {
    const Training& training = *report.training;
    std::string text = fmt::format("Training: {} steps, {} tokens, {} GPU-days", whole(training.steps),
                                   in_words(training.tokens), whole(training.device_days));
    if (training.critical_batch_sequences > 0) {
      text += fmt::format("; critical batch {} sequences ({}), this batch {}", whole(training.critical_batch_sequences),
                          training.batch_law, whole(static_cast<double>(report.scenario->strategy.global_batch())));
    }
    page.paragraph(text + ".", 2, 4);
  }
}

}  // namespace lamina::report
