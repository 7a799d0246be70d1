#include "sim/lowering/communication_gaps.hpp"

#include "sim/schedule_tables/lowered_table.hpp"

namespace lamina::lowering {

CommunicationGaps communication_gaps(const std::vector<schedules::LoweredAction>& row) {
  CommunicationGaps gaps(1);
  for (const schedules::LoweredAction& action : row) {
    if (schedule_tables::is_compute(action.type)) {
      gaps.emplace_back();
    } else {
      gaps.back().push_back(action);
    }
  }
  return gaps;
}

}  // namespace lamina::lowering
