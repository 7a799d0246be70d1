#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Bytes of a trace, a piece at a time, unpacked.
namespace lamina::validate::hardware_trace {

/// More than any profiler writes, unpacked: stops a compressed file that never ends.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 37;  // 128 GiB

/// Throws the ScenarioError for a trace file.
[[noreturn]] void refuse(const std::string& file, std::string problem, std::string read = {}, std::string allowed = {});

class ByteSource {
 public:
  explicit ByteSource(std::string file) : file_(std::move(file)) {}

  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// The next byte, or -1 at the end; stays where it is.
  [[nodiscard]] int peek() { return at_ < end_ || refill() ? static_cast<unsigned char>(*at_) : -1; }

  void skip() { ++at_; }  ///< the byte that `peek` has shown

  /// The next `count` bytes, or what is left; stays where it is. `count` <= 64 KiB.
  [[nodiscard]] std::string_view look_ahead(std::size_t count);

  /// At most `count` bytes, fewer only at the end.
  std::size_t read(char* into, std::size_t count);

  /// Bytes taken so far, unpacked.
  [[nodiscard]] std::int64_t position() const { return taken_before_ + (at_ - begin_); }

  [[nodiscard]] const std::string& file() const { return file_; }

  /// Bounds what is taken before the next call of it: a value that never ends is refused.
  void allow(std::int64_t bytes) { allowed_until_ = position() + bytes; }

 protected:
  /// Fills `buffer`; 0 at the end.
  [[nodiscard]] virtual std::size_t fetch(char* buffer, std::size_t size) = 0;

 private:
  [[nodiscard]] bool refill();

  std::string file_;
  std::vector<char> buffer_;
  const char* begin_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::int64_t taken_before_ = 0;  ///< bytes before `begin_`
  std::int64_t allowed_until_ = kMostBytes;
};

/// A file, unpacked when it starts as gzip files do.
/// @throws ScenarioError: no such file, a folder; later: damaged or short compressed data
/// @throws EnvironmentError: cannot be read
[[nodiscard]] std::unique_ptr<ByteSource> open_file(const std::filesystem::path& file);

/// `bytes`, which must outlive it; `file` is used in messages.
[[nodiscard]] std::unique_ptr<ByteSource> open_bytes(std::string_view bytes, const std::string& file);

/// The next `size` bytes of `archive` as a source of their own; refuses an archive that ends before.
[[nodiscard]] std::unique_ptr<ByteSource> open_member(ByteSource& archive, std::int64_t size, const std::string& file);

}  // namespace lamina::validate::hardware_trace
