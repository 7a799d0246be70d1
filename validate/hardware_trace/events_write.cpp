#include <array>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <zlib.h>

#include "sim/error/error.hpp"
#include "sim/report/json_values.hpp"
#include "validate/hardware_trace/events_file.hpp"

/// The short form of imported events, written.
namespace lamina::validate::hardware_trace {
namespace {

/// Packs text as it comes; only the packed bytes are kept.
class Packer {
 public:
  Packer() {
    constexpr int kGzip = 15 + 16;  // largest window, gzip header without date: the same bytes every time
    constexpr int kMemory = 8;
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw error::EnvironmentError("out of memory while packing events");
    }
  }

  ~Packer() { deflateEnd(&stream_); }

  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  void line(std::string_view text) {
    waiting_ += text;
    waiting_ += '\n';
    constexpr std::size_t kPiece = std::size_t{1} << 16U;
    if (waiting_.size() >= kPiece) {
      pack(Z_NO_FLUSH);
    }
  }

  [[nodiscard]] std::string finish() {
    pack(Z_FINISH);
    return std::move(packed_);
  }

 private:
  void pack(int flush) {
    std::array<char, std::size_t{1} << 16U> buffer{};
    stream_.next_in = reinterpret_cast<Bytef*>(waiting_.data());
    stream_.avail_in = static_cast<uInt>(waiting_.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
      stream_.avail_out = static_cast<uInt>(buffer.size());
      (void)deflate(&stream_, flush);
      packed_.append(buffer.data(), buffer.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
    waiting_.clear();
  }

  z_stream stream_{};
  std::string waiting_;
  std::string packed_;
};

std::string text_of(const report::Json& json) {
  return json.dump(-1, ' ', false, report::Json::error_handler_t::replace);
}

std::int64_t number_of(NameId name) {
  return name == kNoName ? -1 : static_cast<std::int64_t>(name);
}

void write_lists(const RankTrace& trace, Packer& packer) {
  for (const std::string& name : trace.names) {
    packer.line(text_of(report::Json::array({"n", name})));
  }
  for (const std::string& name : trace.streams) {
    packer.line(text_of(report::Json::array({"q", name})));
  }
  for (const Step& step : trace.steps) {
    packer.line(fmt::format(R"(["s",{},{},{}])", step.number, step.start_ns, step.end_ns));
  }
  for (const Action& action : trace.actions) {
    packer.line(fmt::format(R"(["a",{},{},{},"{}",{},{}])", action.start_ns, action.end_ns, number_of(action.name),
                            action.kind, action.stage, action.micro_batch));
  }
  for (const Communication& each : trace.communications) {
    packer.line(fmt::format(R"(["c","{}","{}",{},{},{},{},{}])", word_for(each.name), word_for(each.source), each.bytes,
                            each.group_size, number_of(each.group), each.sequence, each.peer));
  }
  for (const Operation& each : trace.operations) {
    packer.line(fmt::format(R"(["o",{},{},{},{},{}])", number_of(each.phase), each.stage, each.layer, each.micro_batch,
                            each.bytes));
  }
}

void write_rank(const RankTrace& trace, Packer& packer) {
  packer.line(text_of(report::Json{{"file", std::filesystem::path(trace.file).filename().string()},
                                   {"format", word_for(trace.format)},
                                   {"rank", trace.rank},
                                   {"world_size", trace.world_size},
                                   {"device", trace.device},
                                   {"device_name", trace.device_name},
                                   {"backend", trace.backend},
                                   {"title", trace.title},
                                   {"base_ns", trace.base_ns},
                                   {"records", trace.records}}));
  write_lists(trace, packer);
  std::string line;
  for (const Event& event : trace.events) {
    line.clear();
    fmt::format_to(std::back_inserter(line), R"(["e","{}",{},{},{},{},{},{},{},{}])", word_for(event.kind),
                   event.start_ns, event.duration_ns, number_of(event.name), event.stream, event.correlation,
                   event.detail, event.action, event.step);
    packer.line(line);
  }
}

}  // namespace

std::string to_events_file(const std::vector<RankTrace>& traces) {
  Packer packer;
  packer.line(fmt::format("{},\"ranks\":{}}}", kEventsFileHead, traces.size()));
  for (const RankTrace& trace : traces) {
    write_rank(trace, packer);
  }
  return packer.finish();
}

}  // namespace lamina::validate::hardware_trace
