#include "sim/report/perfetto_packets.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "sim/error/error.hpp"

namespace lamina::report {

namespace {

constexpr std::uint32_t kSequence = 1;  // one writer, one sequence; 0 would be invalid
constexpr std::uint32_t kNamesStartAfresh = 1;
constexpr std::uint32_t kNeedsNames = 2;
constexpr std::uint32_t kPacketTag = 0x0A;  // field 1 of Trace, length-delimited

constexpr std::array<const char*, 6> kArguments = {"phase", "stage", "layer", "micro_batch", "bytes", "flops"};

constexpr std::array<const char*, 6> kCategories = {"compute", "pipeline", "reduce", "restore", "tensor", "offload"};

std::uint64_t category_number(std::string_view category) {
  const auto found = std::find(kCategories.begin(), kCategories.end(), category);
  if (found == kCategories.end()) {
    throw error::InternalError("trace: unknown category " + std::string(category));
  }
  return static_cast<std::uint64_t>(std::distance(kCategories.begin(), found)) + 1;
}

perfetto::DebugAnnotation& new_argument(perfetto::TrackEvent& event, Argument name) {
  perfetto::DebugAnnotation& argument = *event.add_debug_annotations();
  argument.set_name_iid(static_cast<std::uint64_t>(name) + 1);
  return argument;
}

}  // namespace

std::uint64_t nanoseconds(double time_s) {
  const double time_ns = std::round(time_s * 1e9);
  constexpr double kLongest = 9e18;  // 285 years
  return time_ns > 0 ? static_cast<std::uint64_t>(std::min(time_ns, kLongest)) : 0;
}

void add_argument(perfetto::TrackEvent& event, Argument name, std::int64_t value) {
  new_argument(event, name).set_int_value(value);
}

void add_argument(perfetto::TrackEvent& event, Argument name, double value) {
  new_argument(event, name).set_double_value(value);
}

void add_argument(perfetto::TrackEvent& event, Argument name, std::string_view value) {
  new_argument(event, name).set_string_value(value.data(), value.size());
}

PacketWriter::PacketWriter(std::string& out) : out_(out) {
  write_names();
}

void PacketWriter::write_names() {
  perfetto::TracePacket packet;
  packet.set_sequence_flags(kNamesStartAfresh);
  perfetto::InternedData& names = *packet.mutable_interned_data();
  for (std::size_t i = 0; i < kCategories.size(); ++i) {
    perfetto::InternedName& entry = *names.add_event_categories();
    entry.set_iid(i + 1);
    entry.set_name(kCategories[i]);
  }
  for (std::size_t i = 0; i < kArguments.size(); ++i) {
    perfetto::InternedName& entry = *names.add_debug_annotation_names();
    entry.set_iid(i + 1);
    entry.set_name(kArguments[i]);
  }
  packet.set_trusted_packet_sequence_id(kSequence);
  append(packet);
}

PacketWriter::Process PacketWriter::add_process(const std::string& name, const std::string& command_line) {
  const Process process{next_track_++, next_id_++};
  perfetto::TracePacket packet;
  packet.set_trusted_packet_sequence_id(kSequence);
  perfetto::TrackDescriptor& descriptor = *packet.mutable_track_descriptor();
  descriptor.set_uuid(process.track);
  descriptor.mutable_process()->set_pid(process.pid);
  descriptor.mutable_process()->set_process_name(name);
  descriptor.mutable_process()->add_cmdline(command_line);
  append(packet);
  return process;
}

std::uint64_t PacketWriter::add_stream(const Process& process, const std::string& name) {
  perfetto::TracePacket packet;
  packet.set_trusted_packet_sequence_id(kSequence);
  perfetto::TrackDescriptor& descriptor = *packet.mutable_track_descriptor();
  descriptor.set_uuid(next_track_);
  descriptor.set_parent_uuid(process.track);
  descriptor.mutable_thread()->set_pid(process.pid);
  descriptor.mutable_thread()->set_tid(next_id_++);  // unique in the whole trace
  descriptor.mutable_thread()->set_thread_name(name);
  append(packet);
  return next_track_++;
}

std::uint64_t PacketWriter::add_counter(const Process& process, const std::string& name, bool bytes) {
  perfetto::TracePacket packet;
  packet.set_trusted_packet_sequence_id(kSequence);
  perfetto::TrackDescriptor& descriptor = *packet.mutable_track_descriptor();
  descriptor.set_uuid(next_track_);
  descriptor.set_parent_uuid(process.track);
  descriptor.set_name(name);
  perfetto::CounterDescriptor& counter = *descriptor.mutable_counter();
  if (bytes) {
    counter.set_unit(perfetto::CounterDescriptor::UNIT_SIZE_BYTES);
  }
  append(packet);
  return next_track_++;
}

perfetto::TrackEvent& PacketWriter::start_event(std::uint64_t track, std::uint64_t time_ns,
                                                perfetto::TrackEvent::Type type) {
  packet_.Clear();
  packet_.set_timestamp(time_ns);
  packet_.set_trusted_packet_sequence_id(kSequence);
  perfetto::TrackEvent& event = *packet_.mutable_track_event();
  event.set_type(type);
  event.set_track_uuid(track);
  return event;
}

perfetto::TrackEvent& PacketWriter::begin_slice(std::uint64_t track, double time_s, std::string_view category) {
  perfetto::TrackEvent& event = start_event(track, nanoseconds(time_s), perfetto::TrackEvent::TYPE_SLICE_BEGIN);
  packet_.set_sequence_flags(kNeedsNames);
  event.add_category_iids(category_number(category));
  return event;
}

void PacketWriter::write() {
  append(packet_);
}

void PacketWriter::end_slice(std::uint64_t track, double time_s) {
  (void)start_event(track, nanoseconds(time_s), perfetto::TrackEvent::TYPE_SLICE_END);
  append(packet_);
}

void PacketWriter::counter(std::uint64_t track, std::uint64_t time_ns, double value, bool bytes) {
  perfetto::TrackEvent& event = start_event(track, time_ns, perfetto::TrackEvent::TYPE_COUNTER);
  if (bytes) {
    event.set_counter_value(std::llround(value));
  } else {
    event.set_double_counter_value(value);
  }
  append(packet_);
}

void PacketWriter::append(const perfetto::TracePacket& packet) {
  const std::size_t size = packet.ByteSizeLong();
  out_ += static_cast<char>(kPacketTag);
  std::size_t length = size;
  for (; length >= 0x80; length >>= 7U) {  // base-128 varint
    out_ += static_cast<char>((length & 0x7FU) | 0x80U);
  }
  out_ += static_cast<char>(length);
  const std::size_t start = out_.size();
  out_.resize(start + size);
  packet.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(out_.data() + start));
}

}  // namespace lamina::report
