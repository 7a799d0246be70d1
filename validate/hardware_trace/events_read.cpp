#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <rapidjson/document.h>

#include "validate/hardware_trace/builder.hpp"
#include "validate/hardware_trace/events_file.hpp"
#include "validate/hardware_trace/numbers.hpp"

/// The short form of imported events, read.
namespace lamina::validate::hardware_trace {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kInt32 = std::numeric_limits<std::int32_t>::max();
constexpr double kMostBytesMoved = 1e18;

class Reader {
 public:
  explicit Reader(ByteSource& source) : source_(source) {}

  [[nodiscard]] std::vector<RankTrace> read() {
    if (!next_line() || line_.rfind(kEventsFileHead, 0) != 0) {
      fail("The first line does not name the schema.");
    }
    while (next_line()) {
      parse();
      if (document_.IsObject()) {
        open_rank();
      } else if (document_.IsArray() && !document_.Empty() && !traces_.empty()) {
        add_line();
      } else {
        fail("The line is no rank and no event of one.");
      }
    }
    for (const RankTrace& trace : traces_) {
      check(trace);
    }
    return std::move(traces_);
  }

 private:
  [[noreturn]] void fail(std::string problem) const {
    refuse(source_.file(), fmt::format("{} (line {})", std::move(problem), number_), line_,
           "what lamina trace import -o writes");
  }

  bool next_line() {
    constexpr std::size_t kLongest = std::size_t{16} << 20U;
    line_.clear();
    ++number_;
    while (true) {
      const int next = source_.peek();
      if (next < 0) {
        return !line_.empty();
      }
      source_.skip();
      if (next == '\n') {
        return true;
      }
      if (line_.size() >= kLongest) {
        fail("The line is too long.");
      }
      line_ += static_cast<char>(next);
    }
  }

  void parse() {
    document_.Parse<rapidjson::kParseIterativeFlag>(line_.data(), line_.size());
    if (document_.HasParseError()) {
      fail(fmt::format("The line is no JSON at character {}.", document_.GetErrorOffset() + 1));
    }
  }

  [[nodiscard]] std::int64_t whole(const rapidjson::Value& value, std::int64_t least, std::int64_t most) const {
    if (!value.IsInt64() || value.GetInt64() < least || value.GetInt64() > most) {
      fail(fmt::format("A number is missing, or not within {} and {}.", least, most));
    }
    return value.GetInt64();
  }

  [[nodiscard]] std::int64_t field(rapidjson::SizeType index, std::int64_t least, std::int64_t most) const {
    return whole(document_[index], least, most);
  }

  [[nodiscard]] std::int32_t small(rapidjson::SizeType index, std::int64_t least) const {
    return static_cast<std::int32_t>(field(index, least, kInt32));
  }

  [[nodiscard]] NameId name(rapidjson::SizeType index) const {
    const auto names = static_cast<std::int64_t>(traces_.back().names.size());
    return static_cast<NameId>(field(index, -1, names - 1));  // -1 is kNoName
  }

  [[nodiscard]] double bytes(rapidjson::SizeType index) const {
    const rapidjson::Value& value = document_[index];
    if (!value.IsNumber() || !(value.GetDouble() >= 0) || value.GetDouble() > kMostBytesMoved) {
      fail("A size is missing or makes no sense.");
    }
    return value.GetDouble();
  }

  [[nodiscard]] std::string_view text(const rapidjson::Value& value) const {
    if (!value.IsString()) {
      fail("A text is missing.");
    }
    return {value.GetString(), value.GetStringLength()};
  }

  /// The enumerator of a word.
  template <class Enumerator>
  [[nodiscard]] Enumerator word(const rapidjson::Value& value, std::size_t count) const {
    const std::string_view given = text(value);
    for (std::size_t i = 0; i < count; ++i) {
      if (word_for(static_cast<Enumerator>(i)) == given) {
        return static_cast<Enumerator>(i);
      }
    }
    fail("A word is unknown.");
  }

  void expect(rapidjson::SizeType size) const {
    if (document_.Size() != size) {
      fail(fmt::format("The line has {} values, not {}.", document_.Size(), size));
    }
  }

  [[nodiscard]] const rapidjson::Value& member(const char* key) const {
    const auto found = document_.FindMember(key);
    if (found == document_.MemberEnd()) {
      fail(fmt::format("\"{}\" is missing.", key));
    }
    return found->value;
  }

  void open_rank() {
    constexpr std::size_t kMostRanks = 1'000'000;
    if (traces_.size() >= kMostRanks) {
      fail("There are too many ranks.");
    }
    RankTrace trace;
    trace.file = fmt::format("{}: {}", source_.file(), text(member("file")));
    constexpr std::size_t kFormats = 3;
    trace.format = word<Format>(member("format"), kFormats);
    trace.rank = static_cast<std::int32_t>(whole(member("rank"), -1, kInt32));
    trace.world_size = static_cast<std::int32_t>(whole(member("world_size"), -1, kInt32));
    trace.device = static_cast<std::int32_t>(whole(member("device"), -1, kInt32));
    trace.device_name = text(member("device_name"));
    trace.backend = text(member("backend"));
    trace.title = text(member("title"));
    trace.base_ns = whole(member("base_ns"), 0, kLatestNs);
    trace.records = whole(member("records"), 0, kLargest / (1 << 20));
    traces_.push_back(std::move(trace));
  }

