#include "validate/ranks/address.hpp"

#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sim/error/error.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::ranks {
namespace {

bool is_loopback(const std::string& address) {
  return address.rfind("127.", 0) == 0;
}

std::string text_of(const sockaddr_in& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  (void)inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
  return text.data();
}

sockaddr_in resolve(const std::string& name) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (status != 0) {
    throw error::EnvironmentError(
        fmt::format("{}, rank 0's machine, has no IPv4 address ({}), which messages need", name, gai_strerror(status)));
  }
  sockaddr_in result{};
  std::copy_n(reinterpret_cast<const char*>(found->ai_addr), sizeof result, reinterpret_cast<char*>(&result));
  freeaddrinfo(found);
  return result;
}

/// The address of the port on which packets leave for `to`. Nothing is sent.
std::string port_towards(sockaddr_in to) {
  to.sin_port = htons(9);
  sockaddr_in own{};
  socklen_t size = sizeof own;
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool known = socket >= 0 && connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 &&
                     getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  if (socket >= 0) {
    close(socket);
  }
  if (!known) {
    throw error::EnvironmentError(fmt::format("there is no way to {}, rank 0's machine", text_of(to)));
  }
  return text_of(own);
}

}  // namespace

std::string own_address(const Place& place, Control& control) {
  const sockaddr_in first = resolve(place.address);
  const std::string own = port_towards(first);
  Packer packer;
  packer.text(own);
  packer.text(text_of(first));
  for (const std::string& content : control.gather(packer.take()).contents) {
    Unpacker unpacker(content);
    const std::string theirs = unpacker.text();
    const std::string calls_first = unpacker.text();
    if (is_loopback(own) && !is_loopback(theirs) && !is_loopback(calls_first)) {
      return calls_first;  // we are on rank 0's machine, under a name that means something else elsewhere
    }
  }
  return own;
}

}  // namespace lamina::validate::ranks
