#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/report/csv_fields.hpp"
#include "sim/report/names.hpp"
#include "sim/report/report.hpp"

namespace lamina::report {

namespace {

void add_step(Row& row, const Report& report) {
  const scenario::Scenario& scenario = *report.scenario;
  row.push_back({"scenario", csv_text(scenario.name)});
  row.push_back({"model", csv_text(scenario.model.name)});
  row.push_back({"schedule", csv_text(report.schedule)});
  row.push_back({"network", csv_text(scenario.cluster.network.name)});
  row.push_back({"devices", field(report.devices)});
  row.push_back({"step_time_s", field(report.step_s)});
  row.push_back({"efficiency", field(report.efficiency)});
  row.push_back({"model_flop_utilisation", field(report.model_flop_utilisation)});
  row.push_back({"hardware_flop_utilisation", field(report.hardware_flop_utilisation)});
  row.push_back({"bubble_makespan_fraction", field(report.bubble_makespan_fraction)});
  row.push_back({"tokens_per_s", field(report.tokens_per_s)});
  row.push_back({"training_days", report.training ? field(report.training->days) : std::string()});
  row.push_back({"memory_capacity_bytes", field(report.memory_capacity_bytes)});
  row.push_back({"fits", report.fits ? "true" : "false"});
}

/// `role` null: a report without roles keeps its row, with empty fields.
void add_role(Row& row, const Role* role) {
  const auto value = [role](double number) { return role == nullptr ? std::string() : field(number); };
  const Role& source = role == nullptr ? Role{} : *role;
  row.push_back({"pipeline_rank", value(source.pipeline_rank)});
  row.push_back({"role_devices", value(source.ranks)});
  row.push_back({"compute_s", value(source.times.compute_s)});
  for (const graph::Traffic traffic : kExposedTraffic) {
    row.push_back({fmt::format("exposed_{}_s", word_for(traffic)), value(source.times.exposed_s[index_of(traffic)])});
  }
  row.push_back({"bubble_s", value(source.times.bubble_s)});
  row.push_back({"tail_s", value(source.times.tail_s)});
  row.push_back({"span_s", value(source.times.span_s)});
  row.push_back({"flops", value(source.flops)});
  row.push_back({"peak_memory_bytes", value(source.memory.peak_bytes)});
  row.push_back({"peak_time_s", value(source.memory.peak_time_s)});
  row.push_back({"peak_operation", role == nullptr ? std::string() : csv_text(source.memory.peak_operation)});
  for (const graph::MemoryCategory category : kMemoryOrder) {
    row.push_back(
        {fmt::format("{}_bytes", word_for(category)), value(source.memory.breakdown_bytes[index_of(category)])});
  }
  row.push_back({"peak_activations", value(source.peak_activations)});
  row.push_back({"messages", value(static_cast<double>(source.messages))});
  row.push_back({"message_bytes", value(source.message_bytes)});
  row.push_back({"restores", value(static_cast<double>(source.restores))});
  row.push_back({"restored_bytes", value(source.restored_bytes)});
  row.push_back({"reductions", value(static_cast<double>(source.reductions))});
}

Row row_of(const Report& report, const Role* role) {
  Row row;
  add_step(row, report);
  add_role(row, role);
  return row;
}

}  // namespace

std::string to_csv(const std::vector<Report>& reports) {
  const scenario::Scenario nothing;
  Report header;
  header.scenario = &nothing;
  std::string text;
  append_line(text, row_of(header, nullptr), &Column::name);
  for (const Report& report : reports) {
    if (report.scenario == nullptr) {
      throw error::InternalError("report without a scenario");
    }
    for (const Role& role : report.roles) {
      append_line(text, row_of(report, &role), &Column::value);
    }
    if (report.roles.empty()) {
      append_line(text, row_of(report, nullptr), &Column::value);
    }
  }
  return text;
}

}  // namespace lamina::report
