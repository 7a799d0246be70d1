#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "sim/error/error.hpp"
#include "sim/report/csv_fields.hpp"
#include "sim/report/json_values.hpp"
#include "sim/report/names.hpp"
#include "sim/report/ranking.hpp"

/// JSON and CSV of a ranking.
namespace lamina::report {

namespace {

std::string_view need_word(NeedKind kind) {
  switch (kind) {
    case NeedKind::kNone:
      return "none";
    case NeedKind::kFound:
      return "found";
    case NeedKind::kMoreThanAny:
      return "more_than_any";
    case NeedKind::kNotAsked:
      break;
  }
  return "not_asked";
}

/// Documents carry no folders: equal scenarios give equal bytes wherever they lie.
std::string file_name(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

template <class Value>
Value most(const Report& report, Value Role::*figure) {
  Value result{};
  for (const Role& role : report.roles) {
    result = std::max(result, role.*figure);
  }
  return result;
}

Json need_of(const Entry& entry) {
  const NetworkNeed& need = entry.need;
  const bool asked = need.kind != NeedKind::kNotAsked;
  return Json{
      {"bandwidth_bytes_per_s", number(entry.report.scenario->cluster.network.bandwidth.value())},
      {"need", need_word(need.kind)},
      {"needed_bandwidth_bytes_per_s",
       need.kind == NeedKind::kFound ? number(need.bandwidth_bytes_per_s) : Json(nullptr)},
      {"ideal_step_time_s", asked ? number(need.ideal_step_s) : Json(nullptr)},
  };
}

Json busiest_of(const Entry& entry) {
  const RoleTimes& times = busiest_times(entry);
  return Json{{"pipeline_rank", entry.busiest_role},
              {"compute_s", number(times.compute_s)},
              {"exposed_s", by_traffic(times.exposed_s)},
              {"bubble_s", number(times.bubble_s)},
              {"tail_s", number(times.tail_s)}};
}

Json entry_of(const Entry& entry) {
  const Report& report = entry.report;
  return Json{{"rank", entry.rank},
              {"name", entry.name},
              {"scenario", report.scenario->name},
              {"file", file_name(entry.file)},
              {"schedule", entry.schedule},
              {"model", report.scenario->model.name},
              {"devices", count(report.devices)},
              {"fits", report.fits},
              {"step_time_s", number(report.step_s)},
              {"behind", number(entry.behind)},
              {"tokens_per_s", number(report.tokens_per_s)},
              {"efficiency", number(report.efficiency)},
              {"bubble_makespan_fraction", number(report.bubble_makespan_fraction)},
              {"bubble_span_fraction", number(report.bubble_span_fraction)},
              {"peak_activations", number(most_activations(report))},
              {"peak_memory_bytes", number(report.memory.peak_bytes)},
              {"memory_capacity_bytes", number(report.memory_capacity_bytes)},
              {"messages", most_messages(report)},
              {"message_bytes", number(most(report, &Role::message_bytes))},
              {"restores", most_restores(report)},
              {"restored_bytes", number(most(report, &Role::restored_bytes))},
              {"reductions", most(report, &Role::reductions)},
              {"busiest_role", busiest_of(entry)},
              {"network", need_of(entry)}};
}

void add_counts(Row& row, const Report& report) {
  row.push_back({"peak_activations", field(most_activations(report))});
  row.push_back({"peak_memory_bytes", field(report.memory.peak_bytes)});
  row.push_back({"memory_capacity_bytes", field(report.memory_capacity_bytes)});
  row.push_back({"messages", field(static_cast<double>(most_messages(report)))});
  row.push_back({"message_bytes", field(most(report, &Role::message_bytes))});
  row.push_back({"restores", field(static_cast<double>(most_restores(report)))});
  row.push_back({"restored_bytes", field(most(report, &Role::restored_bytes))});
  row.push_back({"reductions", field(static_cast<double>(most(report, &Role::reductions)))});
}

void add_busiest(Row& row, const Entry& entry) {
  const RoleTimes& times = busiest_times(entry);
  row.push_back({"busiest_pipeline_rank", field(entry.busiest_role)});
  row.push_back({"compute_s", field(times.compute_s)});
  for (const graph::Traffic traffic : kExposedTraffic) {
    std::string name = "exposed_";
    name += word_for(traffic);
    name += "_s";
    row.push_back({std::move(name), field(times.exposed_s[index_of(traffic)])});
  }
  row.push_back({"bubble_s", field(times.bubble_s)});
  row.push_back({"tail_s", field(times.tail_s)});
}

Row row_of(const Entry& entry) {
  const Report& report = entry.report;
  const NetworkNeed& need = entry.need;
  const double network = report.scenario == nullptr ? 0 : report.scenario->cluster.network.bandwidth.value();
  Row row = {{"rank", field(entry.rank)},
             {"name", csv_text(entry.name)},
             {"scenario", report.scenario == nullptr ? "" : csv_text(report.scenario->name)},
             {"file", csv_text(file_name(entry.file))},
             {"schedule", csv_text(entry.schedule)},
             {"model", report.scenario == nullptr ? "" : csv_text(report.scenario->model.name)},
             {"devices", field(report.devices)},
             {"fits", report.fits ? "true" : "false"},
             {"infeasible", ""},
             {"step_time_s", field(report.step_s)},
             {"behind", field(entry.behind)},
             {"tokens_per_s", field(report.tokens_per_s)},
             {"efficiency", field(report.efficiency)},
             {"bubble_makespan_fraction", field(report.bubble_makespan_fraction)},
             {"bubble_span_fraction", field(report.bubble_span_fraction)}};
  add_counts(row, report);
  add_busiest(row, entry);
  row.push_back({"network_bandwidth_bytes_per_s", field(network)});
  row.push_back({"network_need", std::string(need_word(need.kind))});
  row.push_back({"needed_bandwidth_bytes_per_s",
                 need.kind == NeedKind::kFound ? field(need.bandwidth_bytes_per_s) : std::string()});
  row.push_back({"ideal_step_time_s", need.kind == NeedKind::kNotAsked ? std::string() : field(need.ideal_step_s)});
  return row;
}

/// A row of empty fields but for what names the layout and says why it cannot run.
Row row_of(const Refusal& refusal) {
  Row row = row_of(Entry{});
  for (Column& column : row) {
    column.value.clear();
    if (column.name == "name") {
      column.value = csv_text(refusal.name);
    } else if (column.name == "file") {
      column.value = csv_text(file_name(refusal.file));
    } else if (column.name == "infeasible") {
      column.value = csv_text(refusal.reason);
    }
  }
  return row;
}

}  // namespace

std::string to_json(const Ranking& ranking) {
  Json root;
  root["schema"] = "lamina.comparison/1";
  root["ranked_by"] = ranking.by == RankedBy::kStepTime ? "step_time" : "tokens_per_s_and_device";
  const bool has_winner = !ranking.entries.empty() && ranking.entries.front().report.fits;
  root["winner"] = has_winner ? Json(ranking.entries.front().name) : Json(nullptr);
  root["verdict"] = ranking.verdict;
  root["entries"] = Json::array();
  for (const Entry& entry : ranking.entries) {
    if (entry.report.scenario == nullptr) {
      throw error::InternalError("report without a scenario");
    }
    root["entries"].push_back(entry_of(entry));
  }
  root["infeasible"] = Json::array();
  for (const Refusal& refusal : ranking.refusals) {
    root["infeasible"].push_back(
        Json{{"name", refusal.name}, {"file", file_name(refusal.file)}, {"reason", refusal.reason}});
  }
  root["warnings"] = ranking.warnings;
  return document(root);
}

std::string to_csv(const Ranking& ranking) {
  std::string text;
  append_line(text, row_of(Entry{}), &Column::name);
  for (const Entry& entry : ranking.entries) {
    append_line(text, row_of(entry), &Column::value);
  }
  for (const Refusal& refusal : ranking.refusals) {
    append_line(text, row_of(refusal), &Column::value);
  }
  return text;
}

}  // namespace lamina::report
