#include "sim/pipeline/schedule_table.hpp"

#include "sim/lowering/partition.hpp"
#include "sim/pipeline/chosen.hpp"
#include "sim/pipeline/rank_times.hpp"

namespace lamina::pipeline {

schedules::ScheduleRequest schedule_request(const scenario::Scenario& scenario) {
  const scenario::Strategy& strategy = scenario.strategy;
  schedules::ScheduleRequest request;
  request.pipeline_parallel = strategy.pipeline_parallel;
  request.micro_batches = strategy.micro_batches;
  request.layers = lowering::dealt_layers(strategy, scenario.model.layers);
  request.parameters = strategy.schedule.parameters;
  return request;
}

tl::expected<schedules::ScheduleTable, error::Infeasible> schedule_table(const scenario::Scenario& scenario,
                                                                         const Catalogs& catalogs) {
  schedules::ScheduleRequest request = schedule_request(scenario);
  request.times = rank_times(scenario, model::work_model(scenario, catalogs.cost_models));
  return chosen(catalogs.schedules, scenario.strategy.schedule.name).table(request);
}

}  // namespace lamina::pipeline
