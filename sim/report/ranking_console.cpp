#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/report/console_style.hpp"
#include "sim/report/format.hpp"
#include "sim/report/names.hpp"
#include "sim/report/ranking.hpp"
#include "sim/report/text.hpp"

/// Tables of a ranking on the terminal.
namespace lamina::report {

namespace {

constexpr std::size_t kLongestName = 30;  ///< longer ones stand on a line of their own
constexpr std::size_t kPageColumns = 105;

bool asked_for_needs(const Ranking& ranking) {
  return std::any_of(ranking.entries.begin(), ranking.entries.end(),
                     [](const Entry& entry) { return entry.need.kind != NeedKind::kNotAsked; });
}

std::size_t name_columns(const Ranking& ranking) {
  std::size_t columns = 6;
  for (const Entry& entry : ranking.entries) {
    const std::size_t width = display_width(printable(entry.name));
    if (width <= kLongestName) {
      columns = std::max(columns, width);
    }
  }
  return columns;
}

std::string plain_percent(double fraction) {
  return fmt::format("{:.1f}", fraction * 100);
}

std::string need_text(const Entry& entry) {
  switch (entry.need.kind) {
    case NeedKind::kNone:
      return "none";
    case NeedKind::kFound:
      return byte_rate(entry.need.bandwidth_bytes_per_s);
    case NeedKind::kMoreThanAny:
      return "beyond any";
    case NeedKind::kNotAsked:
      break;
  }
  return "-";
}

/// One table: rows of cells behind a name, with a heading of two lines.
class Table {
 public:
  Table(Page& page, std::size_t name_columns, std::vector<std::size_t> widths)
      : page_(&page), name_columns_(name_columns), widths_(std::move(widths)) {}

  void heading(const std::vector<std::string>& cells) const {
    page_->line(page_->paint(line_of("", "", cells), Tone::kFaint));
  }

  /// What several columns have in common, over the heading: text and number of columns.
  void groups(const std::vector<std::pair<std::string, std::size_t>>& spans) const {
    std::string text = line_of("", "", {""}).substr(0, name_columns_ + 5);
    std::size_t column = 0;
    for (const auto& [name, columns] : spans) {
      std::size_t width = 0;
      for (std::size_t i = 0; i < columns; ++i) {
        width += widths_[column++] + 1;
      }
      text += pad_left(name, width);
    }
    page_->line(page_->paint(text, Tone::kFaint));
  }

  void row(const std::string& rank, const std::string& name, const std::vector<std::string>& cells, Tone tone) const {
    std::string shown = printable(name);
    if (display_width(shown) > name_columns_) {
      page_->line(page_->paint(line_of(rank, "", {}) + truncate(shown, kPageColumns - 5), tone));
      shown.clear();
      page_->line(line_of("", shown, cells));
      return;
    }
    page_->line(page_->paint(line_of(rank, shown, {}), tone) + cells_of(cells));
  }

 private:
  [[nodiscard]] std::string line_of(const std::string& rank, const std::string& name,
                                    const std::vector<std::string>& cells) const {
    return fmt::format("{} {}{}", pad_left(rank, 4), cells.empty() ? name_part(name) : pad_right(name, name_columns_),
                       cells_of(cells));
  }

  [[nodiscard]] std::string name_part(const std::string& name) const {
    return name.empty() ? std::string() : pad_right(name, name_columns_);
  }

  [[nodiscard]] std::string cells_of(const std::vector<std::string>& cells) const {
    std::string text;
    for (std::size_t i = 0; i < cells.size() && i < widths_.size(); ++i) {
      text += ' ';
      text += pad_left(cells[i], widths_[i]);
    }
    return text;
  }

