#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/report/comparison_findings.hpp"
#include "sim/report/console_sections.hpp"
#include "sim/report/format.hpp"
#include "sim/report/report.hpp"
#include "sim/report/text.hpp"

namespace lamina::report {

namespace {

constexpr std::size_t kNameColumns = 17;
const std::vector<std::size_t> kWidths = {kNameColumns, 7, 5, 4, 5, 6, 5, 5, 6, 5, 5};

/// Simulated, published, relative difference.
struct Figure {
  double simulated = 0;
  std::optional<double> published;
};

std::optional<double> published(const Report& report, std::string_view name) {
  for (const ReferenceRow& row : report.reference) {
    if (row.reference.name == name) {
      return row.reference.value;
    }
  }
  return std::nullopt;
}

/// Peak memory, or, when the source gives parts only, the sum of the parts it gives on both sides.
Figure memory_of(const Report& report) {
  if (const auto peak = published(report, "memory.peak_bytes")) {
    return {report.memory.peak_bytes, peak};
  }
  Figure parts;
  for (const ReferenceRow& row : report.reference) {
    if (row.reference.name.starts_with("memory.breakdown_bytes.")) {
      parts.simulated += row.measured;
      parts.published = parts.published.value_or(0) + row.reference.value;
    }
  }
  return parts.published ? parts : Figure{report.memory.peak_bytes, std::nullopt};
}

/// At most five columns: "0.364", "13.4", "6,100", "230k".
std::string short_number(double value) {
  std::string text = three_digits(value);
  if (text.size() > 5) {
    text = scaled(value);
    text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  }
  return text;
}

std::string short_percent(double fraction) {
  const double value = fraction * 100;
  if (!std::isfinite(value)) {
    return "n/a";
  }
  if (std::abs(value) >= 999.5) {
    return value > 0 ? ">999%" : "<-1k%";
  }
  if (std::abs(value) < 0.05) {
    return "0.0%";  // rather than -0.0%
  }
  return fmt::format("{:+.{}f}%", value, std::abs(value) < 9.95 ? 1 : 0);
}

void add_figure(std::vector<std::string>& cells, const std::optional<Figure>& figure, double scale) {
  if (!figure) {
    cells.insert(cells.end(), {"-", "-", "-"});
    return;
  }
  cells.push_back(short_number(figure->simulated * scale));
  if (!figure->published) {
    cells.insert(cells.end(), {"-", "-"});
    return;
  }
  cells.push_back(short_number(*figure->published * scale));
  cells.push_back(short_percent(figure->simulated / *figure->published - 1));
}

void add_row(Page& page, const Report& report, std::string name) {
  constexpr double kPercent = 100;
  constexpr double kGibibyte = 1.0 / (1024.0 * 1024.0 * 1024.0);
  if (display_width(name) > kNameColumns) {  // the whole name on a line of its own rather than half of it
    page.line(truncate(name, kColumns));
    name.clear();
  }
  std::vector<std::string> cells = {name, whole(report.devices)};
  add_figure(cells, Figure{report.efficiency, published(report, "step.efficiency")}, kPercent);
  std::optional<Figure> days;
  if (report.training) {
    days = Figure{report.training->days, published(report, "training.days")};
  }
  add_figure(cells, days, 1);
  add_figure(cells, memory_of(report), kGibibyte);
  page.line(table_row(cells, kWidths));
}

/// "infiniband-3d" of "infiniband-3d-improved"; "" without a dash.
std::string family_of(const Report& report) {
  const std::string& name = report.scenario->name;
  const std::size_t dash = name.rfind('-');
  return dash == std::string::npos || dash == 0 ? std::string() : name.substr(0, dash);
}

/// Neighbours of one family stand under its name.
void add_table(Page& page, const std::vector<Report>& reports) {
  page.line(page.paint(
      pad_left("efficiency, %", kNameColumns + 25) + pad_left("days", 19) + pad_left("memory, GiB", 19), Tone::kFaint));
  page.line(
      page.paint(table_row({"", "devices", "sim", "ref", "off", "sim", "ref", "off", "sim", "ref", "off"}, kWidths),
                 Tone::kFaint));
  for (std::size_t i = 0; i < reports.size();) {
    const std::string family = family_of(reports[i]);
    std::size_t end = i + 1;
    while (end < reports.size() && !family.empty() && family_of(reports[end]) == family) {
      ++end;
    }
    if (end == i + 1) {
      add_row(page, reports[i], printable(reports[i].scenario->name));
    } else {
      page.line(page.paint(truncate(printable(family), kColumns), Tone::kTitle));
      for (std::size_t member = i; member < end; ++member) {
        add_row(page, reports[member], "  " + printable(reports[member].scenario->name.substr(family.size() + 1)));
      }
    }
    i = end;
  }
}

void add_difference(Page& page, const Report& report, const ReferenceRow& row) {
  const Verdict verdict = verdict_of(row);
  const std::string& name = row.reference.name;
  const std::string text = fmt::format("{}, {}: {} simulated, {} published ({}), ", report.scenario->name, name,
                                       readable(name, row.measured), readable(name, row.reference.value),
                                       percent(row.relative_difference, true));
  page.paragraph(text + verdict.word, 2, 4, verdict.tone);
  if (!row.reference.reason.empty()) {
    page.paragraph(row.reference.reason, 6, 6, Tone::kFaint);
  }
}

/// Rows outside their tolerance, with the reasons that their scenarios state.
void add_differences(Page& page, const std::vector<Report>& reports) {
  std::size_t rows = 0;
  std::size_t within = 0;
  for (const Report& report : reports) {
    for (const ReferenceRow& row : report.reference) {
      ++rows;
      within += verdict_of(row).tone == Tone::kGood ? 1U : 0U;
    }
  }
  if (rows == 0) {
    return;
  }
  page.line();
  page.heading(fmt::format("{} of {} published figures agree within their tolerance", within, rows));
  for (const Report& report : reports) {
    for (const ReferenceRow& row : report.reference) {
      if (verdict_of(row).tone != Tone::kGood) {
        add_difference(page, report, row);
      }
    }
  }
}

void add_misfits(Page& page, const std::vector<Report>& reports) {
  bool first = true;
  for (const Report& report : reports) {
    if (report.fits) {
      continue;
    }
    if (first) {
      page.line();
      page.heading("Does not fit into device memory");
      first = false;
    }
    page.paragraph(report.scenario->name + ": " + report.why_not, 2, 4, Tone::kBad);
  }
}

}  // namespace

std::string to_comparison(const std::vector<Report>& reports, bool colour) {
  for (const Report& report : reports) {
    if (report.scenario == nullptr) {
      throw error::InternalError("report without a scenario");
    }
  }
  Page page(colour);
  page.heading(fmt::format("{} scenario{}", reports.size(), reports.size() == 1 ? "" : "s"),
               "sim: simulated, ref: published, off: relative difference");
  page.line();
  add_table(page, reports);
  add_misfits(page, reports);
  add_differences(page, reports);
  add_findings(page, reports);
  return page.text();
}

}  // namespace lamina::report
