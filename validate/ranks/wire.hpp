#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Framed messages over a stream socket, and numbers in them. Both ends run the same build on machines of one byte
/// order.
namespace lamina::validate::ranks {

enum class FrameType : std::uint32_t {
  kHello,   ///< rank: number and fingerprint
  kBlob,    ///< rank: its part of a round that all ranks get
  kReport,  ///< rank: its part of a round that the coordinator keeps
  kAll,     ///< coordinator: the end of a round
  kFailed,  ///< rank: why it cannot go on; coordinator: another rank has failed
  kBye,
};

struct Frame {
  FrameType type = FrameType::kBlob;
  std::string content;
};

/// @return false when the other end is gone
[[nodiscard]] bool write_frame(int socket, FrameType type, std::string_view content);

/// Blocks until a frame is whole, or `timeout_s` (< 0: for ever) has passed without a byte.
/// @return nothing when the other end is gone or silent for too long
[[nodiscard]] std::optional<Frame> read_frame(int socket, double timeout_s);

/// Values one after the other as bytes.
class Packer {
 public:
  template <class Value>
  void value(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    text_.append(reinterpret_cast<const char*>(&value), sizeof(Value));
  }

  template <class Value>
  void array(const std::vector<Value>& values) {
    static_assert(std::is_trivially_copyable_v<Value>);
    value(static_cast<std::uint64_t>(values.size()));
    text_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
  }

  void text(std::string_view text) {
    value(static_cast<std::uint64_t>(text.size()));
    text_.append(text);
  }

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// Reads what a Packer wrote.
/// @throws EnvironmentError when the text is too short
class Unpacker {
 public:
  explicit Unpacker(std::string_view text) : text_(text) {}

  template <class Value>
  [[nodiscard]] Value value() {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value result;
    std::memcpy(&result, bytes(sizeof(Value)), sizeof(Value));
    return result;
  }

  template <class Value>
  [[nodiscard]] std::vector<Value> array() {
    const auto count = value<std::uint64_t>();
    std::vector<Value> result(checked(count, sizeof(Value)));
    if (count > 0) {
      std::memcpy(result.data(), bytes(count * sizeof(Value)), count * sizeof(Value));
    }
    return result;
  }

  [[nodiscard]] std::string text() {
    const auto count = value<std::uint64_t>();
    return {bytes(checked(count, 1)), static_cast<std::size_t>(count)};
  }

 private:
  [[nodiscard]] const char* bytes(std::size_t count);
  [[nodiscard]] std::size_t checked(std::uint64_t count, std::size_t size) const;

  std::string_view text_;
};

}  // namespace lamina::validate::ranks
