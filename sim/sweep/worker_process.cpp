#include "sim/sweep/worker_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/error/error.hpp"

namespace lamina::sweep {
namespace {

/// False at the end of the stream.
bool read_exactly(int descriptor, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = read(descriptor, at, size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return false;
    }
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send_exactly(int descriptor, std::string_view data) {
  while (!data.empty()) {
    const ssize_t sent = send(descriptor, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent < 0) {
      return false;
    }
    data.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string_view bytes_of(const std::uint64_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);  // it had died before
  }
  for (const int number : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGALRM}) {
    struct sigaction action {};

    sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) {  // the parent's handlers are not meant for us
      action = {};
      action.sa_handler = SIG_DFL;
      sigaction(number, &action, nullptr);
    }
  }
}

constexpr std::uint64_t kLast = std::uint64_t{1} << 63U;

[[noreturn]] void serve(int socket, const std::function<std::string(Task)>& work,
                        const std::function<bool()>& is_spent) {
  std::uint64_t task = 0;
  bool spent = false;
  while (!spent && read_exactly(socket, &task, sizeof(task))) {
    std::string answer;
    try {
      answer = work(task);
    } catch (const std::exception& failure) {
      [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, failure.what(), std::strlen(failure.what()));
      _exit(1);
    }
    spent = is_spent && is_spent();
    const std::uint64_t size = answer.size() | (spent ? kLast : 0);
    if (!send_exactly(socket, bytes_of(size)) || !send_exactly(socket, answer)) {
      _exit(1);
    }
  }
  _exit(0);  // neither destructors nor buffers of the parent's image
}

std::string last_words(int errors) {
  constexpr off_t kMost = 500;
  const off_t size = lseek(errors, 0, SEEK_END);
  if (size <= 0) {
    return "";
  }
  std::string text(static_cast<std::size_t>(std::min(size, kMost)), ' ');
  const ssize_t got = pread(errors, text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.empty() ? "" : fmt::format("; its last words: {}", text);
}

}  // namespace

WorkerProcess::WorkerProcess(const std::function<std::string(Task)>& work, const std::vector<int>& others,
                             const std::function<bool()>& is_spent) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw error::EnvironmentError(fmt::format("cannot connect to a worker process: {}", std::strerror(errno)));
  }
  errors_ = memfd_create("lamina worker errors", MFD_CLOEXEC);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    die_with(parent);
    close(ends[0]);
    for (const int other : others) {
      close(other);
    }
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(errors_, STDERR_FILENO);
    serve(ends[1], work, is_spent);
  }
  const int reason = errno;
  socket_ = ends[0];
  close(ends[1]);
  if (process_ < 0) {
    close(socket_);
    close(errors_);
    throw error::EnvironmentError(fmt::format("cannot start a worker process: {}", std::strerror(reason)));
  }
}

WorkerProcess::~WorkerProcess() {
  close(socket_);
  close(errors_);
  if (process_ > 0) {
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

void WorkerProcess::give(Task task) {
  tasks_.push_back(task);
  (void)send_exactly(socket_, bytes_of(task));  // a dead worker shows when its answer is read
}

bool WorkerProcess::receive() {
  constexpr std::size_t kBlock = 1 << 16;
  const std::size_t before = received_.size();
  received_.resize(before + kBlock);
  ssize_t got = 0;
  do {
    got = read(socket_, received_.data() + before, kBlock);
  } while (got < 0 && errno == EINTR);
  received_.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
  return got > 0;
}

std::optional<std::string> WorkerProcess::take_answer() {
  std::uint64_t size = 0;
  if (received_.size() < sizeof(size)) {
    return std::nullopt;
  }
  std::memcpy(&size, received_.data(), sizeof(size));
  const bool last = (size & kLast) != 0;
  size &= ~kLast;
  if (received_.size() - sizeof(size) < size) {
    return std::nullopt;
  }
  spent_ = last;
  std::string answer = received_.substr(sizeof(size), size);
  received_.erase(0, sizeof(size) + size);
  tasks_.pop_front();
  return answer;
}

std::string WorkerProcess::end() {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  const std::string how =
      WIFSIGNALED(status) ? fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                          : fmt::format("left with code {} and no answer", WEXITSTATUS(status));
  return fmt::format("The worker process {}{}.", how, last_words(errors_));
}

}  // namespace lamina::sweep
