#include "validate/hardware_trace/timeline_reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "perfetto_trace.pb.h"
#include <fmt/format.h>

#include "validate/hardware_trace/classify.hpp"
#include "validate/hardware_trace/numbers.hpp"

namespace lamina::validate::hardware_trace {
namespace {

constexpr char kPacketTag = 0x0A;  // field 1 of Perfetto's Trace, length-delimited
constexpr std::uint64_t kLargestPacket = std::uint64_t{16} << 20U;

/// One process of the timeline while it is read.
struct Process {
  std::unique_ptr<Builder> builder;
  std::vector<std::vector<Event>> events;  ///< [stream]
};

struct Track {
  std::size_t process = 0;
  std::int32_t stream = 0;
  std::optional<Event> open;  ///< the slice that has begun
};

EventClass class_of(std::string_view category, std::string_view name) {
  if (category == "compute") {
    return EventClass::kCompute;
  }
  if (name.find("TO_HOST") != std::string_view::npos) {
    return EventClass::kCopyToHost;
  }
  return name.find("FROM_HOST") != std::string_view::npos ? EventClass::kCopyFromHost : EventClass::kCommunication;
}

CollectiveName collective_of_action(std::string_view name) {
  if (name.find("UNSHARD") != std::string_view::npos) {
    return CollectiveName::kAllGather;
  }
  if (name.find("REDUCE_GRAD") != std::string_view::npos) {
    return CollectiveName::kOther;  // a reduce-scatter or an all-reduce: the name does not tell
  }
  return collective_of(name);
}

class Reader {
 public:
  Reader(ByteSource& source, Limits limits) : source_(source), limits_(limits) {}

