#include "sim/report/console_sections.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "sim/report/format.hpp"
#include "sim/report/names.hpp"
#include "sim/report/text.hpp"

namespace lamina::report {

namespace {

constexpr std::size_t kBarColumns = 30;
constexpr std::size_t kNoteColumns = 12;  // what a memory row leaves of the page

/// The longest name, memory.breakdown_bytes.checkpoints, has 34 columns.
const std::vector<std::size_t> kReferenceWidths = {34, 9, 9, 8};

std::string spoken(fabric::LinkClass link_class) {
  switch (link_class) {
    case fabric::LinkClass::kDeviceLink:
      return "device link";
    case fabric::LinkClass::kHostPath:
      return "host path";
    case fabric::LinkClass::kPort:
      return "network port";
    case fabric::LinkClass::kTrunk:
      return "switch trunk";
  }
  return "";
}

std::string spoken(graph::MemoryCategory category) {
  std::string word(word_for(category));
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}

/// Pipeline rank with the highest peak: the one that Report::memory describes.
int fullest_rank(const Report& report) {
  const auto fullest = std::max_element(report.roles.begin(), report.roles.end(), [](const Role& a, const Role& b) {
    return a.memory.peak_bytes < b.memory.peak_bytes;
  });
  return fullest == report.roles.end() ? 0 : fullest->pipeline_rank;
}

/// `note` stands behind the bar, which is then filled up to its full length.
void add_memory_bar(Page& page, const std::string& label, double bytes, double whole_bytes, const std::string& note) {
  const double share = whole_bytes > 0 ? bytes / whole_bytes : 0;
  std::string picture = bar(share, kBarColumns);
  if (!note.empty()) {
    for (std::size_t column = display_width(picture); column < kBarColumns; ++column) {
      picture += "░";
    }
    picture += ' ';
    picture += truncate(note, kNoteColumns);
  }
  page.line("  " + table_row({label, binary_bytes(bytes), percent(share)}, {13, 9, 8}) + "  " +
            page.paint(picture, Tone::kFaint));
}

void add_reference_row(Page& page, const ReferenceRow& row) {
  const scenario::ReferenceValue& reference = row.reference;
  const Verdict verdict = verdict_of(row);
  page.line("  " +
            table_row({printable(reference.name), readable(reference.name, row.measured),
                       readable(reference.name, reference.value), percent(row.relative_difference, true)},
                      kReferenceWidths) +
            "  " + page.paint(verdict.word, verdict.tone));
  if (!reference.reason.empty() && std::abs(row.relative_difference) > reference.tolerance) {
    const std::string stated = reference.expected_difference
                                   ? fmt::format("{} is expected: ", percent(*reference.expected_difference, true))
                                   : std::string();
    page.paragraph(stated + reference.reason, 4, 4, Tone::kFaint);
  }
}

std::string folding(const Report& report) {
  if (!report.folded) {
    return fmt::format("all {} ranks simulated", whole(report.devices));
  }
  return fmt::format("{} ranks folded to {}", whole(report.devices),
                     whole(static_cast<double>(report.simulated_ranks)));
}

}  // namespace

void add_network(Page& page, const Report& report) {
  if (std::none_of(report.links.begin(), report.links.end(), [](const LinkLoad& load) { return load.bytes != 0; })) {
    return;
  }
  const std::vector<std::size_t> widths = {13, 9, 10, 10, 10, 10, 8};
  page.line();
  page.heading("Network", "bytes and rates per step through the busiest link of each class");
  page.line("  " + page.paint(table_row({"", "links", "bandwidth", "bytes", "average", "peak", "busy"}, widths),
                              Tone::kFaint));
  for (const LinkLoad& load : report.links) {
    if (load.bytes == 0) {
      continue;  // unused classes are in the JSON report
    }
    const double busy = load.bandwidth_bytes_per_s > 0 ? load.average_bytes_per_s / load.bandwidth_bytes_per_s : 0;
    page.line("  " + table_row({spoken(load.link_class), whole(load.links), byte_rate(load.bandwidth_bytes_per_s),
                                decimal_bytes(load.bytes), byte_rate(load.average_bytes_per_s),
                                byte_rate(load.peak_bytes_per_s), percent(busy)},
                               widths));
  }
}

void add_memory(Page& page, const Report& report) {
  if (!(report.memory.peak_bytes > 0)) {
    return;
  }
  page.line();
  const std::string& operation = report.memory.peak_operation;
  page.heading("Memory", fmt::format("peak of rank {} at {}{}{}", fullest_rank(report),
                                     seconds(report.memory.peak_time_s), operation.empty() ? "" : ": ", operation));
  for (const graph::MemoryCategory category : kMemoryOrder) {
    const double bytes = report.memory.breakdown_bytes[index_of(category)];
    if (bytes != 0) {
      add_memory_bar(page, spoken(category), bytes, report.memory.peak_bytes, "");
    }
  }
  if (report.memory_capacity_bytes > 0) {
    add_memory_bar(page, "peak", report.memory.peak_bytes, report.memory_capacity_bytes,
                   "of " + binary_bytes(report.memory_capacity_bytes));
  }
}

Verdict verdict_of(const ReferenceRow& row) {
  if (!row.agrees) {
    return {"differs", Tone::kBad};
  }
  const bool within_tolerance = std::abs(row.relative_difference) <= row.reference.tolerance;
  return within_tolerance ? Verdict{"agrees", Tone::kGood} : Verdict{"as stated", Tone::kNotice};
}

std::string readable(std::string_view name, double value) {
  const auto mentions = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (mentions("bytes_per_s")) {
    return byte_rate(value);
  }
  if (mentions("bytes")) {
    return binary_bytes(value);
  }
  if (name.ends_with("_per_s")) {
    return scaled(value);
  }
  if (name.ends_with("_s") || mentions("_s.")) {
    return seconds(value);
  }
  return three_digits(value);
}

void add_reference(Page& page, const Report& report) {
  if (report.reference.empty()) {
    return;
  }
  const bool has_source = report.scenario->reference.has_value();
  page.line();
  page.heading("Reference", has_source ? report.scenario->reference->source : "");
  page.line("  " + page.paint(table_row({"", "simulated", "published", "off by"}, kReferenceWidths), Tone::kFaint));
  for (const ReferenceRow& row : report.reference) {
    add_reference_row(page, row);
  }
}

void add_warnings(Page& page, const Report& report) {
  if (report.warnings.empty()) {
    return;
  }
  page.line();
  for (const std::string& warning : report.warnings) {
    page.paragraph("Warning: " + warning, 0, 2, Tone::kNotice);
  }
}

void add_models(Page& page, const Report& report) {
  const scenario::Simulation& simulation = report.scenario->simulation;
  const double slowdown = simulation.communication_slowdown;
  std::string text =
      fmt::format("compute {}, {}; collectives {}, {} form; network {} (", report.cost_model,
                  slowdown > 0 ? percent(slowdown) + " slower beside transfers" : "not slowed by transfers",
                  report.collectives, word_for(simulation.collective_form), report.transport);
  text += report.topology.empty() ? report.scenario->cluster.topology.name : report.topology;
  text += fmt::format("); {}, {} activities", folding(report), whole(static_cast<double>(report.activities)));
  page.line();
  page.paragraph("Models: " + text + ".", 0, 2, Tone::kFaint);
}

}  // namespace lamina::report
