#include "validate/ranks/network.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/error/error.hpp"
#include "validate/ranks/rank_process.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::ranks {
namespace {

/// Runs a program with its output thrown away, and waits.
/// @return its exit status; -1 when it could not be run
int run(const std::vector<std::string>& words) {
  const pid_t process = fork();
  if (process == 0) {
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, 0);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    std::vector<char*> arguments;
    for (const std::string& word : words) {
      arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  while (process > 0 && waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return process > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// @throws EnvironmentError unless it succeeds
void must(const std::string& command) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t end = std::min(command.find(' ', at), command.size());
    words.push_back(command.substr(at, end - at));
    at = end + 1;
  }
  const int status = run(words);
  if (status == 127) {
    throw error::EnvironmentError(fmt::format("cannot run `{}`: is iproute2 installed?", command));
  }
  if (status != 0) {
    throw error::EnvironmentError(fmt::format("`{}` failed in a network namespace (status {})", command, status));
  }
}

void write_file(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written = file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int reason = errno;
  if (file >= 0) {
    close(file);
  }
  if (!written) {
    throw error::EnvironmentError(fmt::format("a user namespace is refused ({}: {})", path, std::strerror(reason)));
  }
}

/// A user namespace in which this process is root, and a network namespace in it.
void enter_namespaces() {
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    throw error::EnvironmentError(
        fmt::format("this system refuses user and network namespaces: {}", std::strerror(errno)));
  }
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", fmt::format("0 {} 1", user));
  write_file("/proc/self/gid_map", fmt::format("0 {} 1", group));
}

void shape(const std::string& device, double bytes_per_s) {
  must(fmt::format("ip link set {} gso_max_size {:.0f}", device, segment_bytes(bytes_per_s)));
  must(fmt::format("tc qdisc add dev {} root handle 1: tbf rate {:.0f}bit burst {:.0f} latency 200ms", device,
                   bytes_per_s * 8, burst_bytes(bytes_per_s)));
  must(fmt::format("tc qdisc add dev {} parent 1:1 pfifo_fast", device));  // short answers pass long messages
}

/// A setting of this network namespace, where there is such a setting.
void set_if_possible(const std::string& file, const std::string& value) {
  std::ofstream(file) << value;
}

/// The rank's side of its node's port; in the node's namespace.
void set_up_port(int node, double bytes_per_s) {
  must("ip link set lo up");
  must(fmt::format("ip addr add {}/16 dev port{}", address_of_node(node), node));
  must(fmt::format("ip link set port{} up", node));
  shape(fmt::format("port{}", node), bytes_per_s);
  set_if_possible("/proc/sys/net/ipv4/tcp_slow_start_after_idle", "0");
  set_if_possible("/proc/sys/net/ipv4/tcp_congestion_control", "reno");
}

void tell(int socket, char what) {
  if (send(socket, &what, 1, MSG_NOSIGNAL) != 1) {
    throw error::EnvironmentError("a process of the emulated network is gone");
  }
}

void hear(int socket) {
  char what = 0;
  if (recv(socket, &what, 1, 0) != 1) {
    throw error::EnvironmentError("a process of the emulated network is gone");
  }
}

/// The process that holds the bridge and starts the ranks.
class Keeper {
 public:
  Keeper(const ShapedNetwork& network, std::vector<int> own_ends, const RankBody& body)
      : network_(network), own_ends_(std::move(own_ends)), body_(body) {}

