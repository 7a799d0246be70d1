#include "validate/ranks/launch.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <vector>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sim/error/error.hpp"
#include "validate/ranks/rank_process.hpp"

namespace lamina::validate::ranks {
void be_rank(int rank, int socket, const RankBody& body) {
  try {
    Control control(socket, rank, "", true);
    try {
      body(rank, control);
      control.leave();
    } catch (const std::bad_alloc&) {
      control.fail("out of memory");
    } catch (const std::exception& fault) {
      control.fail(fault.what());
    }
    while (true) {
      pause();  // until the coordinator ends us: it must have read our last word before our socket closes
    }
  } catch (const std::exception&) {  // the coordinator is gone
  }
  _exit(6);
}

std::unique_ptr<Coordinator> launch(int count, const RankBody& body) {
  std::vector<int> sockets;
  std::vector<pid_t> processes;
  const pid_t parent = getpid();
  for (int rank = 0; rank < count; ++rank) {
    int pair[2];
    const bool paired = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0;
    const pid_t process = paired ? fork() : -1;
    if (process < 0) {
      const int reason = errno;
      Coordinator(std::move(sockets), std::move(processes));  // ends those that run
      throw error::EnvironmentError(fmt::format("cannot start rank {}: {}", rank, std::strerror(reason)));
    }
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) {
        _exit(6);
      }
      signal(SIGINT, SIG_IGN);  // the coordinator ends us
      for (const int other : sockets) {
        close(other);
      }
      close(pair[0]);
      be_rank(rank, pair[1], body);
    }
    close(pair[1]);
    sockets.push_back(pair[0]);
    processes.push_back(process);
  }
  return std::make_unique<Coordinator>(std::move(sockets), std::move(processes));
}

}  // namespace lamina::validate::ranks
