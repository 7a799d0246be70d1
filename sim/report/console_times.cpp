#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/report/console_sections.hpp"
#include "sim/report/format.hpp"
#include "sim/report/names.hpp"

namespace lamina::report {

namespace {

/// compute, the five exposed classes, bubble, tail.
constexpr std::size_t kParts = 8;
using Parts = std::array<double, kParts>;

const std::vector<std::size_t> kWidths = {12, 8, 8, 7, 7, 7, 7, 7, 7};

/// More groups than this are shown as extremes and mean.
constexpr std::size_t kMostGroups = 8;

/// Differences below this share of the step are invisible in the table.
constexpr double kEqual = 5e-4;

struct Group {
  std::size_t first = 0;  ///< index into Report::roles
  std::size_t last = 0;
};

Parts parts_of(const RoleTimes& times) {
  Parts parts{};
  parts[0] = times.compute_s;
  for (std::size_t i = 0; i < kExposedTraffic.size(); ++i) {
    parts[i + 1] = times.exposed_s[index_of(kExposedTraffic[i])];
  }
  parts[6] = times.bubble_s;
  parts[7] = times.tail_s;
  return parts;
}

bool look_equal(const Role& a, const Role& b, double step_s) {
  const Parts left = parts_of(a.times);
  const Parts right = parts_of(b.times);
  for (std::size_t i = 0; i < kParts; ++i) {
    if (!(std::abs(left[i] - right[i]) <= kEqual * step_s)) {
      return false;
    }
  }
  return true;
}

std::vector<Group> group_roles(const Report& report) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < report.roles.size(); ++i) {
    if (!groups.empty() && look_equal(report.roles[groups.back().first], report.roles[i], report.step_s)) {
      groups.back().last = i;
    } else {
      groups.push_back({i, i});
    }
  }
  return groups;
}

std::vector<std::string> cells_of(std::string label, const Parts& parts, const TimeUnit& unit) {
  std::vector<std::string> cells = {std::move(label)};
  for (const double part : parts) {
    cells.push_back(in_unit(part, unit));
  }
  return cells;
}

void add_row(Page& page, const std::string& label, const Parts& parts, const TimeUnit& unit) {
  page.line("  " + table_row(cells_of(label, parts, unit), kWidths));
}

void add_group(Page& page, const Report& report, const Group& group, const TimeUnit& unit) {
  const Role& first = report.roles[group.first];
  const int last_rank = report.roles[group.last].pipeline_rank;
  const std::string label = group.first == group.last ? fmt::format("rank {}", first.pipeline_rank)
                                                      : fmt::format("rank {}-{}", first.pipeline_rank, last_rank);
  add_row(page, label, parts_of(first.times), unit);
}

/// Column by column over all roles: least, mean, most.
void add_extremes(Page& page, const Report& report, const TimeUnit& unit) {
  Parts least = parts_of(report.roles.front().times);
  Parts most = least;
  Parts mean{};
  for (const Role& role : report.roles) {
    const Parts parts = parts_of(role.times);
    for (std::size_t i = 0; i < kParts; ++i) {
      least[i] = std::min(least[i], parts[i]);
      most[i] = std::max(most[i], parts[i]);
      mean[i] += parts[i] / static_cast<double>(report.roles.size());
    }
  }
  add_row(page, "least of all", least, unit);
  add_row(page, "mean of all", mean, unit);
  add_row(page, "most of all", most, unit);
}

void add_selected(Page& page, const Report& report, const TimeUnit& unit) {
  const std::size_t last = report.roles.size() - 1;
  add_group(page, report, {0, 0}, unit);
  for (std::size_t i = 1; i < last; ++i) {
    if (report.roles[i].pipeline_rank == report.critical_role) {
      add_group(page, report, {i, i}, unit);
    }
  }
  add_group(page, report, {last, last}, unit);
  add_extremes(page, report, unit);
}

void add_share(Page& page, const Report& report) {
  std::vector<std::string> cells = {fmt::format("rank {}, %", report.critical_role)};
  for (const double part : parts_of(report.critical_role_times)) {
    const double share = report.step_s > 0 ? part / report.step_s * 100 : 0;
    cells.push_back(std::abs(share) < 0.05 ? "-" : fmt::format("{:.1f}", share));
  }
  page.line("  " + page.paint(table_row(cells, kWidths), Tone::kFaint));
}

}  // namespace

void add_times(Page& page, const Report& report) {
  if (report.roles.empty()) {
    return;
  }
  const TimeUnit unit = time_unit_for(report.step_s);
  page.line();
  page.heading("Where the time goes", fmt::format("{} per step; transfers count only while compute waits", unit.name));
  page.line("  " + page.paint(table_row({"", "compute", "pipeline", "reduce", "restore", "tensor", "offload", "bubble",
                                         "tail"},
                                        kWidths),
                              Tone::kFaint));
  const std::vector<Group> groups = group_roles(report);
  if (groups.size() <= kMostGroups) {
    for (const Group& group : groups) {
      add_group(page, report, group, unit);
    }
  } else {
    add_selected(page, report, unit);
  }
  add_share(page, report);
  page.paragraph(
      fmt::format("Rank {} ends the step. Pipeline bubble: {} of the makespan, {} of the longest span.",
                  report.critical_role, percent(report.bubble_makespan_fraction), percent(report.bubble_span_fraction)),
      2, 2);
}

void add_critical_path(Page& page, const Report& report) {
  struct Entry {
    std::string_view name;
    double time_s;
  };

  std::vector<Entry> entries = {{"compute", report.critical_path.compute_s}};
  for (const graph::Traffic traffic : kExposedTraffic) {
    entries.push_back({word_for(traffic), report.critical_path.traffic_s[index_of(traffic)]});
  }
  const double longest = std::max_element(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
                           return a.time_s < b.time_s;
                         })->time_s;
  if (!(longest > 0)) {
    return;
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.time_s > b.time_s; });
  std::string text;
  for (const Entry& entry : entries) {
    if (entry.time_s > 0) {
      text += text.empty() ? "" : ", ";
      text += fmt::format("{} {} ({})", entry.name, seconds(entry.time_s), percent(entry.time_s / report.step_s));
    }
  }
  page.paragraph("Critical path: " + text + ".", 2, 4);
}

}  // namespace lamina::report
