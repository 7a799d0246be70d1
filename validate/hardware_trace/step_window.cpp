#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "sim/deployment/deployment.hpp"
#include "validate/hardware_trace/matching.hpp"

/// Which part of profiler traces is compared, and with which role.
namespace lamina::validate::hardware_trace {
namespace {

/// Stages that a program's operations name.
std::map<std::int32_t, int> owners_of_stages(const graph::OperationGraph& graph) {
  std::map<std::int32_t, int> result;
  for (std::size_t p = 0; p < graph.programs.size(); ++p) {
    for (const graph::Operation& operation : graph.programs[p].operations) {
      if (operation.kind == graph::OperationKind::kCompute && operation.stage >= 0) {
        result.emplace(operation.stage, static_cast<int>(p));
      }
    }
  }
  return result;
}

/// Pipeline rank of every device that the scenario uses.
std::map<int, int> programs_of_devices(const scenario::Strategy& strategy) {
  std::map<int, int> result;
  for (int data = 0; data < strategy.data_parallel; ++data) {
    for (int pipeline = 0; pipeline < strategy.pipeline_parallel; ++pipeline) {
      for (int tensor = 0; tensor < strategy.tensor_parallel; ++tensor) {
        result.emplace(deployment::device_of(strategy, data, pipeline, tensor), pipeline);
      }
    }
  }
  return result;
}

/// Number of the step of median length in the first trace that names steps; -1: none does.
std::int64_t median_step_number(const std::vector<RankTrace>& traces) {
  for (const RankTrace& trace : traces) {
    std::vector<std::pair<std::int64_t, std::int64_t>> lengths;
    for (const Step& step : trace.steps) {
      lengths.emplace_back(step.end_ns - step.start_ns, step.number);
    }
    if (!lengths.empty()) {
      std::sort(lengths.begin(), lengths.end());
      return lengths[(lengths.size() - 1) / 2].second;
    }
  }
  return -1;
}

}  // namespace

Window choose_step(const std::vector<RankTrace>& traces) {
  Window window;
  window.step.assign(traces.size(), -1);
  const std::int64_t number = median_step_number(traces);
  std::size_t most_steps = 1;
  bool first = true;
  for (std::size_t t = 0; t < traces.size(); ++t) {
    const RankTrace& trace = traces[t];
    most_steps = std::max(most_steps, trace.steps.size());
    const auto step =
        std::find_if(trace.steps.begin(), trace.steps.end(), [&](const Step& each) { return each.number == number; });
    if (step != trace.steps.end()) {
      window.step[t] = static_cast<int>(step - trace.steps.begin());
    }
    for (const Event& event : trace.events) {
      if (window.step[t] >= 0 && event.step != window.step[t]) {
        continue;
      }
      window.start_ns = first ? event.start_ns : std::min(window.start_ns, event.start_ns);
      window.end_ns = first ? event.end_ns() : std::max(window.end_ns, event.end_ns());
      first = false;
    }
  }
  window.steps = static_cast<double>(most_steps);
  return window;
}

std::vector<int> programs_of_traces(const Model& model, const scenario::Strategy& strategy,
                                    const std::vector<RankTrace>& traces) {
  const std::map<std::int32_t, int> owners = owners_of_stages(model.graph);
  const std::map<int, int> devices = programs_of_devices(strategy);
  std::vector<int> result;
  for (const RankTrace& trace : traces) {
    int program = -1;
    for (const Action& action : trace.actions) {
      const auto owner = action.kind == '?' ? owners.end() : owners.find(action.stage);
      if (owner != owners.end()) {
        program = owner->second;
        break;
      }
    }
    if (const auto device = devices.find(trace.rank); program < 0 && device != devices.end()) {
      program = device->second;
    }
    result.push_back(program);
  }
  return result;
}

}  // namespace lamina::validate::hardware_trace
