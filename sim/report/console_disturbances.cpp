#include <string>

#include <fmt/format.h>

#include "sim/report/console_sections.hpp"
#include "sim/report/format.hpp"
#include "sim/report/text.hpp"

namespace lamina::report {

void add_disturbances(Page& page, const Report& report) {
  if (report.disturbances.empty()) {
    return;
  }
  page.line();
  page.heading("Disturbances", "");
  for (const std::string& line : report.disturbances) {
    page.paragraph(printable(line) + ".", 2, 4);
  }
  if (report.distribution) {
    const StepDistribution& times = *report.distribution;
    page.paragraph(fmt::format("Step time over {} repeats with jitter: mean {}, p50 {}, p99 {}, least {}, most {}; {} "
                               "without. All other figures are without jitter.",
                               times.repeats, seconds(times.mean_s), seconds(times.p50_s), seconds(times.p99_s),
                               seconds(times.least_s), seconds(times.most_s), seconds(report.step_s)),
                   2, 4);
  }
}

}  // namespace lamina::report