  void add_line();
  void add_event();
  void add_communication();

  void check_room(std::size_t size) const {
    if (size >= Limits{}.events) {
      fail("There are too many lines of one kind.");
    }
  }

  void check(const RankTrace& trace) const;

  ByteSource& source_;
  std::string line_;
  std::int64_t number_ = 0;
  rapidjson::Document document_;
  std::vector<RankTrace> traces_;
};

void Reader::add_line() {
  RankTrace& trace = traces_.back();
  const std::string_view tag = text(document_[0]);
  if (tag == "e") {
    add_event();
  } else if (tag == "n" || tag == "q") {
    expect(2);
    auto& into = tag == "n" ? trace.names : trace.streams;
    check_room(into.size());
    into.emplace_back(text(document_[1]));
  } else if (tag == "s") {
    expect(4);
    check_room(trace.steps.size());
    trace.steps.push_back(
        {field(1, -1, kLargest), field(2, kEarliestNs, kLatestNs), field(3, kEarliestNs, kLatestNs + kLongestNs)});
  } else if (tag == "a") {
    expect(7);
    check_room(trace.actions.size());
    const std::string_view kind = text(document_[4]);
    if (kind.size() != 1 || std::string_view("FBIW?").find(kind) == std::string_view::npos) {
      fail("An action is none of F, B, I, W and ?.");
    }
    trace.actions.push_back({field(1, kEarliestNs, kLatestNs), field(2, kEarliestNs, kLatestNs + kLongestNs), name(3),
                             kind.front(), small(5, -1), small(6, -1)});
  } else if (tag == "c") {
    add_communication();
  } else if (tag == "o") {
    expect(6);
    check_room(trace.operations.size());
    trace.operations.push_back({name(1), small(2, -1), small(3, -2), small(4, -1), bytes(5)});
  } else {
    fail("The line is of no known kind.");
  }
}

void Reader::add_communication() {
  expect(8);
  RankTrace& trace = traces_.back();
  check_room(trace.communications.size());
  Communication each;
  each.name = word<CollectiveName>(document_[1], kCollectiveNames);
  each.source = word<DetailSource>(document_[2], kDetailSources);
  each.bytes = bytes(3);
  each.group_size = small(4, 0);
  each.group = name(5);
  each.sequence = field(6, -1, kLargest);
  each.peer = small(7, -1);
  trace.communications.push_back(each);
}

void Reader::add_event() {
  expect(10);
  RankTrace& trace = traces_.back();
  check_room(trace.events.size());
  constexpr std::int64_t kMostSteps = 32000;
  Event event;
  event.kind = word<EventClass>(document_[1], kEventClasses);
  event.start_ns = field(2, kEarliestNs, kLatestNs);
  event.duration_ns = field(3, 0, kLongestNs);
  event.name = name(4);
  event.stream = small(5, -1);
  event.correlation = static_cast<std::uint32_t>(field(6, 0, std::numeric_limits<std::uint32_t>::max()));
  event.detail = small(7, -1);
  event.action = small(8, -1);
  event.step = static_cast<std::int16_t>(field(9, -1, kMostSteps));
  trace.events.push_back(event);
}

/// Numbers that stand for other lines.
void Reader::check(const RankTrace& trace) const {
  const bool timeline = trace.format == Format::kTimeline;
  const auto within = [](std::int32_t index, std::size_t size) { return index < 0 || std::cmp_less(index, size); };
  for (const Event& event : trace.events) {
    const bool described = event.kind != EventClass::kCommunication || event.detail >= 0;
    const bool fits =
        described && event.name != kNoName && within(event.detail, trace.communications.size()) &&
        within(event.action, timeline ? trace.operations.size() : trace.actions.size()) &&
        within(event.step, trace.steps.size()) &&
        (!timeline || (event.stream >= 0 && event.action >= 0 && std::cmp_less(event.stream, trace.streams.size())));
    if (!fits) {
      refuse(trace.file, "An event stands for a line that is not there.", {}, "what lamina trace import -o writes");
    }
  }
  if (trace.events.empty()) {
    refuse(trace.file, "A rank has no events.");
  }
}

}  // namespace

std::vector<RankTrace> read_events_file(ByteSource& source) {
  std::vector<RankTrace> result = Reader(source).read();
  if (result.empty()) {
    refuse(source.file(), "The file holds no rank.");
  }
  return result;
}

}  // namespace lamina::validate::hardware_trace