  Page* page_;
  std::size_t name_columns_;
  std::vector<std::size_t> widths_;
};

std::string rank_text(const Ranking& ranking, std::size_t index) {
  const int rank = ranking.entries[index].rank;
  const bool shared = (index > 0 && ranking.entries[index - 1].rank == rank) ||
                      (index + 1 < ranking.entries.size() && ranking.entries[index + 1].rank == rank);
  return fmt::format("{}{}", rank, shared ? "=" : " ");
}

std::vector<std::string> figures_of(const Entry& entry, bool needs) {
  const Report& report = entry.report;
  constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
  std::vector<std::string> cells = {seconds(report.step_s),
                                    entry.behind == 0 ? "" : percent(entry.behind, true),
                                    plain_percent(report.bubble_makespan_fraction),
                                    plain_percent(report.bubble_span_fraction),
                                    three_digits(most_activations(report)),
                                    three_digits(report.memory.peak_bytes / kGibibyte),
                                    whole(static_cast<double>(most_messages(report))),
                                    whole(static_cast<double>(most_restores(report)))};
  if (needs) {
    cells.push_back(need_text(entry));
  }
  return cells;
}

/// Calls `row(index)` for all entries, those that do not fit under a line that says so.
template <class RowOf>
void for_each_entry(Page& page, const Ranking& ranking, RowOf row) {
  bool fitted = true;
  for (std::size_t i = 0; i < ranking.entries.size(); ++i) {
    const Entry& entry = ranking.entries[i];
    if (fitted && !entry.report.fits) {
      page.line(page.paint(
          fmt::format("     does not fit into {} of memory", binary_bytes(entry.report.memory_capacity_bytes)),
          Tone::kNotice));
      fitted = false;
    }
    row(i);
  }
}

Tone tone_of(const Ranking& ranking, const Entry& entry) {
  return entry.report.fits && entry.rank == ranking.entries.front().rank ? Tone::kGood : Tone::kPlain;
}

void add_figures(Page& page, const Ranking& ranking, std::size_t names) {
  const bool needs = asked_for_needs(ranking);
  const Table table(page, names, {8, 8, 8, 5, 6, 6, 8, 8, 10});
  std::vector<std::pair<std::string, std::size_t>> over = {
      {"", 2}, {"bubble, %", 2}, {"peak", 1}, {"memory", 1}, {"per rank and step", 2}};
  std::vector<std::string> under = {"step", "behind", "makespan", "span", "activ.", "GiB", "messages", "restores"};
  if (needs) {
    over.emplace_back("network", 1U);
    under.emplace_back("needed");
  }
  table.groups(over);
  table.heading(under);
  for_each_entry(page, ranking, [&](std::size_t i) {
    const Entry& entry = ranking.entries[i];
    table.row(rank_text(ranking, i), entry.name, figures_of(entry, needs), tone_of(ranking, entry));
  });
}

void add_times(Page& page, const Ranking& ranking, std::size_t names) {
  const bool needs = asked_for_needs(ranking);
  const TimeUnit unit = time_unit_for(ranking.entries.front().report.step_s);
  page.line();
  page.heading(fmt::format("Where the step of the busiest rank goes, {}", unit.name),
               "other than compute: time in which compute stands still");
  const Table table(page, names, {4, 8, 8, 8, 7, 7, 7, 7, 7, 8});
  std::vector<std::string> head = {"rank",    "compute", "bubble",  "pipeline", "reduce",
                                   "restore", "tensor",  "offload", "tail"};
  if (needs) {
    head.emplace_back("network");
  }
  table.heading(head);
  for_each_entry(page, ranking, [&](std::size_t i) {
    const Entry& entry = ranking.entries[i];
    const RoleTimes& times = busiest_times(entry);
    std::vector<std::string> cells = {whole(entry.busiest_role), in_unit(times.compute_s, unit),
                                      in_unit(times.bubble_s, unit)};
    for (const graph::Traffic traffic : kExposedTraffic) {
      cells.push_back(in_unit(times.exposed_s[index_of(traffic)], unit));
    }
    cells.push_back(in_unit(times.tail_s, unit));
    if (needs) {
      cells.push_back(in_unit(entry.report.step_s - entry.need.ideal_step_s, unit));
    }
    table.row(rank_text(ranking, i), entry.name, cells, tone_of(ranking, entry));
  });
}

void add_refusals(Page& page, const Ranking& ranking) {
  if (ranking.refusals.empty()) {
    return;
  }
  page.line();
  page.heading("Cannot run");
  for (const Refusal& refusal : ranking.refusals) {
    page.paragraph(fmt::format("{}: {}", refusal.name, refusal.reason), 2, 4);
  }
}

void add_legend(Page& page, const Ranking& ranking) {
  if (asked_for_needs(ranking)) {
    page.line();
    page.paragraph(
        "network needed: least bandwidth of a port at which the step is at most 5 % longer than on an ideal network "
        "(no limit, no latency). network: what the network costs in all, also through later work of other ranks.",
        2, 2, Tone::kFaint);
  }
}

/// "llama-3-8b, 64 devices, infiniband-hdr (25.0 GB/s a port)" of what all entries have in common.
std::string common_ground(const Ranking& ranking) {
  const Report& first = ranking.entries.front().report;
  const auto all = [&](auto same) {
    return std::all_of(ranking.entries.begin(), ranking.entries.end(),
                       [&](const Entry& entry) { return same(entry.report); });
  };
  std::string text;
  const auto add = [&text](const std::string& part) {
    text += text.empty() ? "" : ", ";
    text += part;
  };
  if (all([&](const Report& report) { return report.scenario->model.name == first.scenario->model.name; })) {
    add(first.scenario->model.name);
  }
  if (all([&](const Report& report) { return report.devices == first.devices; })) {
    add(fmt::format("{} devices", whole(first.devices)));
  }
  const scenario::Network& network = first.scenario->cluster.network;
  if (all([&](const Report& report) {
        return report.scenario->cluster.network.name == network.name &&
               report.scenario->cluster.network.bandwidth.value() == network.bandwidth.value();
      })) {
    add(fmt::format("{} ({} a port)", network.name, byte_rate(network.bandwidth.value())));
  }
  return text;
}

}  // namespace

std::string to_console(const Ranking& ranking, bool colour) {
  Page page(colour, kPageColumns);
  if (ranking.entries.empty()) {
    page.heading("Nothing can run");
    add_refusals(page, ranking);
    return page.text();
  }
  for (const Entry& entry : ranking.entries) {
    if (entry.report.scenario == nullptr) {
      throw error::InternalError("report without a scenario");
    }
  }
  const std::size_t layouts = ranking.entries.size();
  page.heading(fmt::format("{} layout{} by {}", layouts, layouts == 1 ? "" : "s",
                           ranking.by == RankedBy::kStepTime ? "step time" : "tokens per second and device"),
               common_ground(ranking));
  page.line();
  page.paragraph(ranking.verdict, 2, 2);
  for (const std::string& warning : ranking.warnings) {
    page.paragraph(warning, 2, 2, Tone::kNotice);
  }
  page.line();
  const std::size_t names = name_columns(ranking);
  add_figures(page, ranking, names);
  add_times(page, ranking, names);
  add_refusals(page, ranking);
  add_legend(page, ranking);
  return page.text();
}

}  // namespace lamina::report
