#pragma once

#include <memory>
#include <string>

#include "sim/report/ranking.hpp"

namespace lamina::comparison::testing {

/// Entries of one scenario, with what the ranking looks at.
class Layouts {
 public:
  Layouts() {
    scenario_.model.name = "model";
    scenario_.strategy.micro_batches = 8;
  }

  /// One pipeline rank of 10 GiB that is busy with `times`; the step lasts their sum.
  [[nodiscard]] report::Entry entry(const std::string& name, const report::RoleTimes& times) const {
    report::Entry entry;
    entry.name = name;
    entry.report.scenario = &scenario_;
    entry.report.step_s = times.compute_s + times.bubble_s + times.tail_s;
    for (const double exposed : times.exposed_s) {
      entry.report.step_s += exposed;
    }
    entry.report.devices = 8;
    entry.report.tokens_per_step = 4096;
    entry.report.critical_role_times = times;
    report::Role role;
    role.times = times;
    role.peak_activations = 4;
    entry.report.roles = {role};
    entry.report.memory.peak_bytes = 10 * kGibibyte;
    entry.report.memory_capacity_bytes = 80 * kGibibyte;
    return entry;
  }

  [[nodiscard]] report::Entry entry(const std::string& name, double compute_s, double bubble_s) const {
    report::RoleTimes times;
    times.compute_s = compute_s;
    times.bubble_s = bubble_s;
    return entry(name, times);
  }

  [[nodiscard]] scenario::Scenario& scenario() { return scenario_; }

  static constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

 private:
  scenario::Scenario scenario_;
};

}  // namespace lamina::comparison::testing
