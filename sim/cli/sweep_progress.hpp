#pragma once

#include <chrono>
#include <string>

#include "sim/cli/session.hpp"
#include "sim/cli/signals.hpp"
#include "sim/sweep/run.hpp"

namespace lamina::cli {

/// "1204 of 2000 points, 35/s, 23 s left, best 6.43 s": a line that is redrawn on a terminal, or with `forced` a line
/// every two seconds.
class SweepProgress {
 public:
  SweepProgress(const Session& session, bool forced, std::string figure);

  void show(const sweep::Progress& progress);

 private:
  [[nodiscard]] std::string text_of(const sweep::Progress& progress, double passed_s) const;

  ProgressLine line_;
  bool prints_lines_ = false;
  std::string figure_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace lamina::cli
