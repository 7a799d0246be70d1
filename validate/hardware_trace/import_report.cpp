#include "validate/hardware_trace/import_report.hpp"

#include "validate/hardware_trace/instances.hpp"

namespace lamina::validate::hardware_trace {

ImportReport make_report(std::vector<RankTrace>& traces) {
  ImportReport report;
  const Matched matched = match_instances(traces);
  report.clocks = estimate_offsets(traces, matched);
  align(traces, report.clocks);
  report.waiting = waiting_rows(traces, matched);
  report.matched = static_cast<std::int64_t>(matched.instances.size());
  report.alone = matched.alone;
  report.uneven = matched.uneven;
  for (const RankTrace& trace : traces) {
    report.ranks.push_back(summarise(trace));
  }
  return report;
}

}  // namespace lamina::validate::hardware_trace
