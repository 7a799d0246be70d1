#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace lamina::validate::ranks {

/// The process that starts ranks, brings them together and tells what became of them. Ends all of them when it goes.
class Coordinator {
 public:
  /// Takes over the sockets. [rank]; `processes`: children that are ended and waited for, of any number.
  Coordinator(std::vector<int> sockets, std::vector<pid_t> processes);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  /// Every rank says hello: with its number and the same fingerprint of its scenario as the others.
  /// @throws EnvironmentError as `round`, and when two ranks run different scenarios
  void greet(double timeout_s);

  /// Waits for one content of each rank, and lets all go on. `share`: each gets the contents of all.
  /// @return [rank]
  /// @throws EnvironmentError with rank and reason when one failed, was killed, or was silent for `timeout_s`; all
  /// ranks are ended first
  [[nodiscard]] std::vector<std::string> round(bool share, double timeout_s);

  /// All ranks leave.
  /// @throws EnvironmentError as `round`
  void dismiss(double timeout_s);

 private:
  [[nodiscard]] std::vector<std::string> collect(int type, double timeout_s);
  [[noreturn]] void give_up(std::size_t rank, const std::string& reason);
  [[nodiscard]] std::string fate(std::size_t rank);
  void end_all() noexcept;

  std::vector<int> sockets_;
  std::vector<pid_t> processes_;
};

}  // namespace lamina::validate::ranks
