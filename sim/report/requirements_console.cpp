#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/report/console_style.hpp"
#include "sim/report/format.hpp"
#include "sim/report/names.hpp"
#include "sim/report/requirements.hpp"
#include "sim/report/text.hpp"

/// Tables of what layouts need on the terminal.
namespace lamina::report {

namespace {

constexpr std::size_t kPageColumns = 105;
constexpr std::size_t kLongestName = 42;
const std::vector<std::size_t> kRowWidths = {18, 8, 10, 10, 8, 11, 8, 8, 8};

std::string optional_rate(const std::optional<double>& rate) {
  return rate ? byte_rate(*rate) : "-";
}

std::string times(double ratio) {
  constexpr double kLargest = 999.5;
  return ratio >= kLargest ? std::string("> 999 x") : fmt::format("{} x", three_digits(ratio));
}

std::string label_of(const RequirementRow& row) {
  return row.traffic ? fmt::format("    {}", word_for(*row.traffic))
                     : fmt::format("  {}", fabric::name_of(row.link_class));
}

std::vector<std::string> cells_of(const RequirementRow& row) {
  const bool moves = row.bytes > 0;
  std::vector<std::string> cells = {label_of(row), moves ? decimal_bytes(row.bytes) : "-",
                                    moves ? byte_rate(row.bandwidth_bytes_per_s) : "-",
                                    (row.is_bound ? "> " : "") + optional_rate(row.least_bandwidth_bytes_per_s)};
  cells.push_back(row.least_bandwidth_bytes_per_s ? times(row.bandwidth_bytes_per_s / *row.least_bandwidth_bytes_per_s)
                                                  : "-");
  cells.push_back(optional_rate(row.closed_form_bytes_per_s));
  cells.push_back(row.least_bandwidth_bytes_per_s && row.closed_form_bytes_per_s
                      ? percent(*row.least_bandwidth_bytes_per_s / *row.closed_form_bytes_per_s - 1, true)
                      : "-");
  cells.push_back(row.most_latency_s ? seconds(row.latency_s) : "-");
  cells.push_back(row.most_latency_s ? seconds(*row.most_latency_s) : "-");
  return cells;
}

Tone tone_of(const RequirementRow& row) {
  const bool slow = row.least_bandwidth_bytes_per_s && *row.least_bandwidth_bytes_per_s > row.bandwidth_bytes_per_s;
  const bool late = row.most_latency_s && *row.most_latency_s < row.latency_s;
  return slow || late ? Tone::kNotice : Tone::kPlain;
}

void add_rows(Page& page, const Requirements& layout, double tolerance) {
  page.heading(fmt::format("Needed for a step within {} of the ideal one", percent(tolerance)),
               "per link and direction");
  page.line(page.paint(
      table_row({"", "moved", "bandwidth", "bandwidth", "has /", "closed form", "needs /", "latency", "latency"},
                kRowWidths),
      Tone::kFaint));
  page.line(page.paint(
      table_row({"", "per step", "it has", "it needs", "needs", "needs", "closed", "it has", "at most"}, kRowWidths),
      Tone::kFaint));
  for (const RequirementRow& row : layout.rows) {
    page.line(page.paint(table_row(cells_of(row), kRowWidths), tone_of(row)));
  }
}

void add_sensitivities(Page& page, const Requirements& layout) {
  if (layout.sensitivities.empty()) {
    return;
  }
  const std::vector<std::size_t> widths = {20, 14, 14, 14};
  page.line();
  page.heading("What bandwidth does to the step", "one link class changed, all else as in the scenario");
  page.line(page.paint(table_row({"", "half", "twice", "unlimited"}, widths), Tone::kFaint));
  for (const Sensitivity& row : layout.sensitivities) {
    const std::string name = fmt::format("  {}", fabric::name_of(row.link_class));
    if (!row.measured) {
      page.line(table_row({name, row.used ? "not measured" : "not used", "", ""}, widths));
      continue;
    }
    page.line(
        table_row({name, percent(row.half, true), percent(row.twice, true), percent(row.unlimited, true)}, widths));
  }
}

void add_formulas(Page& page, const Requirements& layout) {
  std::vector<std::string> said;
  for (const RequirementRow& row : layout.rows) {
    if (!row.formula.empty() && row.traffic) {
      const std::string text = fmt::format("{}: {}", word_for(*row.traffic), row.formula);
      if (std::find(said.begin(), said.end(), text) == said.end()) {
        said.push_back(text);
      }
    }
  }
  if (said.empty()) {
    return;
  }
  page.line();
  page.paragraph(fmt::format("Closed forms (arXiv 2106.02679): {}. They hide a transfer behind the compute next to it "
                             "and know no filling of the pipeline, no queue and no other traffic.",
                             fmt::join(said, "; ")),
                 2, 2, Tone::kFaint);
}

void add_layout(Page& page, const Requirements& layout, double tolerance) {
  page.heading(layout.name,
               fmt::format("{}, {}, step {}", layout.schedule, layout.topology, seconds(layout.report.step_s)));
  page.line();
  if (layout.rows.empty()) {
    page.paragraph("Nothing is moved: any network will do, or none.", 2, 2);
  } else {
    add_rows(page, layout, tolerance);
  }
  add_sensitivities(page, layout);
  for (const std::string& warning : layout.warnings) {
    page.line();
    page.paragraph(warning, 2, 2, Tone::kNotice);
  }
  add_formulas(page, layout);
}

std::string need_cell(const RequirementRow* row) {
  return row == nullptr || !row->least_bandwidth_bytes_per_s
             ? "-"
             : fmt::format("{}{}", row->is_bound ? "> " : "", byte_rate(*row->least_bandwidth_bytes_per_s));
}

std::string scale_cell(const RequirementRow* row) {
  return row == nullptr || !row->least_bandwidth_bytes_per_s
             ? "-"
             : fmt::format("{}{}", row->is_bound ? "< " : "",
                           times(row->bandwidth_bytes_per_s / *row->least_bandwidth_bytes_per_s));
}

std::string latency_cell(const RequirementRow* row) {
  return row == nullptr || !row->most_latency_s ? "-" : seconds(*row->most_latency_s);
}

void add_summary(Page& page, const RequirementsDocument& document) {
  std::size_t names = 6;
  for (const Requirements& layout : document.layouts) {
    names = std::max(names, std::min(kLongestName, display_width(printable(layout.name))));
  }
  const std::vector<std::size_t> widths = {names + 2, 8, 10, 10, 8, 9, 10};
  page.heading(fmt::format("Needed for a step within {} of the ideal one", percent(document.tolerance)),
               "all traffic of a link class");
  page.line(page.paint(table_row({"", "", "port", "port", "trunk", "port", "device"}, widths), Tone::kFaint));
  page.line(
      page.paint(table_row({"", "step", "has", "needs", "spare", "latency", "link needs"}, widths), Tone::kFaint));
  for (const Requirements& layout : document.layouts) {
    const RequirementRow* port = whole_row(layout, fabric::LinkClass::kPort);
    const RequirementRow* trunk = whole_row(layout, fabric::LinkClass::kTrunk);
    const RequirementRow* device = whole_row(layout, fabric::LinkClass::kDeviceLink);
    page.line(page.paint(
        table_row({fmt::format("  {}", truncate(printable(layout.name), names)), seconds(layout.report.step_s),
                   port == nullptr || port->bytes == 0 ? "-" : byte_rate(port->bandwidth_bytes_per_s), need_cell(port),
                   scale_cell(trunk), latency_cell(port), need_cell(device)},
                  widths),
        port == nullptr ? Tone::kPlain : tone_of(*port)));
  }
  page.line();
  page.paragraph(
      "trunk spare: how many times less bandwidth between switches would do, or less than so many times (<) "
      "where only the bytes were counted; latency: at most, per message.",
      2, 2, Tone::kFaint);
}

}  // namespace

const RequirementRow* whole_row(const Requirements& layout, fabric::LinkClass link_class) {
  const auto found = std::find_if(layout.rows.begin(), layout.rows.end(), [&](const RequirementRow& row) {
    return row.link_class == link_class && !row.traffic;
  });
  return found == layout.rows.end() ? nullptr : &*found;
}

std::string to_console(const RequirementsDocument& document, bool colour) {
  Page page(colour, kPageColumns);
  if (document.layouts.size() == 1) {
    add_layout(page, document.layouts.front(), document.tolerance);
  } else if (!document.layouts.empty()) {
    add_summary(page, document);
    for (const Requirements& layout : document.layouts) {
      if (document.details) {
        page.line();
        add_layout(page, layout, document.tolerance);
      }
    }
  }
  if (!document.refusals.empty()) {
    page.line();
    page.heading("Cannot run");
    for (const Refusal& refusal : document.refusals) {
      page.paragraph(fmt::format("{}: {}", printable(refusal.name), printable(refusal.reason)), 2, 4);
    }
  }
  return page.text();
}

}  // namespace lamina::report
