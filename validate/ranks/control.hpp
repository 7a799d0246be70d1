#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace lamina::validate::ranks {

/// What the coordinator answers when all ranks have come.
struct Round {
  std::vector<std::string> contents;  ///< [rank]; empty where the coordinator keeps them to itself
  double start_s = 0;                 ///< monotonic clock of this machine: when all ranks go on together
};

/// A rank's line to the coordinator. When the coordinator is gone, or says that another rank has failed, this process
/// ends at once: it may be waiting for that rank in any way, and the coordinator is the one who tells the user.
class Control {
 public:
  /// Takes `socket` over. `same_machine`: the coordinator's monotonic clock is this one.
  Control(int socket, int rank, std::string_view fingerprint, bool same_machine);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  /// Waits until all ranks have called it as often as this one.
  [[nodiscard]] Round gather(std::string_view content);

  /// Hands the coordinator a result; waits likewise.
  void report(std::string_view result);

  /// A gather without content; returns at the common start.
  /// @return that date on the monotonic clock, seconds
  double start_together();

  /// Tells that this rank cannot go on, and why.
  void fail(std::string_view reason) noexcept;

  /// This rank has finished; the coordinator may go.
  void leave();

 private:
  [[nodiscard]] Round exchange(int type, std::string_view content);
  void listen();

  int socket_;
  bool same_machine_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Round> rounds_;
  bool leaving_ = false;
  std::thread listener_;
};

/// Seconds on the monotonic clock.
[[nodiscard]] double monotonic_s();

/// Sleeps until a date of the monotonic clock.
void sleep_until(double date_s);

}  // namespace lamina::validate::ranks
