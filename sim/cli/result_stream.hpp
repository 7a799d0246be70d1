#pragma once

#include <string_view>

namespace lamina::cli {

/// Standard output, unbuffered and checked: a result that could not be written is an error, not a silence.
class ResultStream {
 public:
  /// Nothing is written any more once the reader has closed its end (`lamina ... | head`).
  /// @throws EnvironmentError when the output cannot take the text (disk full, closed descriptor)
  void write(std::string_view text);

  /// The reader is gone: no use in computing more for it.
  [[nodiscard]] bool reader_gone() const { return reader_gone_; }

 private:
  bool reader_gone_ = false;
};

}  // namespace lamina::cli
