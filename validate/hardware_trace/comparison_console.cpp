#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/report/console_style.hpp"
#include "sim/report/format.hpp"
#include "sim/report/text.hpp"
#include "validate/hardware_trace/comparison.hpp"

/// Traces beside a prediction on the terminal.
namespace lamina::validate::hardware_trace {
namespace {

using report::Page;
using report::table_row;
using report::Tone;

std::string number_or_dash(double value) {
  return value < 0 ? "-" : report::three_digits(value);
}

void add_matching(Page& page, const Comparison& comparison) {
  std::string text =
      fmt::format("{} of {} ranks recorded; ", comparison.recorded_ranks, report::whole(comparison.scenario_ranks));
  switch (comparison.how) {
    case MatchedBy::kOperations:
      text = fmt::format("A timeline of Lamina, {} processes; ", comparison.recorded_ranks);
      text += "operations matched by stream, order and name: ";
      break;
    case MatchedBy::kActions:
      text += "compute matched by announced passes, communication by kind and order: ";
      break;
    case MatchedBy::kNothing:
      page.paragraph(text + "compared by class only", 2, 2);
      return;
  }
  text += fmt::format("{} of {}", report::whole(static_cast<double>(comparison.matched)),
                      report::whole(static_cast<double>(comparison.graph_operations)));
  page.paragraph(text, 2, 2);
}

void add_differences(Page& page, const Comparison& comparison) {
  if (comparison.different == 0) {
    return;
  }
  page.line();
  page.paragraph(fmt::format("{} differences:", report::whole(static_cast<double>(comparison.different))), 2, 2,
                 Tone::kNotice);
  for (const std::string& text : comparison.differences) {
    page.paragraph(report::printable(text), 4, 6);
  }
}

void add_counts(Page& page, const Comparison& comparison) {
  const std::vector<std::size_t> widths = {22, 9, 9, 9, 9, 8, 8};
  page.line();
  page.heading("By class", "per rank and step; trace beside graph");
  page.line(page.paint(table_row({"", "count", "", "bytes", "", "time", ""}, widths), Tone::kFaint));
  const auto bytes = [](double value) { return value > 0 ? report::decimal_bytes(value) : "-"; };
  const auto seconds = [](double value) { return value > 0 ? report::seconds(value) : "-"; };
  for (const CountRow& row : comparison.counts) {
    page.line(table_row({fmt::format("  {}", report::truncate(row.kind, 20)), number_or_dash(row.in_trace),
                         number_or_dash(row.in_graph), bytes(row.trace_bytes), bytes(row.graph_bytes),
                         seconds(row.trace_s), seconds(row.graph_s)},
                        widths));
  }
  page.paragraph("time: the trace's holds waiting for other ranks, the graph's does not", 2, 2, Tone::kFaint);
}

void add_partial(Page& page, const Comparison& comparison) {
  const report::Validation& validation = comparison.validation;
  const std::vector<std::size_t> widths = {32, 10, 10};
  page.line();
  page.line(page.paint(table_row({"", "step", "error"}, widths), Tone::kFaint));
  page.line(table_row({"  measured", report::seconds(validation.measured_s), ""}, widths));
  page.line(table_row(
      {"  predicted", report::seconds(validation.predicted_s), report::percent(validation.error(), true)}, widths));
  const bool replayed = std::isfinite(validation.structural_s);
  page.line(table_row({"  replayed with measured kernels", replayed ? report::seconds(validation.structural_s) : "n/a",
                       replayed ? report::percent(validation.structural_error(), true) : ""},
                      widths));
  if (validation.durations.empty()) {
    return;
  }
  const std::vector<std::size_t> columns = {26, 9, 10, 10, 10, 10};
  page.line();
  page.heading("By kind of operation", "medians of what was matched");
  page.line(page.paint(table_row({"", "bytes", "matched", "predicted", "measured", "error"}, columns), Tone::kFaint));
  for (const report::DurationRow& row : validation.durations) {
    page.line(table_row({"  " + row.kind, row.bytes > 0 ? report::decimal_bytes(row.bytes) : "",
                         report::whole(static_cast<double>(row.operations)), report::seconds(row.predicted_s),
                         report::seconds(row.measured_s),
                         row.measured_s > 0 ? report::percent(row.predicted_s / row.measured_s - 1, true) : "-"},
                        columns));
  }
}

}  // namespace

std::string to_console(const Comparison& comparison, bool colour) {
  Page page(colour);
  if (comparison.complete) {
    add_matching(page, comparison);
    add_differences(page, comparison);
    page.line();
    return page.text() + report::to_console(comparison.validation, colour);
  }
  page.heading(report::printable(comparison.validation.name), "recorded beside predicted");
  add_matching(page, comparison);
  add_partial(page, comparison);
  add_counts(page, comparison);
  add_differences(page, comparison);
  for (const std::string& warning : comparison.validation.warnings) {
    page.line();
    page.paragraph(warning, 2, 2, Tone::kNotice);
  }
  return page.text();
}

}  // namespace lamina::validate::hardware_trace
