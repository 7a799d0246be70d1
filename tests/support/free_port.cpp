#include "tests/support/free_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lamina::tests {

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t size = sizeof any;
  (void)bind(socket, reinterpret_cast<sockaddr*>(&any), sizeof any);
  (void)getsockname(socket, reinterpret_cast<sockaddr*>(&any), &size);
  close(socket);
  return ntohs(any.sin_port);
}

}  // namespace lamina::tests
