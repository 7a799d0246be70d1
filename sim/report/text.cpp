#include "sim/report/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace lamina::report {

namespace {

constexpr std::string_view kEllipsis = "…";

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

struct Range {
  char32_t first;
  char32_t last;
};

/// Smallest code point that needs this many bytes; smaller ones are overlong and invalid.
constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};

std::size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead < 0xE0) {
    return 2;
  }
  if (lead >= 0xE0 && lead < 0xF0) {
    return 3;
  }
  return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

/// Decodes the character at `position` (RFC 3629); an invalid byte counts as one character.
CodePoint decode(std::string_view text, std::size_t position) {
  const auto lead = static_cast<unsigned char>(text[position]);
  const std::size_t length = sequence_length(lead);
  if (length == 1) {
    return {lead, 1, true};
  }
  if (length == 0 || position + length > text.size()) {
    return {};
  }
  char32_t value = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[position + i]);
    if ((next & 0xC0U) != 0x80U) {
      return {};
    }
    value = (value << 6U) | (next & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || surrogate || value > 0x10FFFF) {
    return {};
  }
  return {value, length, true};
}

template <std::size_t Size>
bool within(char32_t value, const std::array<Range, Size>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [value](const Range& range) { return value >= range.first && value <= range.last; });
}

/// Marks that occupy no column of their own (Unicode general categories Mn and Me, the blocks in use).
constexpr std::array<Range, 17> kCombining = {{{0x0300, 0x036F},
                                               {0x0483, 0x0489},
                                               {0x0591, 0x05BD},
                                               {0x0610, 0x061A},
                                               {0x064B, 0x065F},
                                               {0x06D6, 0x06DC},
                                               {0x093C, 0x093C},
                                               {0x094D, 0x094D},
                                               {0x0E34, 0x0E3A},
                                               {0x0E47, 0x0E4E},
                                               {0x1AB0, 0x1AFF},
                                               {0x1DC0, 0x1DFF},
                                               {0x20D0, 0x20FF},
                                               {0x3099, 0x309A},
                                               {0xFE00, 0xFE0F},
                                               {0xFE20, 0xFE2F},
                                               {0xE0100, 0xE01EF}}};

/// East Asian Width W and F, and pictographs.
constexpr std::array<Range, 15> kWide = {{{0x1100, 0x115F},
                                          {0x231A, 0x231B},
                                          {0x23E9, 0x23F3},
                                          {0x2614, 0x27BF},
                                          {0x2B1B, 0x2B55},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0xA4CF},
                                          {0xA960, 0xA97C},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE30, 0xFE6F},
                                          {0xFF00, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F000, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};

/// Characters without shape that change direction or joining: dropped from names.
constexpr std::array<Range, 6> kInvisible = {
    {{0x00AD, 0x00AD}, {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE007F}}};

bool is_control(char32_t value) {
  return value < 0x20 || (value >= 0x7F && value < 0xA0) || value == 0x2028 || value == 0x2029;
}

std::size_t width_of(char32_t value) {
  if (value < 0x300) {
    return 1;
  }
  if (within(value, kCombining)) {
    return 0;
  }
  return within(value, kWide) ? 2 : 1;
}

/// Bytes of the longest beginning of `text` that takes at most `columns` columns.
std::size_t prefix_bytes(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  std::size_t position = 0;
  while (position < text.size()) {
    const CodePoint next = decode(text, position);
    const std::size_t width = next.valid ? width_of(next.value) : 1;
    if (used + width > columns) {
      break;
    }
    used += width;
    position += next.bytes;
  }
  return position;
}

/// Units that stay on the line of their number.
constexpr std::array<std::string_view, 21> kUnits = {"s",   "ms",  "us",  "ns",   "%",    "B",    "kB",
                                                     "MB",  "GB",  "TB",  "PB",   "KiB",  "MiB",  "GiB",
                                                     "TiB", "PiB", "B/s", "kB/s", "MB/s", "GB/s", "TB/s"};

/// Whether the space at `space` stands between a number and its unit.
bool joins_unit(std::string_view text, std::size_t space) {
  if (space == 0 || space >= text.size() || text[space - 1] < '0' || text[space - 1] > '9') {
    return false;
  }
  std::string_view unit = text.substr(space + 1);
  unit = unit.substr(0, unit.find(' '));
  while (!unit.empty() && std::string_view(".,;:)").find(unit.back()) != std::string_view::npos) {
    unit.remove_suffix(1);
  }
  return std::find(kUnits.begin(), kUnits.end(), unit) != kUnits.end();
}

/// Position of the next space at which a line may break, from `position` on; the end if there is none.
std::size_t next_break(std::string_view text, std::size_t position) {
  std::size_t space = text.find(' ', position);
  while (space != std::string_view::npos && joins_unit(text, space)) {
    space = text.find(' ', space + 1);
  }
  return std::min(space, text.size());
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    const CodePoint next = decode(text, position);
    if (!next.valid) {
      result += '?';
    } else if (is_control(next.value)) {
      result += ' ';
    } else if (!within(next.value, kInvisible)) {
      result += text.substr(position, next.bytes);
    }
    position += next.bytes;
  }
  return result;
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t position = 0; position < text.size();) {
    const CodePoint next = decode(text, position);
    columns += next.valid ? width_of(next.value) : 1;
    position += next.bytes;
  }
  return columns;
}

std::string truncate(std::string_view text, std::size_t columns) {
  if (display_width(text) <= columns) {
    return std::string(text);
  }
  if (columns == 0) {
    return {};
  }
  std::string result(text.substr(0, prefix_bytes(text, columns - 1)));
  result += kEllipsis;
  return result;
}

std::string pad_right(std::string_view text, std::size_t columns) {
  std::string result = truncate(text, columns);
  result.append(columns - display_width(result), ' ');
  return result;
}

std::string pad_left(std::string_view text, std::size_t columns) {
  const std::string content = truncate(text, columns);
  std::string result(columns - display_width(content), ' ');
  result += content;
  return result;
}

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  columns = std::max<std::size_t>(columns, 2);  // a wide character must fit
  std::vector<std::string> lines;
  std::string line;
  const auto flush = [&] {
    lines.push_back(line);
    line.clear();
  };
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t space = next_break(text, position);
    std::string_view word = text.substr(position, space - position);
    position = space + 1;
    if (!line.empty() && display_width(line) + 1 + display_width(word) > columns) {
      flush();
    }
    while (display_width(word) > columns) {
      const std::size_t bytes = prefix_bytes(word, columns);
      line = word.substr(0, bytes);
      flush();
      word.remove_prefix(bytes);
    }
    if (!word.empty()) {
      line += line.empty() ? "" : " ";
      line += word;
    }
  }
  if (!line.empty() || lines.empty()) {
    flush();
  }
  return lines;
}

std::string bar(double fraction, std::size_t columns) {
  constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double clamped = fraction > 0 ? std::min(fraction, 1.0) : 0.0;  // also turns NaN into 0
  const auto eighths = static_cast<std::size_t>(std::lround(clamped * static_cast<double>(columns) * 8));
  std::string result;
  for (std::size_t i = 0; i < eighths / 8; ++i) {
    result += "█";
  }
  result += kEighths[eighths % 8];
  return result;
}

}  // namespace lamina::report
