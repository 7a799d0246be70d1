#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/graph/operation_graph.hpp"
#include "sim/report/validation.hpp"

namespace lamina::validate {

/// "forward", "message", "copy to host", "reduce all_reduce".
[[nodiscard]] std::string kind_of(const graph::Operation& operation);

/// Durations of operations, predicted and measured, gathered by kind and bytes.
class DurationSamples {
 public:
  /// @param measured_s of every repeat
  void add(const graph::Operation& operation, double predicted_s, const std::vector<double>& measured_s);

  /// Medians; no row for operations that take no time in either.
  [[nodiscard]] std::vector<report::DurationRow> rows() const;

 private:
  struct OfKind {
    std::vector<double> predicted_s;
    std::vector<double> measured_s;
  };

  std::map<std::pair<std::string, double>, OfKind> samples_;
};

}  // namespace lamina::validate
