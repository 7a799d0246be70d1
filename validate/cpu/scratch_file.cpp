#include "validate/cpu/scratch_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sim/error/error.hpp"

namespace lamina::validate::cpu {
namespace {

constexpr std::size_t kPiece = std::size_t{4} << 20;

/// `piece(done, size)` moves so many bytes at most, as pread and pwrite do.
template <class Piece>
void move(std::size_t bytes, const char* what, Piece piece) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t moved = piece(done, std::min(bytes - done, kPiece));
    if (moved > 0) {
      done += static_cast<std::size_t>(moved);
    } else if (moved == 0) {
      throw error::EnvironmentError(fmt::format("{}: the file ends", what));
    } else if (errno != EINTR) {
      throw error::EnvironmentError(fmt::format("{}: {}", what, std::strerror(errno)));
    }
  }
}

}  // namespace

PageMemory page_memory(std::size_t bytes) try {
  const std::size_t size = whole_pages(bytes);
  PageMemory memory = allocate_in_large_pages<char>(size, kPage);
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < size; i += sizeof state) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::memcpy(memory.get() + i, &state, sizeof state);
  }
  return memory;

} catch (const std::bad_alloc&) {
  return nullptr;
}

ScratchFile::ScratchFile(const std::filesystem::path& folder) {
  std::string name = (folder / "lamina-XXXXXX").string();
  number_ = mkostemp(name.data(), O_DIRECT | O_CLOEXEC);
  direct_ = number_ >= 0;
  if (!direct_ && errno == EINVAL) {  // the file system knows no direct access
    unlink(name.c_str());             // some make the file before they refuse
    name = (folder / "lamina-XXXXXX").string();
    number_ = mkostemp(name.data(), O_CLOEXEC);
  }
  if (number_ < 0) {
    throw error::EnvironmentError(fmt::format("no file can be made in {}: {}", folder.string(), std::strerror(errno)));
  }
  unlink(name.c_str());

  struct statfs system {};

  const bool known = fstatfs(number_, &system) == 0;
  in_memory_ = known && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
  free_bytes_ = known && system.f_bsize > 0 && system.f_blocks > 0
                    ? static_cast<double>(system.f_bavail) * static_cast<double>(system.f_bsize)
                    : std::numeric_limits<double>::infinity();
}

ScratchFile::~ScratchFile() {
  close(number_);
}

std::string ScratchFile::how() const {
  if (in_memory_) {
    return "in memory (tmpfs or ramfs): no disk is measured";
  }
  return direct_ ? "direct (O_DIRECT), in pieces of 4 MiB"
                 : "buffered, written through by fdatasync, dropped from the cache before they are read";
}

void ScratchFile::write(const char* data, std::size_t bytes, std::size_t place) const {
  move(bytes, "writing a file", [&](std::size_t done, std::size_t size) {
    return pwrite(number_, data + done, size, static_cast<off_t>(place + done));
  });
  if (!direct_ && fdatasync(number_) != 0) {
    throw error::EnvironmentError(fmt::format("fdatasync: {}", std::strerror(errno)));
  }
}

void ScratchFile::read(char* data, std::size_t bytes, std::size_t place) const {
  if (!direct_) {
    (void)posix_fadvise(number_, static_cast<off_t>(place), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
  }
  move(bytes, "reading a file", [&](std::size_t done, std::size_t size) {
    return pread(number_, data + done, size, static_cast<off_t>(place + done));
  });
}

}  // namespace lamina::validate::cpu
