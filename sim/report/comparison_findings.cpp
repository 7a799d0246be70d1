#include "sim/report/comparison_findings.hpp"

#include <functional>
#include <string>

#include <fmt/format.h>

#include "sim/report/format.hpp"

namespace lamina::report {

namespace {

using Accepts = std::function<bool(const Report&)>;

/// Shortest training among the reports that `accepts` allows; nullptr if there is none.
const Report* shortest(const std::vector<Report>& reports, const Accepts& accepts) {
  const Report* best = nullptr;
  for (const Report& report : reports) {
    const bool counts = report.fits && report.training && accepts(report);
    if (counts && (best == nullptr || report.training->days < best->training->days)) {
      best = &report;
    }
  }
  return best;
}

/// The same model for all; a run of another model says nothing about this one.
bool one_model(const std::vector<Report>& reports) {
  for (const Report& report : reports) {
    if (report.scenario->model.name != reports.front().scenario->model.name) {
      return false;
    }
  }
  return !reports.empty();
}

double port_rate(const Report& report) {
  return report.scenario->cluster.network.bandwidth.value();
}

const std::string& network_of(const Report& report) {
  return report.scenario->cluster.network.name;
}

std::string described(const Report& report) {
  return fmt::format("{} days ({}, {})", three_digits(report.training->days), report.schedule, report.scenario->name);
}

/// The same schedule on the slowest network of all, against the best other schedule on the best network.
void add_slow_network(Page& page, const std::vector<Report>& reports, const Report& best, const Report& other) {
  const Report* slow = shortest(reports, [&](const Report& report) {
    return report.schedule == best.schedule && port_rate(report) < port_rate(best);
  });
  if (slow == nullptr) {
    return;
  }
  const double ratio = slow->training->days / best.training->days;
  const bool still_ahead = slow->training->days < other.training->days;
  page.paragraph(
      fmt::format("Network: on {} ({} a port instead of {}) it is {}, {} times the shortest: {} than the best other "
                  "schedule on {}.",
                  network_of(*slow), byte_rate(port_rate(*slow)), byte_rate(port_rate(best)), described(*slow),
                  three_digits(ratio), still_ahead ? "still shorter" : "longer", network_of(other)),
      2, 4);
}

}  // namespace

void add_findings(Page& page, const std::vector<Report>& reports) {
  if (!one_model(reports)) {
    return;
  }
  const Report* best = shortest(reports, [](const Report&) { return true; });
  if (best == nullptr) {
    return;
  }
  const Report* other = shortest(reports, [&](const Report& report) { return report.schedule != best->schedule; });
  if (other == nullptr) {
    return;
  }
  page.line();
  page.heading("What the scenarios say together");
  page.paragraph(
      fmt::format("Time: the shortest training takes {}. The best of the other schedules takes {}, {} times as long.",
                  described(*best), described(*other), three_digits(other->training->days / best->training->days)),
      2, 4);
  add_slow_network(page, reports, *best, *other);
  if (best->memory_capacity_bytes > 0) {
    page.paragraph(fmt::format("Memory: the shortest takes {} of {} device memory ({}); the best other schedule {}.",
                               binary_bytes(best->memory.peak_bytes), binary_bytes(best->memory_capacity_bytes),
                               percent(best->memory.peak_bytes / best->memory_capacity_bytes),
                               binary_bytes(other->memory.peak_bytes)),
                   2, 4);
  }
}

}  // namespace lamina::report
