#pragma once

#include <cstddef>

#include "validate/hardware_trace/byte_source.hpp"

namespace lamina::validate::hardware_trace {

/// What RapidJSON reads from. A zero byte ends the text for RapidJSON.
class JsonStream {
 public:
  using Ch = char;

  explicit JsonStream(ByteSource& source) : source_(source) {}

  [[nodiscard]] char Peek() const {
    const int next = source_.peek();
    return next < 0 ? '\0' : static_cast<char>(next);
  }

  char Take() {
    const int next = source_.peek();
    if (next < 0) {
      return '\0';
    }
    source_.skip();
    return static_cast<char>(next);
  }

  [[nodiscard]] std::size_t Tell() const { return static_cast<std::size_t>(source_.position()); }

  // Writing, which RapidJSON wants of every stream and does not use here.
  char* PutBegin() { return nullptr; }

  void Put(char) {}

  void Flush() {}

  std::size_t PutEnd(char*) { return 0; }

 private:
  ByteSource& source_;
};

}  // namespace lamina::validate::hardware_trace
