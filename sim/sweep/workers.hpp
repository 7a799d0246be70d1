#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace lamina::sweep {

using Task = std::uint64_t;

/// What a worker process makes of a task, or why it died over it.
using Answer = tl::expected<std::string, std::string>;

struct WorkerOptions {
  int workers = 1;
  /// Asked in the process after each task; true: a fresh process serves the next one. Empty: never.
  std::function<bool()> is_spent = nullptr;
  std::chrono::milliseconds tick{250};
};

/// Runs `work` on every task in forked processes and hands the answers over as they come, in any order. `on_tick` is
/// called now and then even when nothing comes.
///
/// A process that dies makes its task an error with the reason (signal, last words on its standard error) and is
/// replaced. Processes die with the caller, however it ends (PR_SET_PDEATHSIG), and none is left when this returns or
/// throws. What they write to standard output is dropped. The caller must have one thread only.
/// @throws EnvironmentError when no process can be started, and whatever the callbacks throw
void run_workers(const std::vector<Task>& tasks, const std::function<std::string(Task)>& work,
                 const std::function<void(Task, Answer)>& on_answer, const std::function<void()>& on_tick,
                 const WorkerOptions& options);

}  // namespace lamina::sweep