  /// @return when all ranks have ended
  void run_ranks() {
    enter_namespaces();
    must("ip link add bridge type bridge");
    must("ip link set bridge up");
    for (std::size_t rank = 0; rank < own_ends_.size(); ++rank) {
      start(static_cast<int>(rank));
    }
    for (std::size_t left = own_ends_.size(); left > 0; --left) {
      int status = 0;
      const pid_t ended = waitpid(-1, &status, 0);
      const auto found = std::find(processes_.begin(), processes_.end(), ended);
      if (found != processes_.end() && WIFSIGNALED(status)) {
        const int socket = own_ends_[static_cast<std::size_t>(found - processes_.begin())];
        (void)write_frame(
            socket, FrameType::kFailed,
            fmt::format("its process was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))));
      }
      if (found != processes_.end()) {
        close(own_ends_[static_cast<std::size_t>(found - processes_.begin())]);
      }
    }
  }

  void fail(const std::string& reason) noexcept { (void)write_frame(own_ends_.front(), FrameType::kFailed, reason); }

 private:
  void start(int rank) {
    const int node = network_.node_of_rank[static_cast<std::size_t>(rank)];
    const auto first = first_of_node_.find(node);
    const bool is_first = first == first_of_node_.end();
    std::array<int, 2> line{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line.data()) != 0) {
      throw error::EnvironmentError(fmt::format("socketpair: {}", std::strerror(errno)));
    }
    const pid_t keeper = getpid();
    const pid_t process = fork();
    if (process < 0) {
      throw error::EnvironmentError(fmt::format("cannot start rank {}: {}", rank, std::strerror(errno)));
    }
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != keeper) {
        _exit(6);
      }
      const int socket = own_ends_[static_cast<std::size_t>(rank)];
      for (const int other : own_ends_) {
        if (other != socket) {
          close(other);
        }
      }
      be_rank(rank, socket, [&](int number, Control& control) {
        is_first ? found_node(node, line[1]) : join(first->second);
        body_(number, control);
      });
    }
    close(line[1]);
    processes_.push_back(process);
    if (is_first) {
      first_of_node_[node] = process;
      hear(line[0]);
      must(fmt::format("ip link add node{} type veth peer name port{} netns {}", node, node, process));
      must(fmt::format("ip link set node{} master bridge", node));
      must(fmt::format("ip link set node{} up", node));
      if (std::set<int>(network_.node_of_rank.begin(), network_.node_of_rank.end()).size() > 2) {
        shape(fmt::format("node{}", node), network_.bytes_per_s);  // several senders meet before one port
      }
      tell(line[0], 'g');
      hear(line[0]);  // later ranks of the node find it set up
    }
    close(line[0]);
  }

  void found_node(int node, int line) const {
    if (unshare(CLONE_NEWNET) != 0) {
      throw error::EnvironmentError(fmt::format("no network namespace for node {}: {}", node, std::strerror(errno)));
    }
    tell(line, 'r');
    hear(line);
    set_up_port(node, network_.bytes_per_s);
    tell(line, 'd');
  }

  static void join(pid_t first) {
    const int space = open(fmt::format("/proc/{}/ns/net", first).c_str(), O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) != 0) {
      throw error::EnvironmentError(fmt::format("cannot join a node's network namespace: {}", std::strerror(errno)));
    }
    close(space);
  }

  const ShapedNetwork& network_;
  std::vector<int> own_ends_;  ///< [rank] the ranks' ends of their lines to the coordinator
  const RankBody& body_;
  std::vector<pid_t> processes_;
  std::map<int, pid_t> first_of_node_;
};

}  // namespace

double segment_bytes(double bytes_per_s) {
  constexpr double kSeconds = 0.1e-3;
  constexpr double kLeast = 8192;
  constexpr double kMost = 65536;  // what the kernel makes by itself
  return std::clamp(kSeconds * bytes_per_s, kLeast, kMost);
}

double burst_bytes(double bytes_per_s) {
  constexpr double kSeconds = 0.15e-3;
  constexpr double kMost = 262144;
  return std::min(kMost, segment_bytes(bytes_per_s) + kSeconds * bytes_per_s);
}

std::string address_of_node(int node) {
  return fmt::format("10.77.{}.{}", node / 250, node % 250 + 1);
}

std::unique_ptr<Coordinator> launch_in_network(int count, const ShapedNetwork& network, const RankBody& body) {
  std::vector<int> sockets;
  std::vector<int> own_ends;
  const auto close_all = [](const std::vector<int>& list) {
    for (const int socket : list) {
      close(socket);
    }
  };
  for (int rank = 0; rank < count; ++rank) {
    std::array<int, 2> pair{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
      const int reason = errno;
      close_all(sockets);
      close_all(own_ends);
      throw error::EnvironmentError(fmt::format("cannot start rank {}: {}", rank, std::strerror(reason)));
    }
    sockets.push_back(pair[0]);
    own_ends.push_back(pair[1]);
  }
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
      _exit(6);
    }
    signal(SIGINT, SIG_IGN);
    close_all(sockets);
    Keeper keeper(network, own_ends, body);
    try {
      keeper.run_ranks();
    } catch (const std::exception& fault) {
      keeper.fail(fault.what());
    }
    _exit(0);
  }
  close_all(own_ends);
  if (process < 0) {
    const int reason = errno;
    close_all(sockets);
    throw error::EnvironmentError(fmt::format("cannot start the emulated network: {}", std::strerror(reason)));
  }
  return std::make_unique<Coordinator>(std::move(sockets), std::vector<pid_t>{}, process);
}

}  // namespace lamina::validate::ranks
