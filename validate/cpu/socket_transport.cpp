#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sim/error/error.hpp"
#include "validate/cpu/transport.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::cpu {
namespace {

[[noreturn]] void fail(const std::string& doing) {
  throw error::EnvironmentError(fmt::format("{}: {}", doing, std::strerror(errno)));
}

class Socket {
 public:
  Socket() = default;

  explicit Socket(int number) : number_(number) {}

  ~Socket() {
    if (number_ >= 0) {
      close(number_);
    }
  }

  Socket(Socket&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

  Socket& operator=(Socket&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  [[nodiscard]] int number() const { return number_; }

  [[nodiscard]] bool open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

Socket stream_socket() {
  Socket result(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!result.open()) {
    fail("socket");
  }
  return result;
}

sockaddr_in address_of(const std::string& text, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1) {
    throw error::EnvironmentError(fmt::format("\"{}\" is no IPv4 address of this rank", text));
  }
  return address;
}

/// A message that is on its way in one direction.
struct Transfer {
  int socket = -1;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t left = 0;
  std::size_t wakes_at = 0;  ///< bytes that must be there before a receiver is woken; 0: not set yet

  [[nodiscard]] bool receives() const { return to != nullptr; }

  /// Being woken for every packet would take the core from the kernels that run beside.
  void wait_for_many() {
    constexpr std::size_t kMany = 65536;
    const std::size_t wanted = std::min(left, kMany);
    if (receives() && wanted != wakes_at) {
      const int bytes = static_cast<int>(wanted);
      setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
      wakes_at = wanted;
    }
  }

  /// Moves what the socket takes or has.
  void advance() {
    const ssize_t moved =
        receives() ? recv(socket, to, left, MSG_DONTWAIT) : ::send(socket, from, left, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (moved <= 0) {
      throw error::EnvironmentError("the connection to another rank broke");
    }
    if (receives()) {
      to += moved;
    } else {
      from += moved;
    }
    left -= static_cast<std::size_t>(moved);
  }
};

void complete(std::span<Transfer> transfers) {
  while (true) {
    std::array<pollfd, 2> waiting{};
    std::array<Transfer*, 2> whose{};
    nfds_t count = 0;
    for (Transfer& transfer : transfers) {
      if (transfer.left > 0) {
        transfer.wait_for_many();
        waiting[count] = {transfer.socket, static_cast<short>(transfer.receives() ? POLLIN : POLLOUT), 0};
        whose[count] = &transfer;
        ++count;
      }
    }
    if (count == 0) {
      return;
    }
    if (poll(waiting.data(), count, -1) < 0 && errno != EINTR) {
      fail("poll");
    }
    for (nfds_t i = 0; i < count; ++i) {
      if (waiting[i].revents != 0) {
        whose[i]->advance();
      }
    }
  }
}

class SocketTransport final : public Transport {
 public:
  explicit SocketTransport(std::vector<Socket> sockets) : sockets_(std::move(sockets)) {}

  void send(std::size_t pipe, std::span<const std::byte> content) override {
    await_ready(pipe);
    std::array transfer{outgoing(pipe, content)};
    complete(transfer);
  }

  void receive(std::size_t pipe, std::span<std::byte> content) override {
    post(pipe);
    std::array transfer{incoming(pipe, content)};
    complete(transfer);
  }

  void exchange(std::size_t out, std::span<const std::byte> sent, std::size_t in,
                std::span<std::byte> received) override {
    post(in);
    await_ready(out);
    std::array transfers{outgoing(out, sent), incoming(in, received)};
    complete(transfers);
  }

 private:
  [[nodiscard]] Transfer outgoing(std::size_t pipe, std::span<const std::byte> content) const {
    return {sockets_[pipe].number(), nullptr, content.data(), content.size()};
  }

  [[nodiscard]] Transfer incoming(std::size_t pipe, std::span<std::byte> content) const {
    return {sockets_[pipe].number(), content.data(), nullptr, content.size()};
  }

  void post(std::size_t pipe) const {
    static constexpr std::byte kReady{1};
    std::array transfer{Transfer{sockets_[pipe].number(), nullptr, &kReady, 1}};
    complete(transfer);
  }

  void await_ready(std::size_t pipe) const {
    std::byte ready{};
    std::array transfer{Transfer{sockets_[pipe].number(), &ready, nullptr, 1}};
    complete(transfer);
  }

  std::vector<Socket> sockets_;  ///< [pipe]; closed for pipes of other ranks
};

void tune(const Socket& socket) {
  const int on = 1;
  setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// A receiver's end: readiness and acknowledgements do not queue behind messages of the other direction.
void prefer(const Socket& socket) {
  const int interactive = 6;  // TC_PRIO_INTERACTIVE
  setsockopt(socket.number(), SOL_SOCKET, SO_PRIORITY, &interactive, sizeof interactive);
}

}  // namespace

std::unique_ptr<Transport> connect_sockets(const std::vector<Pipe>& pipes, int rank, const std::string& address,
                                           ranks::Control& control) {
  const Socket listener = stream_socket();
  sockaddr_in here = address_of(address, 0);
  if (bind(listener.number(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
      listen(listener.number(), SOMAXCONN) != 0) {
    fail(fmt::format("cannot listen on {}", address));
  }
  socklen_t length = sizeof here;
  getsockname(listener.number(), reinterpret_cast<sockaddr*>(&here), &length);
  ranks::Packer packer;
  packer.text(address);
  packer.value(ntohs(here.sin_port));
  const ranks::Round all = control.gather(packer.take());

  std::vector<Socket> sockets(pipes.size());
  std::size_t expected = 0;
  for (std::size_t pipe = 0; pipe < pipes.size(); ++pipe) {
    expected += pipes[pipe].to == rank ? 1 : 0;
    if (pipes[pipe].from != rank) {
      continue;
    }
    ranks::Unpacker unpacker(all.contents[static_cast<std::size_t>(pipes[pipe].to)]);
    const std::string there = unpacker.text();
    const sockaddr_in target = address_of(there, unpacker.value<std::uint16_t>());
    Socket socket = stream_socket();
    if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&target), sizeof target) != 0) {
      fail(fmt::format("cannot connect to rank {} at {}", pipes[pipe].to, there));
    }
    tune(socket);
    const auto number = static_cast<std::uint64_t>(pipe);
    std::array transfer{Transfer{socket.number(), nullptr, reinterpret_cast<const std::byte*>(&number), sizeof number}};
    complete(transfer);
    sockets[pipe] = std::move(socket);
  }
  for (; expected > 0; --expected) {
    Socket socket(accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.open()) {
      fail("accept");
    }
    tune(socket);
    prefer(socket);
    std::uint64_t number = 0;
    std::array transfer{Transfer{socket.number(), reinterpret_cast<std::byte*>(&number), nullptr, sizeof number}};
    complete(transfer);
    if (number >= pipes.size() || pipes[number].to != rank || sockets[number].open()) {
      throw error::EnvironmentError("a stranger connected to a rank");
    }
    sockets[number] = std::move(socket);
  }
  return std::make_unique<SocketTransport>(std::move(sockets));
}

}  // namespace lamina::validate::cpu
