#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace lamina::chakra {

/// Length-delimited messages of a file, one at a time: a varint with the length, then as many bytes.
class MessageStream {
 public:
  /// Both must outlive it; `file` is for messages.
  MessageStream(std::istream& bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  /// False at the end of the file. @throws ScenarioError for a length that is cut off, too long or too large, and for a
  /// message that is cut off
  [[nodiscard]] bool next();

  [[nodiscard]] const std::string& message() const { return message_; }

  /// Offset in the file of the message's length.
  [[nodiscard]] std::uint64_t offset() const { return start_; }

 private:
  [[nodiscard]] bool read_length(std::uint64_t& length);

  std::istream& bytes_;
  const std::string& file_;
  std::string message_;
  std::uint64_t start_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace lamina::chakra
