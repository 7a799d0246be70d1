#include "sim/scenario/text_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "sim/catalog/catalog.hpp"
#include "sim/error/error.hpp"
#include "sim/scenario/fault.hpp"

namespace lamina::scenario {
namespace {

/// Names beside the missing file that look like it.
std::string nearest_file(const std::filesystem::path& file) {
  constexpr std::size_t kMostNames = 1000;
  std::error_code status;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry(folder, status), end; !status && entry != end;
       entry.increment(status)) {
    if (names.size() == kMostNames) {
      break;
    }
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const std::string nearest = catalog::nearest_name(file.filename().string(), names);
  return nearest.empty() ? "" : (file.parent_path() / nearest).string();
}

/// Length of the UTF-8 sequence at `text[at]`, or 0 when it is malformed (overlong, surrogate, out of range, cut
/// short).
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) {
    return 1;
  }
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) {
    return 0;
  }
  for (std::size_t i = at + 1; i < at + length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  const unsigned char second = byte(at + 1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool outside = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || outside ? 0 : length;
}

[[noreturn]] void refuse_byte(std::string_view text, std::size_t at, const std::string& source, std::string problem) {
  const std::string_view before = text.substr(0, at);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const int line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::string read = fmt::format("byte 0x{:02X}", static_cast<unsigned char>(text[at]));
  fail({source, line, static_cast<int>(at - line_start) + 1}, "", {std::move(problem), read, "text in UTF-8"});
}

std::string read_stream(std::FILE* stream, const std::filesystem::path& file, std::size_t limit) {
  std::string content;
  std::vector<char> block(1 << 16);
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), stream)) {
    content.append(block.data(), count);
    if (content.size() > limit) {
      fail({file.string(), 0, 0}, "",
           {"The file is too large to be a scenario, a catalogue or a model configuration.",
            fmt::format("more than {} bytes", limit), fmt::format("at most {} bytes", limit)});
    }
  }
  if (std::ferror(stream) != 0) {
    throw error::EnvironmentError(fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
  }
  return content;
}

}  // namespace

std::string read_text_file(const std::filesystem::path& file, std::size_t limit) {
  std::error_code status;
  const std::filesystem::file_status found = std::filesystem::status(file, status);
  if (found.type() == std::filesystem::file_type::not_found) {
    fail({file.string(), 0, 0}, "", {"There is no such file.", "", "", nearest_file(file)});
  }
  if (std::filesystem::is_directory(found)) {
    fail({file.string(), 0, 0}, "", {"This is a folder, not a file.", "", "a file"});
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"), &std::fclose);
  if (!stream) {
    throw error::EnvironmentError(fmt::format("{}: cannot be opened: {}", file.string(), std::strerror(errno)));
  }
  return read_stream(stream.get(), file, limit);
}

void check_text(std::string_view text, const std::string& source) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool control = (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
    if (control) {
      refuse_byte(text, at, source, "The text contains a control character.");
    }
    const std::size_t length = utf8_length(text, at);
    if (length == 0) {
      refuse_byte(text, at, source, "The text is not valid UTF-8.");
    }
    at += length;
  }
}

}  // namespace lamina::scenario
