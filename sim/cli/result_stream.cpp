#include "sim/cli/result_stream.hpp"

#include <cerrno>
#include <cstring>
#include <string>

#include <unistd.h>

#include "sim/error/error.hpp"

namespace lamina::cli {

void ResultStream::write(std::string_view text) {
  while (!text.empty() && !reader_gone_) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      reader_gone_ = true;
    } else if (errno != EINTR) {
      throw error::EnvironmentError(std::string("cannot write to standard output: ") + std::strerror(errno));
    }
  }
}

}  // namespace lamina::cli
