#include "sim/sweep/workers.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <poll.h>

#include "sim/error/error.hpp"
#include "sim/sweep/worker_process.hpp"

namespace lamina::sweep {
namespace {

/// Keeps `options.workers` processes busy until all tasks are answered.
class Pool {
 public:
  Pool(const std::vector<Task>& tasks, const std::function<std::string(Task)>& work,
       const std::function<void(Task, Answer)>& on_answer, const WorkerOptions& options)
      : open_(tasks.begin(), tasks.end()), left_(tasks.size()), work_(work), on_answer_(on_answer), options_(options) {}

  void run(const std::function<void()>& on_tick) {
    const auto wanted = std::min<std::size_t>(open_.size(), static_cast<std::size_t>(std::max(1, options_.workers)));
    workers_.resize(wanted);
    while (left_ > 0) {
      for (auto& worker : workers_) {
        feed(worker);
      }
      wait();
      on_tick();
    }
  }

 private:
  using Worker = std::unique_ptr<WorkerProcess>;

  /// Tasks under way per process: one more than it works on, so that it need not wait for us.
  static constexpr std::size_t kDepth = 3;

  void feed(Worker& worker) {
    if (!worker && !open_.empty()) {
      worker = std::make_unique<WorkerProcess>(work_, sockets(), options_.is_spent);
    }
    while (worker && worker->tasks().size() < kDepth && !open_.empty()) {
      worker->give(open_.front());
      open_.pop_front();
    }
  }

  [[nodiscard]] std::vector<int> sockets() const {
    std::vector<int> result;
    for (const Worker& worker : workers_) {
      if (worker) {
        result.push_back(worker->socket());
      }
    }
    return result;
  }

  void wait() {
    std::vector<pollfd> polls;
    std::vector<Worker*> owners;
    for (Worker& worker : workers_) {
      if (worker && !worker->tasks().empty()) {
        polls.push_back({worker->socket(), POLLIN, 0});
        owners.push_back(&worker);
      }
    }
    const int ready = poll(polls.data(), polls.size(), static_cast<int>(options_.tick.count()));
    if (ready < 0 && errno != EINTR) {
      throw error::EnvironmentError(fmt::format("cannot wait for worker processes: {}", std::strerror(errno)));
    }
    for (std::size_t i = 0; ready > 0 && i < polls.size(); ++i) {
      if (polls[i].revents != 0) {
        serve(*owners[i]);
      }
    }
  }

  void serve(Worker& worker) {
    const bool alive = worker->receive();
    while (!worker->tasks().empty() && !worker->is_spent()) {
      const Task task = worker->tasks().front();
      auto answer = worker->take_answer();
      if (!answer) {
        break;
      }
      --left_;
      on_answer_(task, std::move(*answer));
    }
    if (worker->is_spent()) {
      open_.insert(open_.begin(), worker->tasks().begin(), worker->tasks().end());
      worker.reset();
    } else if (!alive) {
      bury(worker);
    }
  }

  /// The first of its tasks killed it; the others are given to its successor.
  void bury(Worker& worker) {
    const std::deque<Task> tasks = worker->tasks();
    const std::string reason = worker->end();
    worker.reset();
    if (tasks.empty()) {
      return;
    }
    open_.insert(open_.begin(), tasks.begin() + 1, tasks.end());
    --left_;
    on_answer_(tasks.front(), tl::unexpected(reason));
  }

  std::deque<Task> open_;
  std::size_t left_;
  const std::function<std::string(Task)>& work_;
  const std::function<void(Task, Answer)>& on_answer_;
  const WorkerOptions& options_;
  std::vector<Worker> workers_;
};

}  // namespace

void run_workers(const std::vector<Task>& tasks, const std::function<std::string(Task)>& work,
                 const std::function<void(Task, Answer)>& on_answer, const std::function<void()>& on_tick,
                 const WorkerOptions& options) {
  Pool(tasks, work, on_answer, options).run(on_tick);
}

}  // namespace lamina::sweep
