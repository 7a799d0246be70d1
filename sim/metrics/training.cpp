#include "sim/metrics/training.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace lamina::metrics {

namespace {

constexpr double kSecondsPerDay = 86400;

std::string name_of(scenario::BatchLaw law) {
  switch (law) {
    case scenario::BatchLaw::kLayeredModular2021:
      return "layered_modular_2021";
    case scenario::BatchLaw::kKaplan2020:
      return "kaplan_2020";
    case scenario::BatchLaw::kNone:
      break;
  }
  return "";
}

}  // namespace

double tokens_per_step(const scenario::Scenario& scenario) {
  return static_cast<double>(scenario.strategy.global_batch()) * static_cast<double>(scenario.model.sequence_length);
}

std::optional<report::Training> training(const scenario::Scenario& scenario, const model::WorkModel& work,
                                         double step_s, double devices, std::vector<std::string>& warnings) {
  if (!scenario.training) {
    return std::nullopt;
  }
  const scenario::Training& asked = *scenario.training;
  const double tokens = tokens_per_step(scenario);
  report::Training result;
  if (asked.steps > 0) {
    result.steps = asked.steps;
  } else {  // a custom model need not have a sequence length: then no tokens, and no length of training by tokens
    result.steps = tokens > 0 ? asked.tokens / tokens : std::numeric_limits<double>::quiet_NaN();
  }
  result.tokens = result.steps * tokens;
  result.days = result.steps * step_s / kSecondsPerDay;
  result.device_days = result.days * devices;
  result.batch_law = name_of(asked.batch_law);
  if (asked.batch_law != scenario::BatchLaw::kNone) {
    const auto sequence_length = static_cast<double>(scenario.model.sequence_length);
    const double critical = model::critical_batch(asked.batch_law, work.parameters, sequence_length);
    result.critical_batch_sequences = std::isfinite(critical) ? critical : 0;
    const auto batch = static_cast<double>(scenario.strategy.global_batch());
    if (result.critical_batch_sequences > 0 && batch > result.critical_batch_sequences) {
      warnings.push_back(
          fmt::format("The global batch of {:.0f} sequences is above the critical batch of {:.0f} ({}): more data for "
                      "the same loss.",
                      batch, result.critical_batch_sequences, result.batch_law));
    }
  }
  return result;
}

}  // namespace lamina::metrics
