#include "sim/sweep/evaluate.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/report/format.hpp"
#include "sim/sweep/fault_text.hpp"

namespace lamina::sweep {
namespace {

Row without_replay(Row row, Status status, std::string reason) {
  row.status = status;
  row.reason = std::move(reason);
  row.transport.clear();
  row.values.clear();
  return row;
}

/// Loads a point and hands it on; faults of its values, and of Lamina, become rows.
template <class Work>
Row at_point(const Bench& bench, std::int64_t index, Work work) {
  Row row;
  row.point = index;
  try {
    const Point point = bench.grid.point(index);
    if (!point.infeasible.empty()) {
      return without_replay(row, Status::kInfeasible, point.infeasible);
    }
    scenario::Scenario scenario = bench.loader.load(point.changes);
    return work(scenario, row);
  } catch (const error::ScenarioError& fault) {
    return without_replay(row, Status::kInvalid, short_text(fault.fault()));
  } catch (const std::bad_alloc&) {
    return without_replay(row, Status::kFailed, "Not enough memory.");
  } catch (const std::exception& fault) {
    return without_replay(row, Status::kFailed, fault.what());
  }
}

bool loads(const Bench& bench, const std::vector<scenario::Change>& changes) {
  try {
    (void)bench.loader.load(changes);
    return true;
  } catch (const error::ScenarioError&) {
    return false;
  }
}

}  // namespace

std::string_view word_for(scenario::Transport transport) {
  return transport == scenario::Transport::kNoContention ? "no_contention" : "simgrid";
}

Row evaluate(const Bench& bench, std::int64_t index, std::optional<scenario::Transport> transport) {
  return at_point(bench, index, [&](scenario::Scenario& scenario, Row row) {
    scenario.simulation.transport = transport.value_or(scenario.simulation.transport);
    const auto result = pipeline::simulate(scenario, bench.catalogs, pipeline::ReplayIn::kThisProcess);
    if (!result) {
      return without_replay(std::move(row), Status::kInfeasible, result.error().reason);
    }
    const bool fits = result->report.fits || !scenario.simulation.enforce_memory;
    row.status = fits ? Status::kOk : Status::kDoesNotFit;
    row.reason = fits ? "" : result->report.why_not;
    row.transport = word_for(scenario.simulation.transport);
    row.values = figures_of(result->report);
    return row;
  });
}

Row estimate(const Bench& bench, std::int64_t index, pipeline::CoarseSearch& search) {
  return at_point(bench, index, [&](scenario::Scenario& scenario, Row row) {
    scenario.simulation.transport = scenario::Transport::kNoContention;
    const auto estimate = search.estimate(scenario);
    if (!estimate) {
      return without_replay(std::move(row), Status::kInfeasible, estimate.error().reason);
    }
    const bool fits = estimate->fits || !scenario.simulation.enforce_memory;
    row.status = fits ? Status::kOk : Status::kDoesNotFit;
    row.reason =
        fits ? ""
             : fmt::format("Pipeline rank {} needs about {} of {}.", estimate->fullest_rank,
                           report::binary_bytes(estimate->peak_bytes), report::binary_bytes(estimate->capacity_bytes));
    row.transport = word_for(scenario.simulation.transport);
    row.values = figures_of(*estimate, scenario);
    return row;
  });
}

void check_file(const Bench& bench) {
  if (loads(bench, {})) {
    return;
  }
  constexpr std::int64_t kMostTried = 1000;
  const std::int64_t stride = std::max<std::int64_t>(1, bench.grid.size() / kMostTried);
  for (std::int64_t index = 0; index < bench.grid.size(); index += stride) {
    const Point point = bench.grid.point(index);
    if (point.infeasible.empty() && loads(bench, point.changes)) {
      return;
    }
  }
  (void)bench.loader.load(bench.grid.point(0).infeasible.empty() ? bench.grid.point(0).changes
                                                                 : std::vector<scenario::Change>{});
}

}  // namespace lamina::sweep
