#include "sim/sweep/row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/report/csv_fields.hpp"
#include "sim/report/json_values.hpp"
#include "sim/report/names.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/units/parse.hpp"

namespace lamina::sweep {
namespace {

using report::Report;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

constexpr std::array<std::string_view, kStatuses> kStatusWords = {"ok", "does_not_fit", "infeasible", "invalid",
                                                                  "failed"};

constexpr std::array<fabric::LinkClass, fabric::kLinkClasses> kLinkOrder = {
    fabric::LinkClass::kDeviceLink, fabric::LinkClass::kHostPath, fabric::LinkClass::kPort, fabric::LinkClass::kTrunk};

const report::LinkLoad* load_of(const Report& report, fabric::LinkClass link_class) {
  const auto found = std::find_if(report.links.begin(), report.links.end(),
                                  [&](const report::LinkLoad& load) { return load.link_class == link_class; });
  return found == report.links.end() ? nullptr : &*found;
}

struct Named {
  Figure figure;
  double value;
};

/// Names and values together, so that no column can slip.
std::vector<Named> named_figures(const Report& report, const scenario::Scenario& scenario) {
  const scenario::Strategy& strategy = scenario.strategy;
  const report::RoleTimes& times = report.critical_role_times;
  std::vector<Named> all = {
      {{"devices"}, report.devices},
      {{"micro_batches"}, static_cast<double>(strategy.micro_batches)},
      {{"global_batch_sequences", true}, static_cast<double>(strategy.global_batch())},
      {{"step_time_s"}, report.step_s},
      {{"step_time_p99_s"}, report.distribution ? report.distribution->p99_s : kNone},
      {{"efficiency", true}, report.efficiency},
      {{"model_flop_utilisation", true}, report.model_flop_utilisation},
      {{"hardware_flop_utilisation", true}, report.hardware_flop_utilisation},
      {{"tokens_per_s", true}, report.tokens_per_s},
      {{"tokens_per_s_and_device", true}, report.devices > 0 ? report.tokens_per_s / report.devices : kNone},
      {{"training_days"}, report.training ? report.training->days : kNone},
      {{"peak_memory_bytes"}, report.memory.peak_bytes},
      {{"memory_capacity_bytes", true}, report.memory_capacity_bytes},
      {{"bubble_makespan_fraction"}, report.bubble_makespan_fraction},
      {{"compute_s"}, times.compute_s},
      {{"bubble_s"}, times.bubble_s},
      {{"tail_s"}, times.tail_s}};
  for (const graph::Traffic traffic : report::kExposedTraffic) {
    all.push_back(
        {{fmt::format("exposed_{}_s", report::word_for(traffic))}, times.exposed_s[report::index_of(traffic)]});
  }
  for (const fabric::LinkClass link_class : kLinkOrder) {
    const report::LinkLoad* load = load_of(report, link_class);
    all.push_back({{fmt::format("busiest_{}_bytes", report::word_for(link_class))}, load == nullptr ? 0 : load->bytes});
  }
  const report::LinkLoad* port = load_of(report, fabric::LinkClass::kPort);
  all.push_back({{"busiest_port_bytes_per_s"}, port == nullptr ? 0 : port->average_bytes_per_s});
  return all;
}

/// The row as names and JSON values; CSV takes the same.
std::vector<std::pair<std::string, report::Json>> fields_of(const Row& row, const RowHead& head) {
  std::vector<std::pair<std::string, report::Json>> fields;
  fields.emplace_back("point", row.point);
  for (std::size_t i = 0; i < head.keys.size(); ++i) {
    const std::string text = i < head.texts.size() ? head.texts[i] : "";
    const auto integer = units::parse_integer(text);
    const auto number = units::parse_number(text);
    fields.emplace_back(head.keys[i], text.empty() ? report::Json(nullptr)
                                      : integer    ? report::Json(*integer)
                                      : number     ? report::Json(*number)
                                                   : report::Json(text));
  }
  fields.emplace_back("status", word_for(row.status));
  fields.emplace_back("reason", row.reason.empty() ? report::Json(nullptr) : report::Json(row.reason));
  fields.emplace_back("transport", row.transport.empty() ? report::Json(nullptr) : report::Json(row.transport));
  for (std::size_t i = 0; i < figures().size(); ++i) {
    fields.emplace_back(figures()[i].name,
                        i < row.values.size() ? report::count(row.values[i]) : report::Json(nullptr));
  }
  return fields;
}

std::string text_of(const report::Json& document, const char* key) {
  const auto found = document.find(key);
  return found == document.end() || !found->is_string() ? "" : found->get<std::string>();
}

}  // namespace

std::string_view word_for(Status status) {
  return kStatusWords[static_cast<std::size_t>(status)];
}

const std::vector<Figure>& figures() {
  static const std::vector<Figure> names = [] {
    std::vector<Figure> result;
    for (Named& named : named_figures(Report{}, scenario::Scenario{})) {
      result.push_back(std::move(named.figure));
    }
    return result;
  }();
  return names;
}

std::optional<std::size_t> figure_named(std::string_view name) {
  const auto found =
      std::find_if(figures().begin(), figures().end(), [&](const Figure& figure) { return figure.name == name; });
  return found == figures().end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - figures().begin()));
}

