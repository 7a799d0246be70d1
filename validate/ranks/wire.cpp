#include "validate/ranks/wire.hpp"

#include <array>
#include <cerrno>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sim/error/error.hpp"

namespace lamina::validate::ranks {
namespace {

constexpr std::uint64_t kLongest = std::uint64_t{1} << 34;

bool write_all(int socket, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = send(socket, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent <= 0) {
      return false;
    }
    data += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool read_all(int socket, char* data, std::size_t size, double timeout_s) {
  while (size > 0) {
    pollfd waiting{socket, POLLIN, 0};
    const int ready = poll(&waiting, 1, timeout_s < 0 ? -1 : static_cast<int>(timeout_s * 1e3));
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready <= 0) {
      return false;
    }
    const ssize_t got = recv(socket, data, size, 0);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return false;
    }
    data += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

struct Header {
  std::uint32_t magic = 0x4c414d31;  // a stranger on the port says something else
  std::uint32_t type = 0;
  std::uint64_t size = 0;
};

}  // namespace

bool write_frame(int socket, FrameType type, std::string_view content) {
  Header header;
  header.type = static_cast<std::uint32_t>(type);
  header.size = content.size();
  return write_all(socket, reinterpret_cast<const char*>(&header), sizeof header) &&
         write_all(socket, content.data(), content.size());
}

std::optional<Frame> read_frame(int socket, double timeout_s) {
  Header header;
  const std::uint32_t magic = header.magic;
  if (!read_all(socket, reinterpret_cast<char*>(&header), sizeof header, timeout_s) || header.magic != magic ||
      header.type > static_cast<std::uint32_t>(FrameType::kBye) || header.size > kLongest) {
    return std::nullopt;
  }
  Frame frame;
  frame.type = static_cast<FrameType>(header.type);
  std::array<char, 65536> part{};
  for (std::uint64_t left = header.size; left > 0;) {  // grows with what comes, not with what is announced
    const auto size = static_cast<std::size_t>(left < part.size() ? left : part.size());
    if (!read_all(socket, part.data(), size, timeout_s)) {
      return std::nullopt;
    }
    frame.content.append(part.data(), size);
    left -= size;
  }
  return frame;
}

const char* Unpacker::bytes(std::size_t count) {
  if (count > text_.size()) {
    throw error::EnvironmentError("a rank sent less than it announced; do all ranks run the same build?");
  }
  const char* start = text_.data();
  text_.remove_prefix(count);
  return start;
}

std::size_t Unpacker::checked(std::uint64_t count, std::size_t size) const {
  if (count > text_.size() / size) {
    throw error::EnvironmentError("a rank sent less than it announced; do all ranks run the same build?");
  }
  return static_cast<std::size_t>(count);
}

}  // namespace lamina::validate::ranks
