#include <cmath>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "sim/report/csv_fields.hpp"
#include "sim/report/json_values.hpp"
#include "validate/hardware_trace/import_report.hpp"

/// What was read from traces, for programs.
namespace lamina::validate::hardware_trace {
namespace {

using report::Json;
using report::number;

Json known(std::int32_t value) {
  return value < 0 ? Json(nullptr) : Json(value);
}

Json rank_of(const RankSummary& rank) {
  Json classes = Json::object();
  for (std::size_t i = 0; i < kEventClasses; ++i) {
    const Amount& amount = rank.classes.at(i);
    if (amount.count > 0) {
      classes[std::string(word_for(static_cast<EventClass>(i)))] =
          Json{{"events", amount.count}, {"time_s", number(amount.seconds)}};
    }
  }
  Json collectives = Json::array();
  for (const CollectiveRow& row : rank.collectives) {
    collectives.push_back(Json{{"name", row.name},
                               {"group", row.group},
                               {"group_size", row.group_size > 0 ? Json(row.group_size) : Json(nullptr)},
                               {"events", row.count},
                               {"sized", row.sized},
                               {"bytes", number(row.bytes)},
                               {"time_s", number(row.seconds)}});
  }
  Json found_in = Json::object();
  for (std::size_t i = 0; i < kDetailSources; ++i) {
    found_in[std::string(word_for(static_cast<DetailSource>(i)))] = rank.found_in.at(i);
  }
  return Json{{"file", std::filesystem::path(rank.file).filename().string()},
              {"format", word_for(rank.format)},
              {"title", rank.title},
              {"rank", known(rank.rank)},
              {"world_size", known(rank.world_size)},
              {"device", known(rank.device)},
              {"device_name", rank.device_name},
              {"records", rank.records},
              {"events", rank.events},
              {"steps", rank.steps},
              {"step_s", rank.steps > 0 ? number(rank.step_s) : Json(nullptr)},
              {"pipeline_actions", rank.actions},
              {"span_s", number(rank.span_s)},
              {"busy_s", number(rank.busy_s)},
              {"compute_s", number(rank.compute_s)},
              {"communication_s", number(rank.communication_s)},
              {"exposed_s", number(rank.exposed_s)},
              {"classes", classes},
              {"communication", collectives},
              {"communication_events", rank.communications},
              {"communication_sized", rank.sized},
              {"described_by", found_in}};
}

Json clock_of(const ClockOffset& clock) {
  return Json{{"offset_ns", clock.bound_ns < 0 ? Json(nullptr) : Json(clock.offset_ns)},
              {"bound_ns", clock.bound_ns < 0 ? Json(nullptr) : Json(clock.bound_ns)},
              {"corrected", clock.corrected}};
}

}  // namespace

std::string to_json(const ImportReport& report) {
  Json ranks = Json::array();
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    Json rank = rank_of(report.ranks[i]);
    rank["clock"] = clock_of(report.clocks.at(i));
    ranks.push_back(std::move(rank));
  }
  Json waiting = Json::array();
  for (const WaitingRow& row : report.waiting) {
    waiting.push_back(Json{{"name", row.name},
                           {"group", row.group},
                           {"instances", row.instances},
                           {"whole", row.complete},
                           {"transfer_s", number(row.transfer_s)},
                           {"waiting_s", number(row.waiting_s)},
                           {"most_waiting_s", number(row.most_waiting_s)}});
  }
  return report::document(Json{{"schema", "lamina.trace_import/1"},
                               {"ranks", ranks},
                               {"matched", report.matched},
                               {"alone", report.alone},
                               {"unmatched", report.uneven},
                               {"waiting", waiting}});
}

std::string to_csv(const ImportReport& report) {
  const auto whole = [](std::int64_t value) { return fmt::format("{}", value); };
  std::string text;
  for (std::size_t i = 0; i < report.ranks.size(); ++i) {
    const RankSummary& rank = report.ranks[i];
    report::Row row = {
        {"file", report::csv_text(std::filesystem::path(rank.file).filename().string())},
        {"format", std::string(word_for(rank.format))},
        {"rank", rank.rank < 0 ? "" : whole(rank.rank)},
        {"world_size", rank.world_size < 0 ? "" : whole(rank.world_size)},
        {"device_name", report::csv_text(rank.device_name)},
        {"events", whole(rank.events)},
        {"steps", whole(rank.steps)},
        {"step_s", rank.steps > 0 ? report::field(rank.step_s) : ""},
        {"span_s", report::field(rank.span_s)},
        {"busy_s", report::field(rank.busy_s)},
        {"compute_s", report::field(rank.compute_s)},
        {"communication_s", report::field(rank.communication_s)},
        {"exposed_s", report::field(rank.exposed_s)},
        {"communication_events", whole(rank.communications)},
        {"communication_sized", whole(rank.sized)},
        {"clock_offset_ns", report.clocks.at(i).bound_ns < 0 ? "" : whole(report.clocks.at(i).offset_ns)},
        {"clock_bound_ns", report.clocks.at(i).bound_ns < 0 ? "" : whole(report.clocks.at(i).bound_ns)}};
    for (std::size_t k = 0; k < kEventClasses; ++k) {
      const std::string name(word_for(static_cast<EventClass>(k)));
      row.push_back({fmt::format("{}_events", name), whole(rank.classes.at(k).count)});
      row.push_back({fmt::format("{}_s", name), report::field(rank.classes.at(k).seconds)});
    }
    if (i == 0) {
      report::append_line(text, row, &report::Column::name);
    }
    report::append_line(text, row, &report::Column::value);
  }
  return text;
}

}  // namespace lamina::validate::hardware_trace