  [[nodiscard]] std::vector<RankTrace> read() {
    std::string bytes;
    while (next_packet(bytes)) {
      if (!packet_.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        fail("A packet is damaged");
      }
      ++records_;
      take();
    }
    return finish();
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const {
    refuse(source_.file(), fmt::format("{} (byte {}).", problem, source_.position()), {},
           "a .perfetto-trace of lamina run -o");
  }

  [[nodiscard]] bool next_packet(std::string& bytes) {
    const int tag = source_.peek();
    if (tag < 0) {
      return false;
    }
    source_.skip();
    std::uint64_t size = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {  // base-128 varint
      const int byte = source_.peek();
      if (byte < 0) {
        break;
      }
      source_.skip();
      size |= (static_cast<std::uint64_t>(byte) & 0x7FU) << shift;
      if (byte < 0x80) {
        break;
      }
    }
    if (tag != kPacketTag || size > kLargestPacket) {
      fail("There is no packet");
    }
    bytes.resize(static_cast<std::size_t>(size));
    if (source_.read(bytes.data(), bytes.size()) < bytes.size()) {
      fail("The file ends within a packet");
    }
    return true;
  }

  void take();
  void declare(const perfetto::TrackDescriptor& descriptor);
  void begin(const perfetto::TrackEvent& event, Track& track);
  void end(Track& track);
  [[nodiscard]] Operation operation_of(const perfetto::TrackEvent& event, Builder& builder) const;
  [[nodiscard]] std::vector<RankTrace> finish();

  [[nodiscard]] std::int64_t date() const {
    if (packet_.timestamp() > static_cast<std::uint64_t>(kLatestNs)) {
      fail("A date makes no sense");
    }
    return static_cast<std::int64_t>(packet_.timestamp());
  }

  ByteSource& source_;
  Limits limits_;
  perfetto::TracePacket packet_;
  std::int64_t records_ = 0;
  std::size_t events_ = 0;
  std::vector<Process> processes_;
  std::map<std::uint64_t, std::size_t> process_of_track_;
  std::map<std::uint64_t, Track> tracks_;
  std::map<std::uint64_t, std::string> categories_;
  std::map<std::uint64_t, std::string> arguments_;
};

void Reader::take() {
  if (packet_.has_interned_data()) {
    for (const auto& entry : packet_.interned_data().event_categories()) {
      categories_[entry.iid()] = entry.name();
    }
    for (const auto& entry : packet_.interned_data().debug_annotation_names()) {
      arguments_[entry.iid()] = entry.name();
    }
  }
  if (packet_.has_track_descriptor()) {
    declare(packet_.track_descriptor());
  }
  if (!packet_.has_track_event()) {
    return;
  }
  const perfetto::TrackEvent& event = packet_.track_event();
  const auto track = tracks_.find(event.track_uuid());
  if (track == tracks_.end()) {
    return;  // of a counter, or of somebody else
  }
  if (event.type() == perfetto::TrackEvent::TYPE_SLICE_BEGIN) {
    begin(event, track->second);
  } else if (event.type() == perfetto::TrackEvent::TYPE_SLICE_END) {
    end(track->second);
  }
}

void Reader::declare(const perfetto::TrackDescriptor& descriptor) {
  constexpr std::size_t kMostTracks = 1'000'000;
  if (processes_.size() + tracks_.size() > std::min(kMostTracks, limits_.events)) {
    fail("There are too many tracks");
  }
  if (descriptor.has_process()) {
    process_of_track_[descriptor.uuid()] = processes_.size();
    Process process;
    process.builder = std::make_unique<Builder>(source_.file(), Format::kTimeline, limits_);
    process.builder->trace().title = descriptor.process().process_name();
    processes_.push_back(std::move(process));
  } else if (descriptor.has_thread()) {
    const auto parent = process_of_track_.find(descriptor.parent_uuid());
    if (parent == process_of_track_.end()) {
      return;
    }
    Process& process = processes_[parent->second];
    Track track;
    track.process = parent->second;
    track.stream = static_cast<std::int32_t>(process.events.size());
    process.builder->trace().streams.push_back(descriptor.thread().thread_name());
    process.events.emplace_back();
    tracks_.insert_or_assign(descriptor.uuid(), std::move(track));
  }
}

Operation Reader::operation_of(const perfetto::TrackEvent& event, Builder& builder) const {
  Operation result;
  const auto small = [](const perfetto::DebugAnnotation& argument) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(argument.int_value(), -2, 0x7fffffff));
  };
  for (const perfetto::DebugAnnotation& argument : event.debug_annotations()) {
    const auto found = arguments_.find(argument.name_iid());
    if (found == arguments_.end()) {
      continue;
    }
    const std::string& name = found->second;
    if (name == "phase") {
      result.phase = builder.intern(argument.string_value());
    } else if (name == "stage") {
      result.stage = std::max(-1, small(argument));
    } else if (name == "layer") {
      result.layer = small(argument);
    } else if (name == "micro_batch") {
      result.micro_batch = std::max(-1, small(argument));
    } else if (name == "bytes") {
      constexpr double kMost = 1e18;
      const double bytes = argument.double_value();
      result.bytes = bytes >= 0 && bytes <= kMost ? bytes : 0;
    }
  }
  return result;
}

void Reader::begin(const perfetto::TrackEvent& slice, Track& track) {
  Builder& builder = *processes_[track.process].builder;
  if (track.open) {
    fail("A slice begins before the one before it has ended");
  }
  if (++events_ > limits_.events) {
    fail("There are too many slices");
  }
  RankTrace& trace = builder.trace();
  const auto category = slice.category_iids_size() > 0 ? categories_.find(slice.category_iids(0)) : categories_.end();
  const Operation operation = operation_of(slice, builder);
  if (category == categories_.end() || operation.phase == kNoName) {
    fail("A slice has no category or no phase: this is no timeline of Lamina");
  }
  Event event;
  event.start_ns = date();
  event.name = builder.intern(slice.name());
  event.stream = track.stream;
  event.action = static_cast<std::int32_t>(trace.operations.size());
  event.kind = class_of(category->second, slice.name());
  if (event.kind == EventClass::kCommunication) {
    event.detail = static_cast<std::int32_t>(trace.communications.size());
    Communication detail;
    detail.name = collective_of_action(slice.name());
    detail.source = DetailSource::kTimeline;
    detail.bytes = operation.bytes;
    detail.group = builder.intern(category->second);
    trace.communications.push_back(detail);
  }
  trace.operations.push_back(operation);
  track.open = event;
}

void Reader::end(Track& track) {
  if (!track.open) {
    fail("A slice ends that has not begun");
  }
  track.open->duration_ns = date() - track.open->start_ns;
  if (track.open->duration_ns < 0 || track.open->duration_ns > kLongestNs) {
    fail("A slice ends before it begins, or years later");
  }
  processes_[track.process].events[static_cast<std::size_t>(track.stream)].push_back(*track.open);
  track.open.reset();
}

std::vector<RankTrace> Reader::finish() {
  for (const auto& [uuid, track] : tracks_) {
    if (track.open) {
      fail("The file ends before a slice has");
    }
  }
  std::vector<RankTrace> result;
  for (Process& process : processes_) {
    RankTrace& trace = process.builder->trace();
    for (std::vector<Event>& events : process.events) {
      trace.events.insert(trace.events.end(), events.begin(), events.end());
    }
    trace.records = static_cast<std::int64_t>(trace.events.size());
    if (!trace.events.empty()) {
      result.push_back(std::move(trace));
    }
  }
  if (result.empty()) {
    fail("The trace holds no slices: this is no timeline of Lamina");
  }
  return result;
}

}  // namespace

bool is_perfetto(std::string_view head) {
  return head.size() > 2 && head.front() == kPacketTag;
}

std::vector<RankTrace> read_timeline(ByteSource& source, Limits limits) {
  return Reader(source, limits).read();
}

}  // namespace lamina::validate::hardware_trace
