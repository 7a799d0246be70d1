#include "sim/report/json_values.hpp"
#include "validate/calibration/write.hpp"

namespace lamina::validate::calibration {
namespace {

using report::count;
using report::Json;
using report::number;

Json object_of(const std::vector<Label>& labels) {
  Json object = Json::object();
  for (const Label& label : labels) {
    object[label.key] = label.text;
  }
  return object;
}

Json fitted_of(const Entry& entry) {
  Json list = Json::array();
  for (const Constant& constant : entry.constants) {
    list.push_back({{"key", constant.key},
                    {"value", number(constant.value)},
                    {"text", constant.text},
                    {"resolved", constant.resolved},
                    {"tuned_by", constant.tuned_by}});
  }
  return list;
}

Json residuals_of(const Entry& entry) {
  Json list = Json::array();
  for (const Residual& residual : entry.residuals) {
    list.push_back({{"range", residual.range.empty() ? "all" : residual.range},
                    {"points", residual.points},
                    {"median", number(residual.median)},
                    {"worst", number(residual.worst)},
                    {"bias", number(residual.bias)},
                    {"worst_at", residual.worst_at}});
  }
  return list;
}

Json table_of(const Table& table) {
  Json rows = Json::array();
  for (const std::vector<double>& row : table.rows) {
    Json values = Json::array();
    for (const double value : row) {
      values.push_back(count(value));
    }
    rows.push_back(std::move(values));
  }
  return {{"columns", table.columns}, {"keys", table.keys}, {"rows", std::move(rows)}};
}

Json entry_of(const Entry& entry) {
  Json left_out = Json::array();
  for (const LeftOut& left : entry.left_out) {
    left_out.push_back({{"reason", left.reason}, {"rows", left.rows}});
  }
  return {{"hardware", plural_of(entry.kind) + "." + entry.name},
          {"summary", entry.summary},
          {"source", entry.source},
          {"settings", object_of(entry.settings)},
          {"measured", object_of(entry.measured)},
          {"conditions", object_of(entry.conditions)},
          {"fitted", fitted_of(entry)},
          {"residuals", residuals_of(entry)},
          {"spread", number(entry.spread)},
          {"steps", entry.steps},
          {"left_out", std::move(left_out)},
          {"notes", entry.notes},
          {"table", table_of(entry.table)}};
}

}  // namespace

std::string to_json(const Calibration& calibration) {
  Json entries = Json::array();
  for (const Entry& entry : calibration.entries) {
    entries.push_back(entry_of(entry));
  }
  Json root = {{"schema", "lamina.calibration/1"},
               {"sources", calibration.sources},
               {"conditions", object_of(calibration.conditions)},
               {"skipped", calibration.skipped},
               {"entries", std::move(entries)}};
  if (!calibration.measurements.empty()) {
    Json measurements = Json::array();
    for (const Measurement& measurement : calibration.measurements) {
      measurements.push_back({{"name", measurement.name},
                              {"summary", measurement.summary},
                              {"notes", measurement.notes},
                              {"table", table_of(measurement.table)}});
    }
    root["measurements"] = std::move(measurements);
  }
  return report::document(root);
}

}  // namespace lamina::validate::calibration
