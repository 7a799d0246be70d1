#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Text for a terminal: names come from users, so they may be long, wide, or carry control characters.
namespace lamina::report {

/// One line that is safe to print: invalid UTF-8 becomes "?", control characters and directional marks become spaces or
/// vanish, so that no name can move the cursor or start an escape sequence.
[[nodiscard]] std::string printable(std::string_view text);

/// Terminal columns of printable UTF-8: 0 for combining marks, 2 for East Asian wide characters and pictographs,
/// else 1.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// `text` if it fits into `columns`, otherwise its beginning with an ellipsis as the last column.
[[nodiscard]] std::string truncate(std::string_view text, std::size_t columns);

/// Exactly `columns` columns: truncated or filled with spaces on the right (`pad_right`) or the left (`pad_left`).
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t columns);
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t columns);

/// Lines of at most `columns` columns (at least 2), broken at spaces, but not between a number and its unit; longer
/// words are cut. Never empty.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t columns);

/// A bar of `fraction` (clamped to 0..1; NaN is 0) of `columns` columns, in eighths of a column, without padding.
[[nodiscard]] std::string bar(double fraction, std::size_t columns);

}  // namespace lamina::report
