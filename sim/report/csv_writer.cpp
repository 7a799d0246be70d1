#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/report/names.hpp"
#include "sim/report/report.hpp"

namespace lamina::report {

namespace {

/// RFC 4180, section 2: fields with commas, quotes or line breaks stand in quotes, quotes are doubled.
std::string quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string result = "\"";
  for (const char character : text) {
    result += character;
    if (character == '"') {
      result += '"';
    }
  }
  return result + '"';
}

/// Shortest text that reads back as the same double; not a number and infinite are empty fields.
std::string field(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : std::string();
}

struct Column {
  std::string name;
  std::string value;
};

using Row = std::vector<Column>;

void add_step(Row& row, const Report& report) {
  const scenario::Scenario& scenario = *report.scenario;
  row.push_back({"scenario", quoted(scenario.name)});
  row.push_back({"model", quoted(scenario.model.name)});
  row.push_back({"schedule", quoted(report.schedule)});
  row.push_back({"network", quoted(scenario.cluster.network.name)});
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
  row.push_back({"peak_operation", role == nullptr ? std::string() : quoted(source.memory.peak_operation)});
  for (const graph::MemoryCategory category : kMemoryOrder) {
    row.push_back(
        {fmt::format("{}_bytes", word_for(category)), value(source.memory.breakdown_bytes[index_of(category)])});
  }
}

Row row_of(const Report& report, const Role* role) {
  Row row;
  add_step(row, report);
  add_role(row, role);
  return row;
}

void append(std::string& text, const Row& row, std::string Column::*part) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    text += i == 0 ? "" : ",";
    text += row[i].*part;
  }
  text += '\n';
}

}  // namespace

std::string to_csv(const std::vector<Report>& reports) {
  const scenario::Scenario nothing;
  Report header;
  header.scenario = &nothing;
  std::string text;
  append(text, row_of(header, nullptr), &Column::name);
  for (const Report& report : reports) {
    if (report.scenario == nullptr) {
      throw error::InternalError("report without a scenario");
    }
    for (const Role& role : report.roles) {
      append(text, row_of(report, &role), &Column::value);
    }
    if (report.roles.empty()) {
      append(text, row_of(report, nullptr), &Column::value);
    }
  }
  return text;
}

}  // namespace lamina::report
