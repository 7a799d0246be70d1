#include "sim/metrics/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/catalog/catalog.hpp"
#include "sim/error/error.hpp"

namespace lamina::metrics {

using report::Report;

namespace {

constexpr double kStatedDifferenceTolerance = 0.01;

struct Entry {
  std::string name;
  std::function<double(const Report&)> value;
};

using Entries = std::vector<Entry>;

void add_step(Entries& entries) {
  entries.push_back({"step.time_s", [](const Report& r) { return r.step_s; }});
  entries.push_back({"step.ideal_compute_s", [](const Report& r) { return r.ideal_compute_s; }});
  entries.push_back({"step.efficiency", [](const Report& r) { return r.efficiency; }});
  entries.push_back({"step.model_flop_utilisation", [](const Report& r) { return r.model_flop_utilisation; }});
  entries.push_back({"step.hardware_flop_utilisation", [](const Report& r) { return r.hardware_flop_utilisation; }});
  entries.push_back({"step.bubble_makespan_fraction", [](const Report& r) { return r.bubble_makespan_fraction; }});
  entries.push_back({"step.bubble_span_fraction", [](const Report& r) { return r.bubble_span_fraction; }});
  entries.push_back({"step.compute_s", [](const Report& r) { return r.critical_role_times.compute_s; }});
  for (std::size_t traffic = 1; traffic < graph::kTrafficClasses; ++traffic) {
    entries.push_back({fmt::format("step.exposed_s.{}", graph::name_of(static_cast<graph::Traffic>(traffic))),
                       [traffic](const Report& r) { return r.critical_role_times.exposed_s[traffic]; }});
  }
  entries.push_back({"step.bubble_s", [](const Report& r) { return r.critical_role_times.bubble_s; }});
  entries.push_back({"step.tail_s", [](const Report& r) { return r.critical_role_times.tail_s; }});
  entries.push_back({"step.span_s", [](const Report& r) { return r.critical_role_times.span_s; }});
}

void add_memory(Entries& entries) {
  entries.push_back({"memory.peak_bytes", [](const Report& r) { return r.memory.peak_bytes; }});
  entries.push_back({"memory.peak_time_s", [](const Report& r) { return r.memory.peak_time_s; }});
  entries.push_back({"memory.capacity_bytes", [](const Report& r) { return r.memory_capacity_bytes; }});
  entries.push_back({"memory.last_rank_peak_bytes", [](const Report& r) {
                       return r.roles.empty() ? std::numeric_limits<double>::quiet_NaN()
                                              : r.roles.back().memory.peak_bytes;
                     }});
  for (std::size_t category = 0; category < graph::kMemoryCategories; ++category) {
    entries.push_back(
        {fmt::format("memory.breakdown_bytes.{}", graph::name_of(static_cast<graph::MemoryCategory>(category))),
         [category](const Report& r) { return r.memory.breakdown_bytes[category]; }});
  }
}

void add_training(Entries& entries) {
  const auto add = [&entries](const char* name, double report::Training::*member) {
    entries.push_back({fmt::format("training.{}", name), [member](const Report& r) {
                         return r.training ? (*r.training).*member : std::numeric_limits<double>::quiet_NaN();
                       }});
  };
  add("steps", &report::Training::steps);
  add("tokens", &report::Training::tokens);
  add("days", &report::Training::days);
  add("device_days", &report::Training::device_days);
  add("critical_batch_sequences", &report::Training::critical_batch_sequences);
}

void add_critical_path(Entries& entries) {
  entries.push_back({"critical_path.compute_s", [](const Report& r) { return r.critical_path.compute_s; }});
  for (std::size_t traffic = 1; traffic < graph::kTrafficClasses; ++traffic) {
    entries.push_back({fmt::format("critical_path.traffic_s.{}", graph::name_of(static_cast<graph::Traffic>(traffic))),
                       [traffic](const Report& r) { return r.critical_path.traffic_s[traffic]; }});
  }
}

Entries entries() {
  Entries result;
  result.push_back({"cluster.devices", [](const Report& r) { return r.devices; }});
  result.push_back({"cluster.total_devices", [](const Report& r) { return r.cluster_devices; }});
  add_step(result);
  result.push_back({"throughput.tokens_per_s", [](const Report& r) { return r.tokens_per_s; }});
  result.push_back({"throughput.sequences_per_s", [](const Report& r) { return r.sequences_per_s; }});
  result.push_back({"throughput.tokens_per_step", [](const Report& r) { return r.tokens_per_step; }});
  add_memory(result);
  add_training(result);
  add_critical_path(result);
  result.push_back({"replay.activities", [](const Report& r) { return static_cast<double>(r.activities); }});
  return result;
}

void check_name(const scenario::Scenario& scenario, const std::string& name, const std::vector<std::string>& allowed) {
  error::ScenarioFault fault;
  fault.location.file = scenario.file;
  fault.key = "reference.values";
  fault.read = name;
  if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
    fault.problem = "A reference value has a name that the report does not have.";
    fault.allowed = fmt::format("{}", fmt::join(allowed, ", "));
    fault.nearest = catalog::nearest_name(name, allowed);
    throw error::ScenarioError(std::move(fault));
  }
  if (name.starts_with("training.") && !scenario.training) {
    fault.problem = "A reference value is about the whole training, but the scenario has no `training:` section.";
    throw error::ScenarioError(std::move(fault));
  }
}

report::ReferenceRow compare(const scenario::ReferenceValue& reference, double measured) {
  report::ReferenceRow row;
  row.reference = reference;
  row.measured = measured;
  row.relative_difference = measured == reference.value ? 0 : (measured - reference.value) / std::abs(reference.value);
  const double difference = row.relative_difference;
  const bool within = std::abs(difference) <= reference.tolerance;
  const bool as_stated = reference.expected_difference.has_value() &&
                         std::abs(difference - *reference.expected_difference) <= kStatedDifferenceTolerance;
  row.agrees = within || as_stated;  // NaN compares false: no agreement
  return row;
}

}  // namespace

std::vector<std::string> reference_names() {
  std::vector<std::string> names;
  for (Entry& entry : entries()) {
    names.push_back(std::move(entry.name));
  }
  return names;
}

std::optional<double> value_of(const Report& report, std::string_view name) {
  for (const Entry& entry : entries()) {
    if (entry.name == name) {
      return entry.value(report);
    }
  }
  return std::nullopt;
}

void check_reference(const scenario::Scenario& scenario) {
  if (!scenario.reference) {
    return;
  }
  const std::vector<std::string> allowed = reference_names();
  for (const scenario::ReferenceValue& value : scenario.reference->values) {
    check_name(scenario, value.name, allowed);
  }
}

std::vector<report::ReferenceRow> reference_rows(const scenario::Scenario& scenario, const Report& report) {
  check_reference(scenario);
  std::vector<report::ReferenceRow> rows;
  if (scenario.reference) {
    for (const scenario::ReferenceValue& value : scenario.reference->values) {
      rows.push_back(compare(value, value_of(report, value.name).value()));
    }
  }
  return rows;
}

}  // namespace lamina::metrics
