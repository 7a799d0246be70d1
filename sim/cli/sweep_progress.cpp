#include "sim/cli/sweep_progress.hpp"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "sim/report/format.hpp"

namespace lamina::cli {

SweepProgress::SweepProgress(const Session& session, bool forced, std::string figure)
    : line_(session.show_progress),
      prints_lines_(forced && !session.show_progress),
      figure_(std::move(figure)),
      start_(std::chrono::steady_clock::now()),
      next_(start_) {}

std::string SweepProgress::text_of(const sweep::Progress& progress, double passed_s) const {
  std::string text = fmt::format("{} of {} points", progress.done, progress.total);
  const auto fresh = static_cast<double>(progress.done - progress.resumed);
  if (fresh > 0 && passed_s > 0) {
    const double rate = fresh / passed_s;
    text += fmt::format(", {:.3g}/s, {:.0f} s left", rate, static_cast<double>(progress.total - progress.done) / rate);
  }
  if (progress.best) {
    text += figure_ == "step_time_s" ? fmt::format(", best {}", report::seconds(*progress.best))
                                     : fmt::format(", best {:.4g}", *progress.best);
  }
  return text;
}

void SweepProgress::show(const sweep::Progress& progress) {
  constexpr std::chrono::milliseconds kRedraw{200};
  constexpr std::chrono::milliseconds kPrint{2000};
  const auto now = std::chrono::steady_clock::now();
  const bool last = progress.done == progress.total;
  if (now < next_ && !(last && prints_lines_)) {
    return;
  }
  next_ = now + (prints_lines_ ? kPrint : kRedraw);
  const std::string text = text_of(progress, std::chrono::duration<double>(now - start_).count());
  line_.show(text + ";");
  if (prints_lines_) {
    fmt::print(stderr, "{}\n", text);
  }
}

}  // namespace lamina::cli
