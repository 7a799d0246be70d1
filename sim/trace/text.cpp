#include "sim/trace/text.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include "sim/error/error.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/scenario/text_file.hpp"

namespace lamina::trace {
namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 30U;

/// zlib's state, freed in every case.
class Inflater {
 public:
  Inflater() {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) {
      throw error::EnvironmentError("zlib could not be started: out of memory");
    }
  }

  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  Inflater(Inflater&&) = delete;
  Inflater& operator=(Inflater&&) = delete;

  ~Inflater() { inflateEnd(&stream_); }

  [[nodiscard]] z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

bool is_gzip(const std::string& data) {
  return data.size() >= 2 && data[0] == '\x1f' && data[1] == '\x8b';
}

[[noreturn]] void refuse(const std::string& file, std::string problem, std::string allowed = "") {
  scenario::fail({file, 0, 0}, "", {.problem = std::move(problem), .allowed = std::move(allowed)});
}

void check_size(std::size_t size, const std::string& file, std::size_t limit) {
  if (size > limit) {
    refuse(file, "The trace is too large.", fmt::format("at most {} bytes after unpacking", limit));
  }
}

}  // namespace

std::string unpack(std::string data, const std::string& file, std::size_t limit) {
  if (!is_gzip(data)) {
    check_size(data.size(), file, limit);
    return data;
  }
  Inflater inflater;
  z_stream& stream = inflater.stream();
  std::vector<char> block(std::size_t{1} << 18U);
  std::string result;
  std::size_t read = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END || read < data.size()) {
    if (status == Z_STREAM_END && inflateReset(&stream) != Z_OK) {
      throw error::InternalError("zlib: a stream could not be started again");
    }
    const std::size_t piece = std::min<std::size_t>(data.size() - read, std::numeric_limits<uInt>::max());
    stream.next_in = reinterpret_cast<Bytef*>(data.data() + read);
    stream.avail_in = static_cast<uInt>(piece);
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    status = inflate(&stream, Z_NO_FLUSH);
    read += piece - stream.avail_in;
    result.append(block.data(), block.size() - stream.avail_out);
    check_size(result.size(), file, limit);
    if (status == Z_BUF_ERROR) {
      refuse(file, fmt::format("The compressed file ends early: {} bytes could be unpacked.", result.size()));
    }
    if (status == Z_MEM_ERROR) {
      throw error::EnvironmentError(fmt::format("{}: out of memory while unpacking", file));
    }
    if (status != Z_OK && status != Z_STREAM_END) {
      refuse(file, fmt::format("The compressed data is damaged after {} bytes: {}.", read,
                               stream.msg != nullptr ? stream.msg : "not what gzip writes"));
    }
  }
  return result;
}

std::string read_unpacked(const std::filesystem::path& file) {
  return unpack(scenario::read_text_file(file, kMostBytes), file.string(), kMostBytes);
}

}  // namespace lamina::trace
