#include "validate/hardware_trace/read.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "validate/hardware_trace/archive.hpp"
#include "validate/hardware_trace/events_file.hpp"
#include "validate/hardware_trace/kineto.hpp"
#include "validate/hardware_trace/nsight.hpp"
#include "validate/hardware_trace/timeline_reader.hpp"

namespace lamina::validate::hardware_trace {
namespace {

constexpr std::size_t kHead = 512;

/// First byte that is no white space and no byte order mark; 0: none.
char first_character(std::string_view head) {
  if (head.substr(0, 3) == "\xEF\xBB\xBF") {
    head.remove_prefix(3);
  }
  const std::size_t at = head.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? '\0' : head[at];
}

/// JSON begins with a bracket, and what may follow it; in a binary file a bracket may be a length.
bool is_json(std::string_view head) {
  const char first = first_character(head);
  if (first != '{' && first != '[') {
    return false;
  }
  const char next = first_character(head.substr(head.find(first) + 1));
  return std::string_view("\"{}[]-0123456789tfnNI").find(next) != std::string_view::npos || next == '\0';
}

[[noreturn]] void refuse_format(const std::string& file, std::string_view head) {
  std::string allowed =
      "a trace of PyTorch's profiler (JSON, also gzip), an Nsight Systems export (SQLite), a .perfetto-trace of "
      "lamina run -o, or what lamina trace import -o wrote";
  if (head.empty()) {
    refuse(file, "The file is empty.", {}, allowed);
  }
  if (head.find("optype") != std::string_view::npos || head.find(",op,") != std::string_view::npos) {
    allowed = "kernels; this is a table of whole passes: lamina trace replay reads it";
  } else if (head.find("schema") != std::string_view::npos) {
    allowed = "a profiler trace; Chakra execution traces run with lamina run --trace";
  } else if (head.substr(0, 4) == "\x28\xB5\x2F\xFD") {
    allowed = "the file unpacked (zstd is not read)";
  } else if (head.substr(0, 4) == "PK\x03\x04") {
    allowed = "the file unpacked (zip is not read)";
  }
  refuse(file, "This is no trace of devices that can be read.", {}, std::move(allowed));
}

void skip_mark(ByteSource& source) {
  if (source.look_ahead(3) == "\xEF\xBB\xBF") {
    source.skip();
    source.skip();
    source.skip();
  }
}

std::vector<RankTrace> read_members(ByteSource& archive) {
  std::map<std::string, RankTrace> members;
  for_each_member(archive, [&](ByteSource& member) {
    if (is_json(member.look_ahead(kHead))) {
      members.insert_or_assign(member.file(), read_kineto(member));
    }
  });
  std::vector<RankTrace> result;
  for (auto& [name, trace] : members) {
    result.push_back(std::move(trace));
  }
  if (result.empty()) {
    refuse(archive.file(), "The archive has no member that is a trace in JSON.", {}, "unpacked JSON traces in it");
  }
  return result;
}

}  // namespace

std::vector<RankTrace> read_stream(ByteSource& source) {
  const std::string_view head = source.look_ahead(kHead);
  if (is_archive(head)) {
    return read_members(source);
  }
  if (!is_json(head)) {
    if (is_perfetto(head)) {
      return read_timeline(source);
    }
    refuse_format(source.file(), head);
  }
  if (head.substr(0, kEventsFileHead.size()) == kEventsFileHead) {
    return read_events_file(source);
  }
  skip_mark(source);
  std::vector<RankTrace> result;
  result.push_back(read_kineto(source));
  return result;
}

std::vector<RankTrace> read_file(const std::filesystem::path& file) {
  const std::unique_ptr<ByteSource> source = open_file(file);
  if (source->look_ahead(kSqliteHead.size()) == kSqliteHead) {
    return read_nsight(file);  // at random places, so not from the stream
  }
  return read_stream(*source);
}

std::vector<RankTrace> read_files(const std::vector<std::filesystem::path>& files) {
  std::vector<RankTrace> result;
  std::map<std::int32_t, std::string> taken;
  for (const std::filesystem::path& file : files) {
    for (RankTrace& trace : read_file(file)) {
      if (trace.rank >= 0 && trace.format != Format::kTimeline) {
        const auto [owner, is_new] = taken.emplace(trace.rank, trace.file);
        if (!is_new) {
          refuse(trace.file, fmt::format("This trace is of rank {}, and so is {}.", trace.rank, owner->second), {},
                 "the ranks of one run, each once");
        }
      }
      result.push_back(std::move(trace));
    }
  }
  std::stable_sort(result.begin(), result.end(), [](const RankTrace& a, const RankTrace& b) {
    return static_cast<std::uint32_t>(a.rank) < static_cast<std::uint32_t>(b.rank);  // unnamed ones last
  });
  return result;
}

}  // namespace lamina::validate::hardware_trace
