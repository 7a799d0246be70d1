#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "validate/cpu/large_pages.hpp"

/// Files that are written and read to be timed: not the page cache.
namespace lamina::validate::cpu {

/// Places, sizes and memory of direct transfers are whole pages.
inline constexpr std::size_t kPage = 4096;

[[nodiscard]] constexpr std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

using PageMemory = std::unique_ptr<char[], Free>;

/// Whole pages that exist, full of numbers that do not compress. Empty when there is not so much memory.
[[nodiscard]] PageMemory page_memory(std::size_t bytes);

/// A file without a name: it goes away with this object, whatever ends the process. Past the page cache (O_DIRECT)
/// where the file system can, else written through, and dropped from the cache before it is read.
class ScratchFile {
 public:
  /// @throws EnvironmentError with the folder and the reason
  explicit ScratchFile(const std::filesystem::path& folder);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  /// How it is written and read, for the conditions of a measurement.
  [[nodiscard]] std::string how() const;

  /// Infinity where the system does not say.
  [[nodiscard]] double free_bytes() const { return free_bytes_; }

  /// By any thread. `place`, `bytes` and `data`: whole pages, if it is direct.
  /// @throws EnvironmentError with the reason
  void write(const char* data, std::size_t bytes, std::size_t place = 0) const;
  void read(char* data, std::size_t bytes, std::size_t place = 0) const;

 private:
  int number_ = -1;
  bool direct_ = false;
  bool in_memory_ = false;
  double free_bytes_ = 0;
};

}  // namespace lamina::validate::cpu
