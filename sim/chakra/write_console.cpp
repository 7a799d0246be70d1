#include <fmt/format.h>

#include "sim/chakra/write.hpp"
#include "sim/report/console_style.hpp"
#include "sim/report/csv_fields.hpp"
#include "sim/report/format.hpp"
#include "sim/report/json_values.hpp"
#include "sim/report/names.hpp"
#include "sim/report/text.hpp"

namespace lamina::chakra {
namespace {

using report::Page;
using report::Tone;

void add_times(Page& page, const TraceReport& report) {
  const report::TimeUnit unit = report::time_unit_for(report.step_s);
  const std::vector<std::size_t> widths = {22, 10, 10, 10};
  page.line();
  page.heading("Time of a rank", fmt::format("{}; least, median and most over ranks", unit.name));
  page.line("  " + page.paint(report::table_row({"", "least", "median", "most"}, widths), Tone::kFaint));
  const auto row = [&](const char* name, const Spread& spread) {
    page.line("  " + report::table_row({name, report::in_unit(spread.least, unit), report::in_unit(spread.median, unit),
                                        report::in_unit(spread.most, unit)},
                                       widths));
  };
  row("compute", report.compute_s);
  row("exposed communication", report.exposed_s);
  row("waiting", report.waiting_s);
}

void add_links(Page& page, const TraceReport& report) {
  const std::vector<std::size_t> widths = {13, 9, 10, 10, 10, 10, 8};
  bool first = true;
  for (const report::LinkLoad& load : report.links) {
    if (load.bytes == 0) {
      continue;
    }
    if (first) {
      page.line();
      page.heading("Network", "bytes and rates per step through the busiest link of each class");
      page.line("  " +
                page.paint(report::table_row({"", "links", "bandwidth", "bytes", "average", "peak", "busy"}, widths),
                           Tone::kFaint));
      first = false;
    }
    page.line("  " +
              report::table_row({std::string(report::word_for(load.link_class)), report::whole(load.links),
                                 report::byte_rate(load.bandwidth_bytes_per_s), report::decimal_bytes(load.bytes),
                                 report::byte_rate(load.average_bytes_per_s), report::byte_rate(load.peak_bytes_per_s),
                                 report::percent(load.average_bytes_per_s / load.bandwidth_bytes_per_s)},
                                widths));
  }
}

void add_counts(Page& page, const TraceReport& report) {
  page.line();
  page.heading("Communication", "each message and collective once; payloads in all");
  if (report.messages > 0) {
    page.line(fmt::format("  {} message{}, {}", report::whole(static_cast<double>(report.messages)),
                          report.messages == 1 ? "" : "s", report::decimal_bytes(report.message_bytes)));
  }
  for (std::size_t kind = 0; kind < report.collectives.size(); ++kind) {
    const CollectiveCount& entry = report.collectives[kind];
    if (entry.collectives > 0) {
      page.line(fmt::format("  {} x {}, {}", report::whole(static_cast<double>(entry.collectives)),
                            graph::name_of(static_cast<graph::CollectiveKind>(kind)),
                            report::decimal_bytes(entry.bytes)));
    }
  }
}

}  // namespace

std::string to_console(const TraceReport& report, bool colour) {
  Page page(colour);
  page.heading(report::printable(report.trace), fmt::format("on {}", report::printable(report.name)));
  page.line();
  page.line("  step time " + page.paint(report::seconds(report.step_s), Tone::kGood));
  page.paragraph(fmt::format("{} ranks on {} devices, {} nodes; {}", report::whole(static_cast<double>(report.ranks)),
                             report::whole(static_cast<double>(report.devices)),
                             report::whole(static_cast<double>(report.nodes)), report::printable(report.network)),
                 2, 2);
  add_times(page, report);
  if (report.messages > 0 || report.activities > 0) {
    add_counts(page, report);
  }
  add_links(page, report);
  if (!report.disturbances.empty()) {
    page.line();
    page.heading("Disturbances", "");
    for (const std::string& line : report.disturbances) {
      page.paragraph(report::printable(line) + ".", 2, 4);
    }
  }
  for (const std::string& warning : report.warnings) {
    page.line();
    page.paragraph("warning: " + report::printable(warning), 2, 4, Tone::kNotice);
  }
  page.line();
  page.paragraph(
      fmt::format("Transport {}, collectives {}. {} different programs; {} of {} ranks replayed, one of each "
                  "class.",
                  report.transport, report.algorithm, report.programs, report.replayed_ranks, report.ranks),
      2, 2, Tone::kFaint);
  return page.text();
}

std::string to_json(const TraceReport& report) {
  using report::Json;
  using report::number;
  Json root;
  root["schema"] = "lamina.chakra_run/1";
  root["name"] = report.name;
  root["cluster_file"] = report.cluster;
  root["trace"] = report.trace;
  root["step_s"] = number(report.step_s);
  root["ranks"] = report.ranks;
  root["devices"] = report.devices;
  root["nodes"] = report.nodes;
  root["programs"] = report.programs;
  root["replayed_ranks"] = report.replayed_ranks;
  root["activities"] = report.activities;
  root["transport"] = report.transport;
  root["collective_algorithm"] = report.algorithm;
  root["network"] = report.network;
  const auto spread = [](const Spread& value) {
    return Json{{"least", number(value.least)}, {"median", number(value.median)}, {"most", number(value.most)}};
  };
  root["per_rank_s"] = Json{{"compute", spread(report.compute_s)},
                            {"exposed", spread(report.exposed_s)},
                            {"waiting", spread(report.waiting_s)}};
  root["messages"] = Json{{"count", report.messages}, {"bytes", number(report.message_bytes)}};
  Json collectives = Json::object();
  for (std::size_t kind = 0; kind < report.collectives.size(); ++kind) {
    const CollectiveCount& entry = report.collectives[kind];
    collectives[std::string(report::word_for(static_cast<graph::CollectiveKind>(kind)))] =
        Json{{"count", entry.collectives}, {"bytes", number(entry.bytes)}};
  }
  root["collectives"] = std::move(collectives);
  Json links = Json::array();
  for (const report::LinkLoad& load : report.links) {
    links.push_back(Json{{"class", report::word_for(load.link_class)},
                         {"links", report::count(load.links)},
                         {"bandwidth_bytes_per_s", number(load.bandwidth_bytes_per_s)},
                         {"busiest_bytes", number(load.bytes)},
                         {"busiest_average_bytes_per_s", number(load.average_bytes_per_s)},
                         {"busiest_peak_bytes_per_s", number(load.peak_bytes_per_s)}});
  }
  root["links"] = std::move(links);
  root["disturbances"] = report.disturbances;
  root["warnings"] = report.warnings;
  return report::document(root);
}

std::string to_csv(const TraceReport& report) {
  std::string text;
  for (std::size_t rank = 0; rank < report.rank_times.size(); ++rank) {
    const RankTimes& times = report.rank_times[rank];
    const report::Row row = {{"rank", fmt::format("{}", rank)},
                             {"step_s", report::field(report.step_s)},
                             {"compute_s", report::field(times.compute_s)},
                             {"exposed_s", report::field(times.exposed_s)},
                             {"waiting_s", report::field(times.waiting_s)},
                             {"tail_s", report::field(times.tail_s)}};
    if (rank == 0) {
      report::append_line(text, row, &report::Column::name);
    }
    report::append_line(text, row, &report::Column::value);
  }
  return text;
}

}  // namespace lamina::chakra
