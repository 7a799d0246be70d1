#include "validate/hardware_trace/byte_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <zlib.h>

#include "sim/error/error.hpp"

namespace lamina::validate::hardware_trace {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18U;

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::filesystem::path& path) : ByteSource(path.string()) {
    errno = 0;
    stream_ = gzopen(path.c_str(), "rb");  // reads plain files as they are
    if (stream_ == nullptr) {
      throw error::EnvironmentError(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
    }
    gzbuffer(stream_, kBufferBytes);
  }

  ~FileSource() override { gzclose(stream_); }

  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

 protected:
  std::size_t fetch(char* buffer, std::size_t size) override {
    const int count = gzread(stream_, buffer, static_cast<unsigned>(size));
    int fault = Z_OK;
    const char* const text = gzerror(stream_, &fault);
    if (fault == Z_ERRNO) {
      throw error::EnvironmentError(fmt::format("cannot read {}: {}", file(), text));
    }
    if (count < 0 || (fault != Z_OK && fault != Z_STREAM_END)) {
      refuse(file(), fmt::format("The compressed data is damaged or ends early, after {} unpacked bytes.", position()),
             text == nullptr ? "" : text, "a whole gzip file");
    }
    return static_cast<std::size_t>(count);
  }

 private:
  gzFile stream_ = nullptr;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string_view bytes, std::string file) : ByteSource(std::move(file)), rest_(bytes) {}

 protected:
  std::size_t fetch(char* buffer, std::size_t size) override {
    const std::size_t count = std::min(size, rest_.size());
    std::copy_n(rest_.data(), count, buffer);
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
};

class MemberSource final : public ByteSource {
 public:
  MemberSource(ByteSource& archive, std::int64_t size, std::string file)
      : ByteSource(std::move(file)), archive_(archive), left_(size) {}

 protected:
  std::size_t fetch(char* buffer, std::size_t size) override {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(left_, static_cast<std::int64_t>(size)));
    const std::size_t count = archive_.read(buffer, wanted);
    if (count < wanted) {
      refuse(file(), "The archive ends within this member.");
    }
    left_ -= static_cast<std::int64_t>(count);
    return count;
  }

 private:
  ByteSource& archive_;
  std::int64_t left_;
};

}  // namespace

void refuse(const std::string& file, std::string problem, std::string read, std::string allowed) {
  constexpr std::size_t kShown = 80;
  if (read.size() > kShown) {
    read.resize(kShown);
    read += "...";
  }
  throw error::ScenarioError({{file, 0, 0}, {}, std::move(problem), std::move(read), std::move(allowed), {}});
}

bool ByteSource::refill() {
  taken_before_ += end_ - begin_;
  begin_ = at_ = end_ = buffer_.data();
  if (taken_before_ > std::min(allowed_until_, kMostBytes)) {
    refuse(file_, fmt::format("A single value is longer than any profiler writes (byte {}).", taken_before_));
  }
  buffer_.resize(kBufferBytes);
  const std::size_t count = fetch(buffer_.data(), buffer_.size());
  begin_ = at_ = buffer_.data();
  end_ = begin_ + count;
  return count > 0;
}

std::string_view ByteSource::look_ahead(std::size_t count) {
  while (static_cast<std::size_t>(end_ - at_) < count) {
    const auto have = static_cast<std::size_t>(end_ - at_);
    taken_before_ += at_ - begin_;
    buffer_.resize(kBufferBytes);
    if (have > 0) {
      std::memmove(buffer_.data(), at_, have);
    }
    const std::size_t more = fetch(buffer_.data() + have, buffer_.size() - have);
    begin_ = at_ = buffer_.data();
    end_ = begin_ + have + more;
    if (more == 0) {
      break;
    }
  }
  return {at_, std::min(count, static_cast<std::size_t>(end_ - at_))};
}

std::size_t ByteSource::read(char* into, std::size_t count) {
  std::size_t done = 0;
  while (done < count && (at_ < end_ || refill())) {
    const std::size_t piece = std::min(count - done, static_cast<std::size_t>(end_ - at_));
    std::copy_n(at_, piece, into + done);
    at_ += piece;
    done += piece;
  }
  return done;
}

std::unique_ptr<ByteSource> open_file(const std::filesystem::path& file) {
  std::error_code fault;
  const auto status = std::filesystem::status(file, fault);
  if (!std::filesystem::exists(status)) {
    refuse(file.string(), "There is no such file.");
  }
  if (std::filesystem::is_directory(status)) {
    refuse(file.string(), "This is a folder.", {}, "a trace file");
  }
  return std::make_unique<FileSource>(file);
}

std::unique_ptr<ByteSource> open_bytes(std::string_view bytes, const std::string& file) {
  return std::make_unique<MemorySource>(bytes, file);
}

std::unique_ptr<ByteSource> open_member(ByteSource& archive, std::int64_t size, const std::string& file) {
  return std::make_unique<MemberSource>(archive, size, file);
}

}  // namespace lamina::validate::hardware_trace
