#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace lamina::validate::ranks {

/// The process that starts ranks, brings them together and tells what became of them. Ends all of them when it goes.
class Coordinator {
 public:
  /// Takes over the sockets. [rank]; `processes`: [rank] children that are ended and waited for, none where they are no
  /// children; `keeper`: one more such child, which has started them.
  Coordinator(std::vector<int> sockets, std::vector<pid_t> processes, pid_t keeper = -1);
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  /// Every rank says hello: with its number and the same fingerprint of its scenario as the others.
  /// @throws EnvironmentError as `serve`, and when two ranks run different scenarios
  void greet(double timeout_s);

  /// Serves the ranks until all have left: brings them together each time that all have come.
  /// @param timeout_s longest time without all ranks having come, asked anew for each round
  /// @param on_report called with what every rank ([rank]) reported
  /// @throws EnvironmentError with rank and reason when one failed, was killed, was silent for too long, or did not do
  /// what the others did; all ranks are ended first
  void serve(const std::function<double()>& timeout_s,
             const std::function<void(const std::vector<std::string>&)>& on_report);

 private:
  struct Contents;

  [[nodiscard]] Contents collect(double timeout_s);
  void answer(const Contents& contents);
  [[noreturn]] void give_up(std::size_t rank, const std::string& reason);
  [[noreturn]] void give_up_on(const std::vector<std::size_t>& ranks, double timeout_s);
  [[noreturn]] void blame(std::size_t rank, const std::string& reason);
  [[nodiscard]] std::string fate(std::size_t rank);
  void end_all(bool failed) noexcept;

  std::vector<int> sockets_;
  std::vector<pid_t> processes_;
  pid_t keeper_;
};

}  // namespace lamina::validate::ranks
