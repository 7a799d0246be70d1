#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "sim/sweep/workers.hpp"

namespace lamina::sweep {

/// One forked process at the other end of a socket. Frames: 8 bytes task; back 8 bytes length, with the top
/// bit set for the last answer of the process, and the text.
class WorkerProcess {
 public:
  /// Forks. The child closes `others` (the parent's ends towards other workers) and serves until the socket closes or
  /// `is_spent` (may be empty) says so after a task. @throws EnvironmentError
  WorkerProcess(const std::function<std::string(Task)>& work, const std::vector<int>& others,
                const std::function<bool()>& is_spent);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();  ///< ends the process

  [[nodiscard]] int socket() const { return socket_; }

  [[nodiscard]] const std::deque<Task>& tasks() const { return tasks_; }

  /// The answer taken last is the last of this process; what else it was given is not served.
  [[nodiscard]] bool is_spent() const { return spent_; }

  void give(Task task);

  /// Reads what has come; false when the process has closed its end.
  [[nodiscard]] bool receive();

  /// The next whole answer, to the first of tasks().
  [[nodiscard]] std::optional<std::string> take_answer();

  /// After the end was closed: waits for the process and says how it ended, with its last words.
  [[nodiscard]] std::string end();

 private:
  int socket_ = -1;
  int errors_ = -1;
  pid_t process_ = -1;
  bool spent_ = false;
  std::deque<Task> tasks_;
  std::string received_;
};

}  // namespace lamina::sweep
