#include "sim/cli/signals.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/time.h>
#include <unistd.h>

#include "sim/error/error.hpp"

namespace lamina::cli {
namespace {

// A handler may only touch memory that stands still: fixed buffers, changed while these signals are blocked.
constexpr std::size_t kTemporaries = 16;
constexpr std::size_t kLongestPath = 4096;
std::array<std::array<char, kLongestPath>, kTemporaries> temporaries;
std::array<char, 256> progress_text;
volatile std::sig_atomic_t progress_seconds = 0;  // 0: the line is not on the screen
constexpr std::string_view kErase = "\r\033[K";

void write_to_terminal(const char* text, std::size_t size) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, size);  // nothing to be done if it fails
}

extern "C" void clean_up_and_die(int signal) {
  for (const auto& path : temporaries) {
    if (path[0] != '\0') {
      ::unlink(path.data());
    }
  }
  if (progress_seconds > 0) {
    write_to_terminal(kErase.data(), kErase.size());
  }
  ::raise(signal);  // blocked until this handler returns, and by then back to its default action (SA_RESETHAND)
}

/// Draws the line with the seconds since it was announced. Digits by hand: printf is not safe in a handler.
extern "C" void draw_progress(int) {
  const int saved_errno = errno;
  const int seconds = progress_seconds + 1;
  progress_seconds = seconds;
  std::array<char, 16> digits{};
  std::size_t first = digits.size();
  for (int rest = seconds; rest > 0 && first > 0; rest /= 10) {
    digits[--first] = static_cast<char>('0' + rest % 10);
  }
  write_to_terminal(kErase.data(), kErase.size());
  write_to_terminal(progress_text.data(), ::strnlen(progress_text.data(), progress_text.size()));
  write_to_terminal(" ", 1);
  write_to_terminal(digits.data() + first, digits.size() - first);
  write_to_terminal(" s", 2);
  errno = saved_errno;
}

/// Keeps the handlers out while their memory changes.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before_);
  }

  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  SignalsBlocked(SignalsBlocked&&) = delete;
  SignalsBlocked& operator=(SignalsBlocked&&) = delete;

  ~SignalsBlocked() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};

  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

void forget(const std::string& path) {
  const SignalsBlocked blocked;
  for (auto& slot : temporaries) {
    if (path == slot.data()) {
      slot[0] = '\0';
    }
  }
}

void set_timer(long seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = seconds;
  timer.it_interval.tv_sec = seconds;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace

void install_signal_handlers() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) == -1) {
      // Standard output gets a descriptor that cannot be written to: the loss of results must be noticed.
      [[maybe_unused]] const int opened = ::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction current {};

    sigaction(signal, nullptr, &current);
    if (current.sa_handler != SIG_IGN) {  // nohup and background jobs of a shell have asked for peace
      handle(signal, clean_up_and_die, SA_RESETHAND);
    }
  }
  handle(SIGPIPE, SIG_IGN, 0);
  handle(SIGXFSZ, SIG_IGN, 0);
}

TemporaryFile::TemporaryFile(std::string path) : path_(std::move(path)) {
  if (path_.size() >= kLongestPath) {
    throw error::EnvironmentError(fmt::format("cannot create {}: {}", path_, std::strerror(ENAMETOOLONG)));
  }
  const SignalsBlocked blocked;
  const auto free_slot =
      std::find_if(temporaries.begin(), temporaries.end(), [](const auto& slot) { return slot[0] == '\0'; });
  if (free_slot == temporaries.end()) {
    throw error::InternalError("too many temporary files at a time");
  }
  std::copy(path_.begin(), path_.end(), free_slot->begin());
  (*free_slot)[path_.size()] = '\0';
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TemporaryFile::~TemporaryFile() {
  if (!path_.empty()) {
    ::unlink(path_.c_str());
    forget(path_);
  }
}

void TemporaryFile::keep_as(const std::string& final_path) {
  if (std::rename(path_.c_str(), final_path.c_str()) != 0) {
    throw error::EnvironmentError(fmt::format("cannot create {}: {}", final_path, std::strerror(errno)));
  }
  forget(path_);
  path_.clear();
}

ProgressLine::ProgressLine(bool enabled) : enabled_(enabled) {
  if (enabled_) {
    handle(SIGALRM, draw_progress, SA_RESTART);
  }
}

ProgressLine::~ProgressLine() {
  hide();
}

void ProgressLine::show(std::string_view text) {
  if (!enabled_) {
    return;
  }
  constexpr std::size_t kColumns = 70;  // and the seconds, on a terminal of 80
  {
    const SignalsBlocked blocked;
    const std::string_view shown = text.substr(0, kColumns);
    std::copy(shown.begin(), shown.end(), progress_text.begin());
    progress_text[shown.size()] = '\0';
  }
  if (!running_) {
    running_ = true;
    set_timer(1);
  }
}

void ProgressLine::hide() {
  if (!enabled_) {
    return;
  }
  running_ = false;
  set_timer(0);
  const SignalsBlocked blocked;
  if (progress_seconds > 0) {
    write_to_terminal(kErase.data(), kErase.size());
    progress_seconds = 0;
  }
}

}  // namespace lamina::cli
