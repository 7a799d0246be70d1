#include "sim/pipeline/schedule_table.hpp"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "sim/lowering/partition.hpp"
#include "sim/pipeline/chosen.hpp"
#include "sim/pipeline/rank_times.hpp"
#include "sim/schedule_tables/checker.hpp"
#include "sim/schedule_tables/pytorch_csv.hpp"

namespace lamina::pipeline {
namespace {

using Table = tl::expected<schedules::ScheduleTable, error::Infeasible>;

tl::unexpected<error::Infeasible> infeasible(std::string reason) {
  return tl::unexpected(error::Infeasible{std::move(reason)});
}

Table generated_table(const scenario::Scenario& scenario, const Catalogs& catalogs, const model::WorkModel& work) {
  const std::string& name = scenario.strategy.schedule.name;
  schedules::ScheduleRequest request = schedule_request(scenario);
  request.times = rank_times(scenario, work);
  Table table = chosen(catalogs.schedules, name).table(request);
  if (!table) {
    return table;
  }
  if (const auto fault = schedule_tables::find_fault(*table)) {
    return infeasible(fmt::format("The schedule {} made a table that cannot run. {}", name, fault->text));
  }
  return table;
}

/// A file is made for a number of ranks and micro-batches, and its chunks share the layers evenly as those of a
/// schedule of ours do.
Table table_from_file(const scenario::Scenario& scenario, const scenario::ScheduleFile& file) {
  const schedules::ScheduleRequest request = schedule_request(scenario);
  schedules::ScheduleTable table = schedule_tables::load_pytorch_csv(file.path, file.model_copies);
  const std::string& name = scenario.strategy.schedule.name;
  const std::size_t ranks = table.actions.size();
  if (ranks != static_cast<std::size_t>(request.pipeline_parallel)) {
    return infeasible(fmt::format("The schedule in {} is for {} pipeline ranks (one line each); the scenario has {}.",
                                  name, ranks, request.pipeline_parallel));
  }
  if (table.micro_batches != request.micro_batches) {
    const std::string share =
        file.model_copies == 1 ? "" : fmt::format(" ({} for each copy of the model)", table.micro_batches / 2);
    return infeasible(fmt::format("The schedule in {} is for {} micro-batches{}; the scenario has {}.", name,
                                  table.micro_batches, share, request.micro_batches));
  }
  if (request.layers % table.model_chunks != 0) {
    return infeasible(fmt::format("{} layers do not divide evenly over the {} stages of the schedule in {}.",
                                  request.layers, table.model_chunks, name));
  }
  return table;
}

}  // namespace

schedules::ScheduleRequest schedule_request(const scenario::Scenario& scenario) {
  const scenario::Strategy& strategy = scenario.strategy;
  schedules::ScheduleRequest request;
  request.pipeline_parallel = strategy.pipeline_parallel;
  request.micro_batches = strategy.micro_batches;
  request.layers = lowering::dealt_layers(strategy, scenario.model.layers);
  request.parameters = strategy.schedule.parameters;
  return request;
}

Table schedule_table(const scenario::Scenario& scenario, const Catalogs& catalogs) {
  return schedule_table(scenario, catalogs, model::work_model(scenario, catalogs.cost_models));
}

Table schedule_table(const scenario::Scenario& scenario, const Catalogs& catalogs, const model::WorkModel& work) {
  if (auto ends = lowering::check_counted_ends(scenario); !ends) {
    return tl::unexpected(std::move(ends.error()));
  }
  const auto& file = scenario.strategy.schedule_file;
  return file ? table_from_file(scenario, *file) : generated_table(scenario, catalogs, work);
}

}  // namespace lamina::pipeline
