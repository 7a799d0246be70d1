#include "sim/score/predict.hpp"

#include <exception>
#include <limits>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/metrics/reference.hpp"
#include "sim/replay/replay.hpp"
#include "sim/report/json_values.hpp"
#include "sim/sweep/fault_text.hpp"
#include "sim/sweep/workers.hpp"

namespace lamina::score {
namespace {

Prediction none(Status status, std::string reason) {
  Prediction prediction;
  prediction.status = status;
  prediction.reason = std::move(reason);
  return prediction;
}

Prediction of_report(const Workbench& bench, const scenario::Scenario& scenario, const pipeline::Result& result) {
  Prediction prediction;
  for (const std::string& figure : bench.figures) {
    prediction.values.push_back(metrics::value_of(result.report, figure).value());
  }
  prediction.families = family_seconds(result, scenario, bench.catalogs);
  prediction.step_s = result.report.step_s;
  prediction.bubble_fraction = result.report.bubble_makespan_fraction;
  prediction.does_not_fit = result.report.fits ? "" : result.report.why_not;
  return prediction;
}

double number_of(const report::Json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Prediction predict(const Workbench& bench, const std::vector<scenario::Change>& changes) {
  try {
    const scenario::Scenario scenario = bench.loader.load(changes);
    const auto result = pipeline::simulate(scenario, bench.catalogs, pipeline::ReplayIn::kThisProcess);
    if (!result) {
      return none(Status::kInfeasible, result.error().reason);
    }
    if (scenario.simulation.enforce_memory && !result->report.fits) {
      return none(Status::kInfeasible, result->report.why_not);
    }
    return of_report(bench, scenario, *result);
  } catch (const error::ScenarioError& fault) {
    return none(Status::kMalformed, sweep::short_text(fault.fault()));
  } catch (const std::bad_alloc&) {
    return none(Status::kFailed, "Not enough memory.");
  } catch (const std::exception& fault) {
    return none(Status::kFailed, fault.what());
  }
}

void check_dataset(const scenario::Loader& loader, const std::vector<PreparedRow>& rows) {
  constexpr int kMostTried = 1000;
  const PreparedRow* first = nullptr;
  int tried = 0;
  for (const PreparedRow& row : rows) {
    if (row.status != Status::kScored || ++tried > kMostTried) {
      continue;
    }
    try {
      (void)loader.load(row.changes);
      return;
    } catch (const error::ScenarioError&) {
      first = first == nullptr ? &row : first;
    }
  }
  if (first != nullptr) {
    (void)loader.load(first->changes);
  }
}

std::string to_line(const Prediction& prediction) {
  report::Json document = report::Json::object();
  document["status"] = static_cast<int>(prediction.status);
  document["reason"] = prediction.reason;
  document["step"] = report::number(prediction.step_s);
  document["bubble"] = report::number(prediction.bubble_fraction);
  document["does_not_fit"] = prediction.does_not_fit;
  for (const double value : prediction.values) {
    document["values"].push_back(report::number(value));
  }
  for (const double value : prediction.families) {
    document["families"].push_back(report::number(value));
  }
  return document.dump(-1, ' ', false, report::Json::error_handler_t::replace);
}

Prediction from_line(const std::string& line) {
  const report::Json document = report::Json::parse(line, nullptr, false);
  if (!document.is_object() || !document.contains("families") || document.at("families").size() != kFamilies) {
    throw error::InternalError("a worker answered no prediction");
  }
  Prediction prediction;
  prediction.status = static_cast<Status>(document.at("status").get<int>());
  prediction.reason = document.at("reason").get<std::string>();
  prediction.step_s = number_of(document.at("step"));
  prediction.bubble_fraction = number_of(document.at("bubble"));
  prediction.does_not_fit = document.at("does_not_fit").get<std::string>();
  if (document.contains("values")) {
    for (const report::Json& value : document.at("values")) {
      prediction.values.push_back(number_of(value));
    }
  }
  for (std::size_t i = 0; i < prediction.families.size(); ++i) {
    prediction.families[i] = number_of(document.at("families")[i]);
  }
  return prediction;
}

std::vector<std::optional<Prediction>> predict_all(const Workbench& bench, const std::vector<PreparedRow>& rows,
                                                   int workers,
                                                   const std::function<void(std::size_t, std::size_t)>& on_progress) {
  std::vector<std::optional<Prediction>> predictions(rows.size());
  std::vector<sweep::Task> tasks;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].status == Status::kScored) {
      tasks.push_back(i);
    }
  }
  std::size_t done = 0;
  const auto work = [&](sweep::Task task) { return to_line(predict(bench, rows[task].changes)); };
  const auto on_answer = [&](sweep::Task task, const sweep::Answer& answer) {
    predictions[task] = answer ? from_line(*answer) : none(Status::kFailed, answer.error());
    on_progress(++done, tasks.size());
  };
  sweep::run_workers(tasks, work, on_answer, [&] { on_progress(done, tasks.size()); },
                     {workers, replay::has_used_simgrid});
  return predictions;
}

}  // namespace lamina::score
