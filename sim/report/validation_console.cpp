#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/report/console_style.hpp"
#include "sim/report/format.hpp"
#include "sim/report/text.hpp"
#include "sim/report/validation.hpp"

/// A prediction beside an execution on the terminal.
namespace lamina::report {

namespace {

void add_steps(Page& page, const Validation& validation) {
  const std::vector<std::size_t> widths = {32, 10, 10};
  page.line(page.paint(table_row({"", "step", "error"}, widths), Tone::kFaint));
  page.line(table_row({"  measured", seconds(validation.measured_s), ""}, widths));
  page.line(table_row({"  predicted", seconds(validation.predicted_s), percent(validation.error(), true)}, widths));
  if (validation.scenario_s > 0) {
    page.line(table_row(
        {"  as lamina run predicts", seconds(validation.scenario_s), percent(validation.scenario_error(), true)},
        widths));
  }
  page.line(table_row({"  replayed with measured kernels", seconds(validation.structural_s),
                       percent(validation.structural_error(), true)},
                      widths));
  page.line();
  if (validation.repeats > 1) {
    page.paragraph(
        fmt::format("Measured: median of {} repeats, {} to {}; largest error of a replay with a repeat's own "
                    "kernels {}.",
                    validation.repeats, seconds(validation.measured_least_s), seconds(validation.measured_most_s),
                    percent(validation.structural_worst, true)),
        2, 2);
  }
  if (validation.predicted_peak_bytes > 0) {
    page.paragraph(
        fmt::format("Peak memory by the dates of operations: {} predicted, {} measured.",
                    binary_bytes(validation.predicted_peak_bytes), binary_bytes(validation.measured_peak_bytes)),
        2, 2);
  }
  page.paragraph(fmt::format("Transfers beside compute: {} predicted, {} measured.",
                             percent(validation.predicted_hidden), percent(validation.measured_hidden)),
                 2, 2);
}

void add_durations(Page& page, const Validation& validation) {
  const std::vector<std::size_t> widths = {26, 9, 10, 10, 10, 10};
  page.line();
  page.heading("By kind of operation", "medians");
  page.line(page.paint(table_row({"", "bytes", "per step", "predicted", "measured", "error"}, widths), Tone::kFaint));
  for (const DurationRow& row : validation.durations) {
    page.line(table_row({"  " + row.kind, row.bytes > 0 ? decimal_bytes(row.bytes) : "",
                         whole(static_cast<double>(row.operations)), seconds(row.predicted_s), seconds(row.measured_s),
                         row.measured_s > 0 ? percent(row.predicted_s / row.measured_s - 1, true) : "-"},
                        widths));
  }
}

void add_ranks(Page& page, const Validation& validation) {
  const TimeUnit unit = time_unit_for(std::max(validation.measured_s, validation.predicted_s));
  const std::vector<std::size_t> widths = {14, 10, 10, 10, 10, 10, 10};
  const auto exposed = [](const RoleTimes& times) {
    double sum = 0;
    for (const double seconds_of_class : times.exposed_s) {
      sum += seconds_of_class;
    }
    return sum;
  };
  page.line();
  page.heading("By pipeline rank", fmt::format("{}; predicted and measured", unit.name));
  page.line(page.paint(table_row({"", "compute", "", "transfers", "", "waiting", ""}, widths), Tone::kFaint));
  for (const RankRow& row : validation.rank_rows) {
    const auto waiting = [](const RoleTimes& times) { return times.bubble_s + times.tail_s; };
    page.line(table_row({fmt::format("  rank {}", row.pipeline_rank), in_unit(row.predicted.compute_s, unit),
                         in_unit(row.measured.compute_s, unit), in_unit(exposed(row.predicted), unit),
                         in_unit(exposed(row.measured), unit), in_unit(waiting(row.predicted), unit),
                         in_unit(waiting(row.measured), unit)},
                        widths));
  }
}

void add_order(Page& page, const Validation& validation) {
  page.line();
  if (validation.reordered == 0) {
    page.paragraph("Operations began in the order predicted.", 2, 2);
    return;
  }
  page.paragraph(fmt::format("{} operations began in another order than predicted:",
                             whole(static_cast<double>(validation.reordered))),
                 2, 2, Tone::kNotice);
  for (const std::string& text : validation.reorderings) {
    page.paragraph(printable(text), 4, 6);
  }
}

}  // namespace

std::string to_console(const Validation& validation, bool colour) {
  Page page(colour);
  page.heading(printable(validation.name), fmt::format("{} ranks, {} devices", validation.ranks, validation.backend));
  page.line();
  for (const std::string& condition : validation.conditions) {
    page.paragraph(condition, 2, 2, Tone::kFaint);
  }
  if (!validation.conditions.empty()) {
    const std::string taken = whole(static_cast<double>(validation.involuntary_switches));
    page.paragraph(validation.calibrated
                       ? fmt::format("Calibrated kernels vary by {}; cores were taken away {} times.",
                                     percent(validation.calibration_spread), taken)
                       : fmt::format("Not calibrated: predicted by the scenario's own cost model and links; cores were "
                                     "taken away {} times.",
                                     taken),
                   2, 2, Tone::kFaint);
    page.line();
  }
  add_steps(page, validation);
  add_durations(page, validation);
  add_ranks(page, validation);
  add_order(page, validation);
  for (const std::string& warning : validation.warnings) {
    page.line();
    page.paragraph(warning, 2, 2, Tone::kNotice);
  }
  return page.text();
}

}  // namespace lamina::report
