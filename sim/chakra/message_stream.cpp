#include "sim/chakra/message_stream.hpp"

#include <algorithm>
#include <istream>

#include <fmt/format.h>

#include "sim/chakra/fault.hpp"
#include "sim/chakra/trace.hpp"

namespace lamina::chakra {

bool MessageStream::read_length(std::uint64_t& length) {
  constexpr unsigned kMostShift = 63;
  constexpr unsigned kBitsPerByte = 7;
  constexpr unsigned kMore = 0x80;
  length = 0;
  for (unsigned shift = 0; shift <= kMostShift; shift += kBitsPerByte) {
    const auto byte = bytes_.rdbuf()->sbumpc();
    if (byte == std::char_traits<char>::eof()) {
      if (shift == 0) {
        return false;
      }
      refuse_file(file_, fmt::format("The trace is cut off at byte {}, inside the length of a message.", position_));
    }
    ++position_;
    length |= (static_cast<std::uint64_t>(byte) & (kMore - 1)) << shift;
    if ((static_cast<unsigned>(byte) & kMore) == 0) {
      return true;
    }
  }
  refuse_file(file_, fmt::format("The length of the message at byte {} has no end; this is no Chakra trace.", start_));
}

bool MessageStream::next() {
  constexpr std::uint64_t kChunk = 1U << 16U;  // a length is believed as far as bytes follow
  start_ = position_;
  std::uint64_t length = 0;
  if (!read_length(length)) {
    return false;
  }
  if (length > kLongestMessage) {
    refuse_file(file_, fmt::format("The message at byte {} is too long; this is no Chakra trace.", start_),
                fmt::format("{} bytes", length), fmt::format("at most {} bytes", kLongestMessage));
  }
  message_.clear();
  while (message_.size() < length) {
    const std::size_t before = message_.size();
    const auto wanted = static_cast<std::size_t>(std::min(kChunk, length - before));
    message_.resize(before + wanted);
    const auto got = bytes_.rdbuf()->sgetn(message_.data() + before, static_cast<std::streamsize>(wanted));
    position_ += static_cast<std::uint64_t>(got);
    if (got != static_cast<std::streamsize>(wanted)) {
      refuse_file(
          file_,
          fmt::format("The trace is cut off at byte {}, inside the message that starts at byte {}.", position_, start_),
          fmt::format("{} of {} bytes", before + static_cast<std::size_t>(got), length));
    }
  }
  return true;
}

}  // namespace lamina::chakra
