#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "sim/report/console_style.hpp"
#include "sim/report/format.hpp"
#include "sim/report/text.hpp"
#include "validate/hardware_trace/import_report.hpp"

/// What was read from traces, on the terminal.
namespace lamina::validate::hardware_trace {
namespace {

using report::Page;
using report::table_row;
using report::Tone;

std::string short_name(const std::string& file) {
  return report::printable(std::filesystem::path(file).filename().string());
}

std::string rank_text(const RankSummary& rank) {
  if (!rank.title.empty()) {
    return report::printable(rank.title);
  }
  if (rank.rank < 0) {
    return "rank not said";
  }
  return rank.world_size > 0 ? fmt::format("rank {} of {}", rank.rank, rank.world_size)
                             : fmt::format("rank {}", rank.rank);
}

std::string share(double part, double whole) {
  return whole > 0 ? report::percent(part / whole) : "-";
}

void add_head(Page& page, const ImportReport& report) {
  const RankSummary& first = report.ranks.front();
  const std::string what =
      report.ranks.size() == 1
          ? fmt::format("{}, {}{}{}", word_for(first.format), rank_text(first), first.device_name.empty() ? "" : ", ",
                        report::printable(first.device_name))
          : fmt::format("{}, {} ranks{}{}", word_for(first.format), report.ranks.size(),
                        first.device_name.empty() ? "" : ", ", report::printable(first.device_name));
  page.heading(short_name(first.file), what);
  std::int64_t records = 0;
  std::int64_t events = 0;
  std::int64_t actions = 0;
  for (const RankSummary& rank : report.ranks) {
    records += rank.records;
    events += rank.events;
    actions += rank.actions;
  }
  std::string text = fmt::format("{} records, {} events on devices", report::whole(static_cast<double>(records)),
                                 report::whole(static_cast<double>(events)));
  if (first.steps > 0) {
    text += fmt::format(", {} step{} of {}", first.steps, first.steps == 1 ? "" : "s", report::seconds(first.step_s));
  }
  if (actions > 0) {
    text += fmt::format(", {} pipeline actions", report::whole(static_cast<double>(actions)));
  }
  page.paragraph(text, 2, 2);
}

void add_times(Page& page, const RankSummary& rank) {
  const std::vector<std::size_t> widths = {34, 12, 10};
  page.line();
  page.line(page.paint(table_row({"", "time", "of span"}, widths), Tone::kFaint));
  const auto row = [&](const char* label, double seconds) {
    page.line(table_row({label, report::seconds(seconds), share(seconds, rank.span_s)}, widths));
  };
  row("  span", rank.span_s);
  row("  busy", rank.busy_s);
  row("  compute kernels", rank.compute_s);
  row("  communication", rank.communication_s);
  row("    exposed", rank.exposed_s);
  row("    beside compute", rank.communication_s - rank.exposed_s);
}

void add_ranks(Page& page, const ImportReport& report) {
  const std::vector<std::size_t> widths = {22, 10, 10, 10, 13, 10};
  page.line();
  page.line(page.paint(table_row({"", "span", "busy", "compute", "communication", "exposed"}, widths), Tone::kFaint));
  for (const RankSummary& rank : report.ranks) {
    page.line(table_row({fmt::format("  {}", report::truncate(rank_text(rank), 20)), report::seconds(rank.span_s),
                         share(rank.busy_s, rank.span_s), share(rank.compute_s, rank.span_s),
                         share(rank.communication_s, rank.span_s), share(rank.exposed_s, rank.span_s)},
                        widths));
  }
}

void add_classes(Page& page, const ImportReport& report) {
  const std::vector<std::size_t> widths = {26, 12, 12, 12};
  std::array<Amount, kEventClasses> sums{};
  double span = 0;
  for (const RankSummary& rank : report.ranks) {
    span += rank.span_s;
    for (std::size_t i = 0; i < kEventClasses; ++i) {
      sums.at(i).count += rank.classes.at(i).count;
      sums.at(i).seconds += rank.classes.at(i).seconds;
    }
  }
  page.line();
  page.heading("By class", report.ranks.size() == 1 ? "sums of durations" : "sums of durations, all ranks");
  page.line(page.paint(table_row({"", "events", "time", "of span"}, widths), Tone::kFaint));
  for (std::size_t i = 0; i < kEventClasses; ++i) {
    const Amount& sum = sums.at(i);
    if (sum.count > 0) {
      page.line(table_row(
          {fmt::format("  {}", word_for(static_cast<EventClass>(i))), report::whole(static_cast<double>(sum.count)),
           report::seconds(sum.seconds), share(sum.seconds, span)},
          widths));
    }
  }
}

std::vector<CollectiveRow> all_collectives(const ImportReport& report) {
  std::map<std::tuple<std::string, std::string, std::int32_t>, CollectiveRow> rows;
  for (const RankSummary& rank : report.ranks) {
    for (const CollectiveRow& row : rank.collectives) {
      const auto [found, is_new] = rows.try_emplace({row.name, row.group, row.group_size}, row);
      if (!is_new) {
        found->second.count += row.count;
        found->second.sized += row.sized;
        found->second.bytes += row.bytes;
        found->second.seconds += row.seconds;
      }
    }
  }
  std::vector<CollectiveRow> result;
  for (auto& [key, row] : rows) {
    result.push_back(std::move(row));
  }
  return result;
}

void add_collectives(Page& page, const ImportReport& report) {
  constexpr std::size_t kListed = 40;
  const std::vector<CollectiveRow> rows = all_collectives(report);
  if (rows.empty()) {
    return;
  }
  const std::vector<std::size_t> widths = {18, 18, 7, 9, 11, 10};
  page.line();
  page.heading("Communication", "waiting included");
  page.line(page.paint(table_row({"", "group", "ranks", "events", "bytes", "time"}, widths, 2), Tone::kFaint));
  for (std::size_t i = 0; i < std::min(rows.size(), kListed); ++i) {
    const CollectiveRow& row = rows[i];
    page.line(table_row(
        {"  " + row.name, row.group.empty() ? "-" : report::truncate(report::printable(row.group), 18),
         row.group_size > 0 ? fmt::format("{}", row.group_size) : "-", report::whole(static_cast<double>(row.count)),
         row.sized > 0 ? report::decimal_bytes(row.bytes) : "-", report::seconds(row.seconds)},
        widths, 2));
  }
  if (rows.size() > kListed) {
    page.paragraph(fmt::format("and {} more groups", rows.size() - kListed), 2, 2);
  }
}

void add_coverage(Page& page, const ImportReport& report) {
  std::int64_t kernels = 0;
  std::int64_t sized = 0;
  std::array<std::int64_t, kDetailSources> found_in{};
  for (const RankSummary& rank : report.ranks) {
    kernels += rank.communications;
    sized += rank.sized;
    for (std::size_t i = 0; i < kDetailSources; ++i) {
      found_in.at(i) += rank.found_in.at(i);
    }
  }
  if (kernels == 0) {
    return;
  }
  page.line();
  page.paragraph(fmt::format("{} of {} communication kernels have a size. Described by: their own arguments {}, the "
                             "operation that launched them {}, their name only {}{}.",
                             sized, kernels, found_in[0], found_in[1], found_in[2],
                             found_in[3] > 0 ? fmt::format(", the timeline {}", found_in[3]) : ""),
                 2, 2);
}

void add_clocks(Page& page, const ImportReport& report) {
  if (report.ranks.size() < 2 || report.ranks.front().format == Format::kTimeline) {
    return;  // a timeline of Lamina has one clock, and no waiting in its spans
  }
  std::int64_t corrected = 0;
  std::int64_t apart = 0;
  std::int64_t most = 0;
  std::int64_t bound = 0;
  for (const ClockOffset& clock : report.clocks) {
    corrected += clock.corrected ? 1 : 0;
    apart += clock.bound_ns < 0 ? 1 : 0;
    if (clock.corrected) {
      most = std::max(most, clock.offset_ns < 0 ? -clock.offset_ns : clock.offset_ns);
    }
    bound = std::max(bound, clock.bound_ns);
  }
  const auto text = [](std::int64_t ns) { return report::seconds(static_cast<double>(ns) * 1e-9); };
  page.line();
  page.heading("Clocks and waiting", fmt::format("{} matched, {} alone", report.matched, report.alone));
  page.paragraph(fmt::format("{} of {} clocks corrected{}; offsets are known to {}{}.", corrected, report.clocks.size(),
                             corrected > 0 ? fmt::format(", by at most {}", text(most)) : "", text(bound),
                             apart > 0 ? fmt::format(", of {} ranks not at all", apart) : ""),
                 2, 2);
  for (const std::string& uneven : report.uneven) {
    page.paragraph(fmt::format("Not matched, ranks recorded different numbers: {}", report::printable(uneven)), 2, 4,
                   Tone::kNotice);
  }
  if (report.waiting.empty()) {
    return;
  }
  const std::vector<std::size_t> widths = {18, 14, 10, 9, 10, 10, 6};
  page.line(page.paint(table_row({"", "group", "instances", "transfer", "waiting", "most", "whole"}, widths, 2),
                       Tone::kFaint));
  for (const WaitingRow& row : report.waiting) {
    page.line(table_row({"  " + row.name, row.group.empty() ? "-" : report::truncate(report::printable(row.group), 14),
                         report::whole(static_cast<double>(row.instances)), report::seconds(row.transfer_s),
                         report::seconds(row.waiting_s), report::seconds(row.most_waiting_s),
                         row.complete == row.instances ? "yes" : "no"},
                        widths, 2));
  }
  page.paragraph("transfer: median; waiting: mean of a rank; whole: all members were recorded", 2, 2, Tone::kFaint);
}

}  // namespace

std::string to_console(const ImportReport& report, bool colour) {
  Page page(colour);
  add_head(page, report);
  if (report.ranks.size() == 1) {
    add_times(page, report.ranks.front());
  } else {
    add_ranks(page, report);
  }
  add_classes(page, report);
  add_collectives(page, report);
  add_coverage(page, report);
  add_clocks(page, report);
  return page.text();
}

}  // namespace lamina::validate::hardware_trace
