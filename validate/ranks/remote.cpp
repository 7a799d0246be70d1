#include "validate/ranks/remote.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sim/error/error.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::ranks {
namespace {

constexpr int kDefaultMasterPort = 29500;  ///< torchrun's
constexpr int kLargestPort = 65535;

int number_of(const Variables& variables, const char* name) {
  const std::optional<std::string> text = variables(name);
  if (!text) {
    throw error::EnvironmentError(fmt::format("the launcher of this process has not set {}", name));
  }
  int value = 0;
  const auto [end, fault] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (fault != std::errc() || end != text->data() + text->size() || value < 0) {
    throw error::EnvironmentError(fmt::format("{} is \"{}\", not a whole number of at least 0", name, *text));
  }
  return value;
}

int port_of(const Variables& variables) {
  int port = 0;
  if (variables("LAMINA_PORT")) {
    port = number_of(variables, "LAMINA_PORT");
  } else {
    port = (variables("MASTER_PORT") ? number_of(variables, "MASTER_PORT") : kDefaultMasterPort) + 1;
  }
  if (port < 1 || port > kLargestPort) {
    throw error::EnvironmentError(fmt::format("port {} is not one of 1 to {}; set LAMINA_PORT", port, kLargestPort));
  }
  return port;
}

void set_no_delay(int socket) {
  const int on = 1;
  (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// A socket that closes itself.
class Socket {
 public:
  explicit Socket(int number) : number_(number) {}

  ~Socket() { reset(-1); }

  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] int number() const { return number_; }

  [[nodiscard]] int release() { return std::exchange(number_, -1); }

  void reset(int number) {
    if (number_ >= 0) {
      close(number_);
    }
    number_ = number;
  }

 private:
  int number_;
};

int listen_on(int port) {
  Socket socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool both = socket.number() >= 0;
  if (!both) {  // a machine without IPv6
    socket.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  const int on = 1;
  const int off = 0;
  (void)setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  int bound = -1;
  if (both) {
    (void)setsockopt(socket.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_addr = in6addr_any;
    any.sin6_port = htons(static_cast<std::uint16_t>(port));
    bound = bind(socket.number(), reinterpret_cast<const sockaddr*>(&any), sizeof any);
  } else {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = INADDR_ANY;
    any.sin_port = htons(static_cast<std::uint16_t>(port));
    bound = bind(socket.number(), reinterpret_cast<const sockaddr*>(&any), sizeof any);
  }
  if (bound != 0 || listen(socket.number(), SOMAXCONN) != 0) {
    throw error::EnvironmentError(
        fmt::format("rank 0 cannot listen on port {}: {}; set LAMINA_PORT to a free one for all ranks", port,
                    std::strerror(errno)));
  }
  return socket.release();
}

/// One attempt. @return a connected socket, or -1 with `reason`
int try_to_connect(const Place& place, std::string& reason) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(place.address.c_str(), std::to_string(place.port).c_str(), &hints, &found);
  if (status != 0) {
    reason = gai_strerror(status);
    return -1;
  }
  int result = -1;
  for (const addrinfo* at = found; at != nullptr && result < 0; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol));
    if (connect(socket.number(), at->ai_addr, at->ai_addrlen) == 0) {
      result = socket.release();
    } else {
      reason = std::strerror(errno);
    }
  }
  freeaddrinfo(found);
  return result;
}

int connect_to_coordinator(const Place& place, double patience_s) {
  const double deadline = monotonic_s() + patience_s;
  std::string reason;
  while (true) {
    const int socket = try_to_connect(place, reason);
    if (socket >= 0) {
      set_no_delay(socket);
      return socket;
    }
    if (monotonic_s() > deadline) {
      throw error::EnvironmentError(fmt::format("rank {} cannot reach rank 0 at {}, port {}, within {:.0f} s: {}",
                                                place.rank, place.address, place.port, patience_s, reason));
    }
    sleep_until(monotonic_s() + 0.1);
  }
}

std::string list_missing(const std::vector<int>& sockets) {
  constexpr std::size_t kListed = 8;
  std::vector<std::size_t> missing;
  for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
    if (sockets[rank] < 0) {
      missing.push_back(rank);
    }
  }
  const std::size_t all = missing.size();
  missing.resize(std::min(all, kListed));
  return fmt::format("{}{}", fmt::join(missing, ", "), all > kListed ? fmt::format(" and {} more", all - kListed) : "");
}

