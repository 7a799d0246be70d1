#include "sim/pipeline/repeats.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/pipeline/size.hpp"
#include "sim/replay/replay.hpp"

namespace lamina::pipeline {
namespace {

scenario::Scenario unfolded(const scenario::Scenario& scenario) {
  scenario::Scenario whole = scenario;
  whole.simulation.fold = false;
  return whole;
}

double quantile(const std::vector<double>& ascending, double q) {
  const double position = q * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, ascending.size() - 1);
  return std::lerp(ascending[below], ascending[above], position - static_cast<double>(below));
}

}  // namespace

tl::expected<void, error::Infeasible> check_repeats(const scenario::Scenario& scenario, const model::WorkModel& work,
                                                    const schedules::ScheduleTable& table) {
  if (!scenario.disturbances.jitter) {
    return {};
  }
  const int repeats = scenario.disturbances.jitter->repeats;
  const double activities = estimate_size(unfolded(scenario), work, table).activities;
  if (activities * repeats <= kLargestSize) {
    return {};
  }
  return tl::unexpected(error::Infeasible{fmt::format(
      "{} repeats with jitter, which are not folded, replay all {} ranks with about {:.1f} million activities each; at "
      "most {:.0f} million can be simulated. Use fewer repeats, or a smaller layout.",
      repeats, scenario.strategy.ranks(), activities / 1e6, kLargestSize / 1e6)});
}

report::StepDistribution step_distribution(const scenario::Scenario& scenario, const Prepared& prepared,
                                           const Catalogs& catalogs) {
  if (!scenario.disturbances.jitter) {
    throw error::InternalError("a distribution of step times was asked of a scenario without jitter");
  }
  const scenario::Jitter& jitter = *scenario.disturbances.jitter;
  const Layout whole = lay_out(unfolded(scenario), prepared.graph, prepared.fabric, catalogs);
  replay::Options options;
  options.communication_slowdown = scenario.simulation.communication_slowdown;
  options.record_flows = false;
  options.transport = scenario.simulation.transport;
  std::vector<double> times;
  for (int repeat = 0; repeat < jitter.repeats; ++repeat) {
    options.jitter =
        replay::Jitter{jitter.distribution, jitter.standard_deviation, jitter.seed, static_cast<std::uint64_t>(repeat)};
    times.push_back(replay::replay(prepared.graph, whole.deployment, options).end_s);
  }
  std::sort(times.begin(), times.end());
  report::StepDistribution distribution;
  distribution.repeats = jitter.repeats;
  distribution.mean_s = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  distribution.p50_s = quantile(times, 0.5);
  distribution.p99_s = quantile(times, 0.99);
  distribution.least_s = times.front();
  distribution.most_s = times.back();
  return distribution;
}

}  // namespace lamina::pipeline
