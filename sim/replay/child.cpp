#include "sim/replay/child.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/error/error.hpp"

namespace lamina::replay {
namespace {

enum class Answer : std::uint32_t { kTimeline, kInternalError, kEnvironmentError };

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}

  ~Descriptor() { reset(); }

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void reset() {
    if (number_ >= 0) {
      close(number_);
      number_ = -1;
    }
  }

  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

/// Numbers and arrays of numbers over a pipe between two images of the same program.
class Writer {
 public:
  explicit Writer(int descriptor) : descriptor_(descriptor) {}

  template <class Value>
  void value(const Value& value) const {
    static_assert(std::is_trivially_copyable_v<Value>);
    bytes(reinterpret_cast<const char*>(&value), sizeof(Value));
  }

  template <class Container>
  void array(const Container& container) const {
    static_assert(std::is_trivially_copyable_v<typename Container::value_type>);
    value(std::uint64_t{container.size()});
    bytes(reinterpret_cast<const char*>(container.data()), container.size() * sizeof(typename Container::value_type));
  }

 private:
  void bytes(const char* data, std::size_t size) const {
    while (size > 0) {
      const ssize_t written = write(descriptor_, data, size);
      if (written < 0 && errno == EINTR) {
        continue;
      }
      if (written <= 0) {
        _exit(1);  // nobody listens any more
      }
      data += written;
      size -= static_cast<std::size_t>(written);
    }
  }

  int descriptor_;
};

struct NoAnswer {};

class Reader {
 public:
  explicit Reader(int descriptor) : descriptor_(descriptor) {}

  template <class Value>
  [[nodiscard]] Value value() const {
    Value result{};
    bytes(reinterpret_cast<char*>(&result), sizeof(Value));
    return result;
  }

  template <class Container>
  void array(Container& container) const {
    container.resize(value<std::uint64_t>());
    bytes(reinterpret_cast<char*>(container.data()), container.size() * sizeof(typename Container::value_type));
  }

 private:
  /// @throws NoAnswer when the other end is closed before all bytes came
  void bytes(char* data, std::size_t size) const {
    while (size > 0) {
      const ssize_t got = read(descriptor_, data, size);
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got <= 0) {
        throw NoAnswer{};
      }
      data += got;
      size -= static_cast<std::size_t>(got);
    }
  }

  int descriptor_;
};

/// A child process that does not outlive this object.
class Child {
 public:
  explicit Child(pid_t process) : process_(process) {}

  ~Child() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      (void)wait();
    }
  }

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Status as waitpid gives it.
  int wait() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return status;
  }

 private:
  pid_t process_;
};

void send_timeline(const timeline::Timeline& timeline, const Writer& writer) {
  writer.value(Answer::kTimeline);
  writer.value(timeline.end_s);
  writer.value(timeline.activities);
  writer.array(timeline.flows);
  writer.value(std::uint64_t{timeline.spans.size()});
  for (const std::vector<timeline::Span>& spans : timeline.spans) {
    writer.array(spans);
  }
}

timeline::Timeline receive_timeline(const Reader& reader) {
  timeline::Timeline timeline;
  timeline.end_s = reader.value<double>();
  timeline.activities = reader.value<std::int64_t>();
  reader.array(timeline.flows);
  timeline.spans.resize(reader.value<std::uint64_t>());
  for (std::vector<timeline::Span>& spans : timeline.spans) {
    reader.array(spans);
  }
  return timeline;
}

void send_error(Answer answer, const std::string& text, const Writer& writer) {
  writer.value(answer);
  writer.array(text);
}

void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);  // it had died before
  }
  for (const int number : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) {
    struct sigaction action {};

    sigaction(number, nullptr, &action);
    if (action.sa_handler != SIG_IGN) {  // the parent's handlers are not meant for us
      action = {};
      action.sa_handler = SIG_DFL;
      sigaction(number, &action, nullptr);
    }
  }
}

/// The simulator flushes stdout, which would print what the parent's buffer held at the fork a second time.
void leave_outputs_to_the_parent(const Descriptor& errors) {
  const Descriptor nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  dup2(nowhere.number(), STDOUT_FILENO);
  dup2(errors.number(), STDERR_FILENO);
}

[[noreturn]] void run_work(const std::function<timeline::Timeline()>& work, const Writer& writer) {
  try {
    send_timeline(work(), writer);
  } catch (const error::EnvironmentError& failure) {
    send_error(Answer::kEnvironmentError, failure.what(), writer);
  } catch (const std::bad_alloc&) {
    send_error(Answer::kEnvironmentError, "not enough memory for the replay", writer);
  } catch (const std::exception& failure) {
    send_error(Answer::kInternalError, failure.what(), writer);
  }
  _exit(0);  // neither destructors nor buffers of the parent's image
}

std::string last_words(const Descriptor& errors) {
  constexpr off_t kMost = 2000;
  const off_t size = lseek(errors.number(), 0, SEEK_END);
  if (size <= 0) {
    return "";
  }
  std::string text(static_cast<std::size_t>(std::min(size, kMost)), ' ');
  const ssize_t got = pread(errors.number(), text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text.empty() ? "" : "; its last words:\n" + text;
}

[[noreturn]] void report_death(int status, const Descriptor& errors) {
  const std::string end =
      WIFSIGNALED(status) ? fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                          : fmt::format("left with code {} and no answer", WEXITSTATUS(status));
  throw error::InternalError("the replay process " + end + last_words(errors));
}

}  // namespace

timeline::Timeline run_in_child(const std::function<timeline::Timeline()>& work) {
  int ends[2];
  if (pipe(ends) != 0) {
    throw error::EnvironmentError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  const Descriptor errors(memfd_create("lamina replay errors", MFD_CLOEXEC));
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process < 0) {
    throw error::EnvironmentError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (process == 0) {
    die_with(parent);
    leave_outputs_to_the_parent(errors);
    run_work(work, Writer(write_end.number()));
  }
  Child child(process);
  write_end.reset();
  const Reader reader(read_end.number());
  try {
    const auto answer = reader.value<Answer>();
    if (answer == Answer::kTimeline) {
      return receive_timeline(reader);
    }
    std::string text;
    reader.array(text);
    if (answer == Answer::kEnvironmentError) {
      throw error::EnvironmentError(text);
    }
    throw error::InternalError(text);
  } catch (const NoAnswer&) {
    report_death(child.wait(), errors);
  }
}

}  // namespace lamina::replay