bool is_estimated(std::size_t figure) {
  constexpr std::array<std::string_view, 11> kEstimated = {"devices",
                                                           "micro_batches",
                                                           "global_batch_sequences",
                                                           "step_time_s",
                                                           "efficiency",
                                                           "model_flop_utilisation",
                                                           "hardware_flop_utilisation",
                                                           "tokens_per_s",
                                                           "tokens_per_s_and_device",
                                                           "peak_memory_bytes",
                                                           "memory_capacity_bytes"};
  return std::find(kEstimated.begin(), kEstimated.end(), figures()[figure].name) != kEstimated.end();
}

std::vector<double> figures_of(const pipeline::CoarseEstimate& estimate, const scenario::Scenario& scenario) {
  Report report;
  report.scenario = &scenario;
  report.devices = scenario.strategy.ranks();
  report.step_s = estimate.step_s;
  report.efficiency = estimate.efficiency;
  report.model_flop_utilisation = estimate.model_flop_utilisation;
  report.hardware_flop_utilisation = estimate.hardware_flop_utilisation;
  report.tokens_per_s = estimate.tokens_per_s;
  report.memory.peak_bytes = estimate.peak_bytes;
  report.memory_capacity_bytes = estimate.capacity_bytes;
  std::vector<double> values = figures_of(report);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = is_estimated(i) ? values[i] : kNone;
  }
  return values;
}

std::vector<double> figures_of(const Report& report) {
  std::vector<double> values;
  for (const Named& named : named_figures(report, *report.scenario)) {
    values.push_back(named.value);
  }
  return values;
}

std::string to_json_line(const Row& row, const RowHead& head) {
  report::Json document = report::Json::object();
  for (auto& [name, value] : fields_of(row, head)) {
    document[name] = std::move(value);
  }
  return document.dump(-1, ' ', false, report::Json::error_handler_t::replace);
}

std::optional<Row> row_from_json(std::string_view line) {
  const report::Json document = report::Json::parse(line, nullptr, false);
  if (!document.is_object() || !document.contains("point") || !document.at("point").is_number_integer()) {
    return std::nullopt;
  }
  const auto word = std::find(kStatusWords.begin(), kStatusWords.end(), text_of(document, "status"));
  if (word == kStatusWords.end()) {
    return std::nullopt;
  }
  Row row;
  row.point = document.at("point");
  row.status = static_cast<Status>(word - kStatusWords.begin());
  row.reason = text_of(document, "reason");
  row.transport = text_of(document, "transport");
  if (!row.transport.empty()) {
    for (const Figure& figure : figures()) {
      const auto value = document.find(figure.name);
      row.values.push_back(value == document.end() || !value->is_number() ? kNone : value->get<double>());
    }
  }
  return row;
}

std::string csv_head(const std::vector<std::string>& keys) {
  std::string text;
  for (const auto& [name, value] : fields_of(Row{}, {keys, {}})) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", report::csv_text(name));
  }
  return text + '\n';
}

std::string to_csv_line(const Row& row, const RowHead& head) {
  std::string text;
  std::size_t column = 0;
  for (const auto& [name, value] : fields_of(row, head)) {
    const bool is_key = column >= 1 && column <= head.keys.size();
    text += column++ == 0 ? "" : ",";
    text += value.is_null()     ? std::string()
            : is_key            ? report::csv_text(head.texts[column - 2])
            : value.is_string() ? report::csv_text(value.get<std::string>())
                                : value.dump();
  }
  return text + '\n';
}

}  // namespace lamina::sweep