/// A connection says first which rank it is; whoever else knocks is sent away.
void accept_rank(int listener, std::vector<int>& sockets, double patience_s) {
  Socket socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.number() < 0) {
    return;
  }
  const std::optional<Frame> ticket = read_frame(socket.number(), std::min(patience_s, 5.0));
  if (!ticket || ticket->type != FrameType::kHello || ticket->content.size() != sizeof(int)) {
    return;
  }
  Unpacker unpacker(ticket->content);
  const auto rank = unpacker.value<int>();
  if (rank < 1 || static_cast<std::size_t>(rank) >= sockets.size()) {
    throw error::EnvironmentError(
        fmt::format("a process calls itself rank {} of {}; do all have the same WORLD_SIZE?", rank, sockets.size()));
  }
  int& place = sockets[static_cast<std::size_t>(rank)];
  if (place >= 0) {
    throw error::EnvironmentError(fmt::format("two processes call themselves rank {}", rank));
  }
  set_no_delay(socket.number());
  place = socket.release();
}

void accept_all(int listener, std::vector<int>& sockets, double patience_s) {
  const double deadline = monotonic_s() + patience_s;
  while (std::find(sockets.begin(), sockets.end(), -1) != sockets.end()) {
    const double left = deadline - monotonic_s();
    if (left <= 0) {
      throw error::EnvironmentError(fmt::format("these ranks have not come within {:.0f} s: {} (of {})", patience_s,
                                                list_missing(sockets), sockets.size()));
    }
    pollfd waiting{listener, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(left * 1e3) + 1) > 0) {
      accept_rank(listener, sockets, left);
    }
  }
}

/// @return the coordinator's end of the line to the child that is rank 0
std::pair<int, pid_t> fork_rank_zero(int listener, std::string_view fingerprint, const RankBody& body) {
  int pair[2];
  const pid_t parent = getpid();
  const bool paired = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0;
  const pid_t process = paired ? fork() : -1;
  if (process < 0) {
    throw error::EnvironmentError(fmt::format("cannot start rank 0: {}", std::strerror(errno)));
  }
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
      _exit(6);
    }
    signal(SIGINT, SIG_IGN);
    close(listener);
    close(pair[0]);
    try {
      Control control(pair[1], 0, fingerprint, true);
      try {
        body(0, control);
        control.leave();
      } catch (const std::exception& fault) {
        control.fail(fault.what());
      }
      while (true) {
        pause();  // the coordinator ends us
      }
    } catch (const std::exception&) {  // it is gone
    }
    _exit(6);
  }
  close(pair[1]);
  return {pair[0], process};
}

void be_remote_rank(const Place& place, std::string_view fingerprint, double patience_s, const RankBody& body) {
  const int socket = connect_to_coordinator(place, patience_s);
  Packer ticket;
  ticket.value(place.rank);
  (void)write_frame(socket, FrameType::kHello, ticket.take());
  Control control(socket, place.rank, fingerprint, false);
  try {
    body(place.rank, control);
  } catch (const std::exception& fault) {
    control.fail(fault.what());
    throw;
  }
  control.leave();
}

}  // namespace

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? std::nullopt : std::optional<std::string>(value);
}

std::optional<Place> find_place(const Variables& variables) {
  Place place;
  const bool torch = variables("RANK") && variables("WORLD_SIZE");
  const bool mpi = !torch && variables("OMPI_COMM_WORLD_RANK").has_value();
  if (!torch && !mpi) {
    return std::nullopt;
  }
  place.rank = number_of(variables, torch ? "RANK" : "OMPI_COMM_WORLD_RANK");
  place.size = number_of(variables, torch ? "WORLD_SIZE" : "OMPI_COMM_WORLD_SIZE");
  if (place.size <= 1) {
    return std::nullopt;
  }
  if (place.rank >= place.size) {
    throw error::EnvironmentError(fmt::format("rank {} of {} processes does not exist", place.rank, place.size));
  }
  place.local_rank = number_of(variables, torch ? "LOCAL_RANK" : "OMPI_COMM_WORLD_LOCAL_RANK");
  place.port = port_of(variables);
  const std::optional<std::string> address = variables("MASTER_ADDR");
  const bool one_machine = mpi && variables("OMPI_COMM_WORLD_LOCAL_SIZE") &&
                           number_of(variables, "OMPI_COMM_WORLD_LOCAL_SIZE") == place.size;
  if (!address && !one_machine) {
    throw error::EnvironmentError("processes on several machines need MASTER_ADDR: the address of rank 0's");
  }
  place.address = address.value_or(place.address);
  return place;
}

std::unique_ptr<Coordinator> join(const Place& place, std::string_view fingerprint, double patience_s,
                                  const RankBody& body) {
  if (place.rank != 0) {
    be_remote_rank(place, fingerprint, patience_s, body);
    return nullptr;
  }
  const Socket listener(listen_on(place.port));
  const auto [own, process] = fork_rank_zero(listener.number(), fingerprint, body);
  std::vector<int> sockets(static_cast<std::size_t>(place.size), -1);
  sockets.front() = own;
  try {
    accept_all(listener.number(), sockets, patience_s);
  } catch (...) {
    Coordinator(std::move(sockets), {process});  // ends those that came
    throw;
  }
  return std::make_unique<Coordinator>(std::move(sockets), std::vector<pid_t>{process});
}

}  // namespace lamina::validate::ranks
