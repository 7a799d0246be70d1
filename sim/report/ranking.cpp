#include "sim/report/ranking.hpp"

#include <algorithm>

namespace lamina::report {

const RoleTimes& busiest_times(const Entry& entry) {
  const auto role = static_cast<std::size_t>(entry.busiest_role);
  return role < entry.report.roles.size() ? entry.report.roles[role].times : entry.report.critical_role_times;
}

double most_activations(const Report& report) {
  double most = 0;
  for (const Role& role : report.roles) {
    most = std::max(most, role.peak_activations);
  }
  return most;
}

std::int64_t most_messages(const Report& report) {
  std::int64_t most = 0;
  for (const Role& role : report.roles) {
    most = std::max(most, role.messages);
  }
  return most;
}

std::int64_t most_restores(const Report& report) {
  std::int64_t most = 0;
  for (const Role& role : report.roles) {
    most = std::max(most, role.restores);
  }
  return most;
}

}  // namespace lamina::report
