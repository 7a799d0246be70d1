#include <filesystem>
#include <optional>
#include <string>

#include "sim/report/csv_fields.hpp"
#include "sim/report/json_values.hpp"
#include "sim/report/names.hpp"
#include "sim/report/requirements.hpp"

/// JSON and CSV of what layouts need.
namespace lamina::report {

namespace {

/// Documents carry no folders: equal scenarios give equal bytes wherever they lie.
std::string file_name(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

Json optional_number(const std::optional<double>& value) {
  return value ? number(*value) : Json(nullptr);
}

std::string traffic_word(const RequirementRow& row) {
  return row.traffic ? std::string(word_for(*row.traffic)) : "all";
}

Json row_of(const RequirementRow& row) {
  return Json{{"link_class", word_for(row.link_class)},
              {"traffic", traffic_word(row)},
              {"ideal_step_time_s", number(row.ideal_step_s)},
              {"bytes", number(row.bytes)},
              {"bandwidth_bytes_per_s", row.bytes > 0 ? number(row.bandwidth_bytes_per_s) : Json(nullptr)},
              {"needed_bandwidth_bytes_per_s", optional_number(row.least_bandwidth_bytes_per_s)},
              {"lower_bound_only", row.is_bound},
              {"closed_form_bytes_per_s", optional_number(row.closed_form_bytes_per_s)},
              {"formula", row.formula.empty() ? Json(nullptr) : Json(row.formula)},
              {"latency_s", number(row.latency_s)},
              {"most_latency_s", optional_number(row.most_latency_s)}};
}

Json sensitivity_of(const Sensitivity& row) {
  return Json{{"link_class", word_for(row.link_class)},
              {"used", row.used},
              {"half", row.measured ? number(row.half) : Json(nullptr)},
              {"twice", row.measured ? number(row.twice) : Json(nullptr)},
              {"unlimited", row.measured ? number(row.unlimited) : Json(nullptr)}};
}

Json layout_of(const Requirements& layout) {
  Json rows = Json::array();
  for (const RequirementRow& row : layout.rows) {
    rows.push_back(row_of(row));
  }
  Json sensitivities = Json::array();
  for (const Sensitivity& row : layout.sensitivities) {
    sensitivities.push_back(sensitivity_of(row));
  }
  return Json{{"name", layout.name},
              {"file", file_name(layout.file)},
              {"schedule", layout.schedule},
              {"topology", layout.topology},
              {"step_time_s", number(layout.report.step_s)},
              {"needs", std::move(rows)},
              {"sensitivities", std::move(sensitivities)},
              {"warnings", layout.warnings}};
}

std::string optional_field(const std::optional<double>& value) {
  return value ? field(*value) : "";
}

Row columns_of(const Requirements& layout, const RequirementRow& row) {
  return {{"name", csv_text(layout.name)},
          {"file", csv_text(file_name(layout.file))},
          {"schedule", csv_text(layout.schedule)},
          {"topology", csv_text(layout.topology)},
          {"step_time_s", field(layout.report.step_s)},
          {"link_class", std::string(word_for(row.link_class))},
          {"traffic", traffic_word(row)},
          {"ideal_step_time_s", field(row.ideal_step_s)},
          {"bytes", field(row.bytes)},
          {"bandwidth_bytes_per_s", row.bytes > 0 ? field(row.bandwidth_bytes_per_s) : ""},
          {"needed_bandwidth_bytes_per_s", optional_field(row.least_bandwidth_bytes_per_s)},
          {"lower_bound_only", row.is_bound ? "true" : "false"},
          {"closed_form_bytes_per_s", optional_field(row.closed_form_bytes_per_s)},
          {"latency_s", field(row.latency_s)},
          {"most_latency_s", optional_field(row.most_latency_s)},
          {"refused", ""}};
}

}  // namespace

std::string to_json(const RequirementsDocument& document) {
  Json layouts = Json::array();
  for (const Requirements& layout : document.layouts) {
    layouts.push_back(layout_of(layout));
  }
  Json refusals = Json::array();
  for (const Refusal& refusal : document.refusals) {
    refusals.push_back(Json{{"name", refusal.name}, {"file", file_name(refusal.file)}, {"reason", refusal.reason}});
  }
  const Json result{{"schema", "lamina.requirements/1"},
                    {"tolerance", number(document.tolerance)},
                    {"layouts", std::move(layouts)},
                    {"refusals", std::move(refusals)}};
  return lamina::report::document(result);
}

std::string to_csv(const RequirementsDocument& document) {
  std::string text;
  append_line(text, columns_of({}, {}), &Column::name);
  for (const Requirements& layout : document.layouts) {
    for (const RequirementRow& row : layout.rows) {
      append_line(text, columns_of(layout, row), &Column::value);
    }
  }
  for (const Refusal& refusal : document.refusals) {
    Row row = columns_of({}, {});
    for (Column& column : row) {
      column.value.clear();
    }
    row[0].value = csv_text(refusal.name);
    row[1].value = csv_text(file_name(refusal.file));
    row.back().value = csv_text(refusal.reason);
    append_line(text, row, &Column::value);
  }
  return text;
}

}  // namespace lamina::report
