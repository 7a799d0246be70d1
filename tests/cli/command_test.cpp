#include "tests/cli/command.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/paths.hpp"

namespace lamina::cli_test {
namespace {

using Clock = std::chrono::steady_clock;

/// Both ends of a pipe or of a terminal. The far end is the program's.
struct Channel {
  int near = -1;
  int far = -1;
};

Channel make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("cannot make a pipe");
  }
  return {ends[0], ends[1]};
}

Channel make_terminal() {
  Channel channel;
  winsize size{};
  size.ws_row = 24;
  size.ws_col = 80;
  if (openpty(&channel.near, &channel.far, nullptr, nullptr, &size) != 0) {
    throw std::runtime_error("cannot make a terminal");
  }
  return channel;
}

void close_if_open(int& descriptor) {
  if (descriptor >= 0) {
    close(descriptor);
    descriptor = -1;
  }
}

/// Runs in the child: nothing here returns.
[[noreturn]] void become_program(const Invocation& invocation, const Channel& out, const Channel& err) {
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, STDIN_FILENO);
  dup2(err.far, STDERR_FILENO);
  if (invocation.closed_output) {
    close(STDOUT_FILENO);
  } else if (!invocation.standard_output.empty()) {
    dup2(open(invocation.standard_output.c_str(), O_WRONLY), STDOUT_FILENO);
  } else {
    dup2(out.far, STDOUT_FILENO);
  }
  for (const auto& [name, value] : invocation.environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  if (invocation.largest_file > 0) {
    const rlimit limit{static_cast<rlim_t>(invocation.largest_file), static_cast<rlim_t>(invocation.largest_file)};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  const std::string folder = invocation.folder.empty() ? tests::source_folder().string() : invocation.folder.string();
  std::vector<char*> arguments = {const_cast<char*>(invocation.program.c_str())};
  for (const std::string& argument : invocation.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  if (chdir(folder.c_str()) == 0) {
    execv(invocation.program.c_str(), arguments.data());
  }
  _exit(127);
}

/// Appends what can be read now; closes the descriptor at its end.
void drain(int& descriptor, std::string& text) {
  std::array<char, 65536> block{};
  const ssize_t got = read(descriptor, block.data(), block.size());
  if (got > 0) {
    text.append(block.data(), static_cast<std::size_t>(got));
  } else if (got == 0 || errno != EINTR) {  // a terminal ends with EIO
    close_if_open(descriptor);
  }
}

void collect(pid_t process, const Invocation& invocation, int& out, int& err, Outcome& outcome) {
  const auto start = Clock::now();
  bool signal_sent = invocation.signal == 0;
  while (out >= 0 || err >= 0) {
    std::array<pollfd, 2> watched = {pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
    poll(watched.data(), watched.size(), 10);
    if (out >= 0 && watched[0].revents != 0) {
      drain(out, outcome.out);
    }
    if (err >= 0 && watched[1].revents != 0) {
      drain(err, outcome.err);
    }
    const auto passed = Clock::now() - start;
    if (!signal_sent && passed > invocation.signal_after) {
      kill(process, invocation.signal);
      signal_sent = true;
    }
    if (passed > invocation.timeout) {
      outcome.late = true;
      kill(process, SIGKILL);
      return;
    }
  }
}

}  // namespace

Outcome run(const Invocation& invocation) {
  Channel out = invocation.terminal ? make_terminal() : make_pipe();
  Channel err = invocation.terminal ? Channel{-1, out.far} : make_pipe();
  const pid_t process = fork();
  if (process == 0) {
    become_program(invocation, out, err);
  }
  close_if_open(out.far);
  if (!invocation.terminal) {
    close_if_open(err.far);
  }
  if (invocation.reader_leaves) {
    close_if_open(out.near);
  }
  Outcome outcome;
  collect(process, invocation, out.near, err.near, outcome);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  close_if_open(out.near);
  close_if_open(err.near);
  return outcome;
}

Outcome lamina(std::vector<std::string> arguments) {
  Invocation invocation;
  invocation.arguments = std::move(arguments);
  return run(invocation);
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "lamina-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("cannot make a temporary folder");
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::file(const std::string& name, const std::string& content) const {
  std::ofstream(path_ / name) << content;
  return (path_ / name).string();
}

std::vector<std::string> TemporaryFolder::names() const {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    result.push_back(entry.path().filename().string());
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::string small_scenario() {
  return R"(schema_version: 1
name: small
model: x32
cluster:
  node: dgx-a100-80gb
  nodes: 1
  network: infiniband-hdr
  topology: fat_tree
strategy:
  data_parallel: 2
  pipeline_parallel: 2
  tensor_parallel: 2
  micro_batches: 4
  schedule: layered_modular
  recompute: full
)";
}

std::string small_scenario_with(const std::string& before, const std::string& after) {
  std::string text = small_scenario();
  const std::size_t place = text.find(before);
  if (place == std::string::npos) {
    throw std::runtime_error("the small scenario has no " + before);
  }
  return text.replace(place, before.size(), after);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_root() {
  return geteuid() == 0;
}

TEST(CommandRunner, SeesBothStreamsAndTheExitCode) {
  Invocation invocation;
  invocation.program = "/bin/sh";
  invocation.arguments = {"-c", "echo out; echo err >&2; exit 7"};
  const Outcome outcome = run(invocation);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, "err\n");
  EXPECT_EQ(outcome.code, 7);
}

TEST(CommandRunner, KillsWhatTakesTooLong) {
  Invocation invocation;
  invocation.program = "/bin/sleep";
  invocation.arguments = {"60"};
  invocation.timeout = std::chrono::seconds(1);
  EXPECT_TRUE(run(invocation).late);
}

}  // namespace lamina::cli_test
