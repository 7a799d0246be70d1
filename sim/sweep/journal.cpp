#include "sim/sweep/journal.hpp"

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "sim/error/error.hpp"

namespace lamina::sweep {
namespace {

constexpr std::size_t kChecksum = 8;  ///< digits
constexpr std::string_view kMark = "{\"journal\":\"lamina.sweep/";

[[noreturn]] void fail(const char* action, const std::filesystem::path& file, int reason) {
  throw error::EnvironmentError(fmt::format("cannot {} {}: {}", action, file.string(), std::strerror(reason)));
}

std::string line_of(std::string_view payload) {
  const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(payload.data()), payload.size());
  return fmt::format("{:08x} {}\n", sum, payload);
}

/// The payload of the line at `at`, without its end; nothing when it is torn or was changed.
std::optional<std::string_view> payload_at(std::string_view text, std::size_t at, std::size_t end) {
  if (end == std::string_view::npos || end - at < kChecksum + 1) {
    return std::nullopt;
  }
  const std::string_view payload = text.substr(at + kChecksum + 1, end - at - kChecksum - 1);
  return line_of(payload) == text.substr(at, end + 1 - at) ? std::optional(payload) : std::nullopt;
}

std::string read_all(int descriptor, const std::filesystem::path& file) {
  std::string text;
  constexpr std::size_t kBlock = 1 << 20;
  while (true) {
    const std::size_t before = text.size();
    text.resize(before + kBlock);
    const ssize_t got = pread(descriptor, text.data() + before, kBlock, static_cast<off_t>(before));
    if (got < 0 && errno != EINTR) {
      fail("read", file, errno);
    }
    text.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0) {
      return text;
    }
  }
}

void write_all(int descriptor, std::string_view text, const std::filesystem::path& file) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      fail("write", file, errno);
    }
    text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
}

/// A lock of the process (not of its forked workers); false when another one has it.
bool lock(int descriptor, const std::filesystem::path& file) {
  struct flock whole {};

  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(descriptor, F_SETLK, &whole) == 0) {
    return true;
  }
  if (errno != EACCES && errno != EAGAIN) {
    fail("lock", file, errno);
  }
  return false;
}

/// The file may have been removed between opening and locking it, by a sweep that ended.
bool is_still_there(int descriptor, const std::filesystem::path& file) {
  struct stat opened {};

  struct stat named {};

  return fstat(descriptor, &opened) == 0 && stat(file.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

struct Content {
  std::vector<std::string> payloads;
  std::size_t valid_size = 0;  ///< up to the end of the last whole line
};

Content lines_after(std::string_view text, std::size_t at) {
  Content content;
  content.valid_size = at;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    if (const auto payload = payload_at(text, at, end)) {
      content.payloads.emplace_back(*payload);
      content.valid_size = end + 1;
    }
    if (end == std::string_view::npos) {
      break;
    }
    at = end + 1;
  }
  return content;
}

}  // namespace

Journal::Journal(std::filesystem::path file, int descriptor)
    : file_(std::move(file)), descriptor_(descriptor), synced_(std::chrono::steady_clock::now()) {}

Journal::Journal(Journal&& other) noexcept
    : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)), synced_(other.synced_) {}

Journal::~Journal() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

tl::expected<Journal::Opened, Journal::Refusal> Journal::open(const std::filesystem::path& file,
                                                              const std::string& head, bool restart) {
  constexpr int kMode = 0666;  // less the umask
  while (true) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
    if (descriptor < 0) {
      fail("open", file, errno);
    }
    Journal journal(file, descriptor);
    if (!lock(descriptor, file)) {
      return tl::unexpected(Refusal{fmt::format("another sweep is writing {}", file.string()), ""});
    }
    if (!is_still_there(descriptor, file)) {
      continue;
    }
    const std::string text = read_all(descriptor, file);
    const std::string first = line_of(head);
    const std::size_t end = text.find('\n');
    const auto found = payload_at(text, 0, end);
    const bool torn = !found && first.starts_with(text);  // it died before it had written its head
    if (!torn && (!found || !found->starts_with(kMark))) {
      return tl::unexpected(
          Refusal{fmt::format("{} is there and is no journal of a sweep; move it away", file.string()), ""});
    }
    if (found && *found != head && !restart) {
      return tl::unexpected(Refusal{fmt::format("{} belongs to another sweep", file.string()), std::string(*found)});
    }
    const bool goes_on = found && *found == head && !restart;
    Content content = goes_on ? lines_after(text, end + 1) : Content{};
    if (ftruncate(descriptor, static_cast<off_t>(content.valid_size)) != 0) {
      fail("truncate", file, errno);
    }
    if (!goes_on) {
      write_all(descriptor, first, file);
    }
    return Opened{std::move(journal), std::move(content.payloads)};
  }
}

void Journal::append(std::string_view payload) {
  write_all(descriptor_, line_of(payload), file_);
  if (std::chrono::steady_clock::now() - synced_ >= std::chrono::seconds(1)) {
    sync();
  }
}

void Journal::sync() {
  if (fdatasync(descriptor_) != 0 && errno != EINVAL) {  // EINVAL: no file that could be forced
    fail("write", file_, errno);
  }
  synced_ = std::chrono::steady_clock::now();
}

void Journal::remove() {
  unlink(file_.c_str());
}

void sync_file(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  for (const auto& [path, flags] : {std::pair(file, O_RDONLY), std::pair(folder, O_RDONLY | O_DIRECTORY)}) {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC);
    const bool done = descriptor >= 0 && (fsync(descriptor) == 0 || errno == EINVAL);
    const int reason = errno;
    if (descriptor >= 0) {
      close(descriptor);
    }
    if (!done) {
      fail("write", path, reason);
    }
  }
}

}  // namespace lamina::sweep
