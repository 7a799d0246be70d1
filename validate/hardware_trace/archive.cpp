#include "validate/hardware_trace/archive.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

namespace lamina::validate::hardware_trace {
namespace {

// Offsets and sizes of the header's fields: POSIX.1-1988, ustar interchange format.
constexpr std::size_t kBlock = 512;
constexpr std::size_t kNameBytes = 100;
constexpr std::size_t kSizeAt = 124;
constexpr std::size_t kSizeBytes = 12;
constexpr std::size_t kTypeAt = 156;
constexpr std::size_t kMagicAt = 257;
constexpr std::size_t kPrefixAt = 345;
constexpr std::size_t kPrefixBytes = 155;

std::string text_at(std::string_view header, std::size_t at, std::size_t size) {
  const std::string_view field = header.substr(at, size);
  return std::string(field.substr(0, std::min(field.find('\0'), size)));
}

std::int64_t size_of(std::string_view header, const std::string& file) {
  std::int64_t size = 0;
  for (const char c : header.substr(kSizeAt, kSizeBytes)) {
    if (c == ' ' || c == '\0') {
      continue;
    }
    if (c < '0' || c > '7') {
      refuse(file, "The header of a member of this archive is damaged.", {}, "its size in octal digits");
    }
    size = size * 8 + (c - '0');
  }
  return size;  // 12 octal digits: at most 64 GiB
}

void drain(ByteSource& source, std::int64_t bytes) {
  std::array<char, kBlock> buffer{};
  while (bytes > 0) {
    const std::size_t wanted = static_cast<std::size_t>(std::min<std::int64_t>(bytes, kBlock));
    if (source.read(buffer.data(), wanted) < wanted) {
      refuse(source.file(), "The archive ends early.");
    }
    bytes -= static_cast<std::int64_t>(wanted);
  }
}

}  // namespace

bool is_archive(std::string_view head) {
  return head.size() >= kBlock && head.substr(kMagicAt, 5) == "ustar";
}

void for_each_member(ByteSource& archive, const std::function<void(ByteSource&)>& visit) {
  std::array<char, kBlock> block{};
  while (const std::size_t count = archive.read(block.data(), kBlock)) {
    const std::string_view header(block.data(), count);
    if (header.find_first_not_of('\0') == std::string_view::npos) {
      return;  // blocks of zeros end an archive
    }
    if (!is_archive(header)) {
      refuse(archive.file(),
             fmt::format("There is no member where the archive should have one (byte {}).", archive.position()));
    }
    const std::int64_t size = size_of(header, archive.file());
    const char type = header[kTypeAt];
    const std::int64_t padded = (size + static_cast<std::int64_t>(kBlock) - 1) / static_cast<std::int64_t>(kBlock) *
                                static_cast<std::int64_t>(kBlock);
    const std::int64_t start = archive.position();
    if (type == '0' || type == '\0') {
      const bool posix = header[kMagicAt + 5] == '\0';  // GNU keeps other things at the prefix
      const std::string prefix = posix ? text_at(header, kPrefixAt, kPrefixBytes) : std::string();
      const std::string name = text_at(header, 0, kNameBytes);
      const auto member = open_member(
          archive, size, fmt::format("{}: {}{}{}", archive.file(), prefix, prefix.empty() ? "" : "/", name));
      visit(*member);
    }
    drain(archive, padded - (archive.position() - start));
  }
}

}  // namespace lamina::validate::hardware_trace
