#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// Reads a Perfetto trace by its wire format (protobuf.dev, "Encoding") and the field numbers of Perfetto's public
/// .proto files, independently of the schema that the writer compiles.
namespace lamina::report::decoder {

/// One protobuf message: values by field number, in file order.
struct Message {
  std::multimap<std::uint32_t, std::uint64_t> numbers;  ///< varint and fixed64
  std::multimap<std::uint32_t, std::string> strings;    ///< length-delimited

  [[nodiscard]] bool has(std::uint32_t field) const { return numbers.contains(field) || strings.contains(field); }

  [[nodiscard]] std::uint64_t number(std::uint32_t field) const {
    const auto found = numbers.find(field);
    return found == numbers.end() ? 0 : found->second;
  }

  [[nodiscard]] std::string text(std::uint32_t field) const {
    const auto found = strings.find(field);
    return found == strings.end() ? std::string() : found->second;
  }

  [[nodiscard]] double real(std::uint32_t field) const {
    const std::uint64_t bits = number(field);
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] bool done() const { return position_ == bytes_.size(); }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    throw std::runtime_error("varint too long");
  }

  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - position_) {
      throw std::runtime_error("message cut short");
    }
    const std::string_view result = bytes_.substr(position_, count);
    position_ += count;
    return result;
  }

 private:
  std::string_view bytes_;
  std::size_t position_ = 0;
};

inline Message read_message(std::string_view bytes) {
  Message message;
  Reader reader(bytes);
  while (!reader.done()) {
    const std::uint64_t tag = reader.varint();
    const auto field = static_cast<std::uint32_t>(tag >> 3U);
    switch (tag & 7U) {
      case 0:
        message.numbers.emplace(field, reader.varint());
        break;
      case 1: {
        std::uint64_t value = 0;
        std::memcpy(&value, reader.take(8).data(), 8);  // little-endian, as all our machines
        message.numbers.emplace(field, value);
        break;
      }
      case 2:
        message.strings.emplace(field, reader.take(reader.varint()));
        break;
      default:
        throw std::runtime_error("unexpected wire type");
    }
  }
  return message;
}

struct Event {
  int type = 0;  ///< 1 begin, 2 end, 4 counter
  std::uint64_t time_ns = 0;
  std::string name;
  std::string category;
  std::map<std::string, std::string> arguments;  ///< numbers as text
  std::vector<std::uint64_t> flows;
  double counter = 0;
};

struct Track {
  std::uint64_t parent = 0;
  std::string name;
  std::int64_t pid = 0;
  bool is_process = false;
  bool is_counter = false;
  bool in_bytes = false;
  std::vector<Event> events;  ///< in file order
};

struct Trace {
  std::map<std::uint64_t, Track> tracks;  ///< by uuid
  std::size_t packets = 0;
  std::vector<std::uint64_t> flow_order;  ///< flow numbers as they appear in the file

  /// The track of this name under the process of this name; throws if there is none.
  [[nodiscard]] const Track& track(const std::string& process, const std::string& name) const {
    for (const auto& [uuid, track] : tracks) {
      if (track.name == name && !track.is_process && tracks.at(track.parent).name == process) {
        return track;
      }
    }
    throw std::runtime_error("no track " + name + " of " + process);
  }

  [[nodiscard]] std::vector<std::string> processes() const {
    std::vector<std::string> names;
    for (const auto& [uuid, track] : tracks) {
      if (track.is_process) {
        names.push_back(track.name);
      }
    }
    return names;
  }
};

/// TrackDescriptor: uuid 1, name 2, process 3 (pid 1, process_name 6), thread 4 (pid 1, thread_name 5), parent_uuid 5,
/// counter 8 (unit 3).
inline void add_track(Trace& trace, const Message& descriptor) {
  Track& track = trace.tracks[descriptor.number(1)];
  track.parent = descriptor.number(5);
  track.name = descriptor.text(2);
  track.is_process = descriptor.has(3);
  track.is_counter = descriptor.has(8);
  if (track.is_process) {
    const Message process = read_message(descriptor.text(3));
    track.name = process.text(6);
    track.pid = static_cast<std::int64_t>(process.number(1));
  } else if (descriptor.has(4)) {
    const Message thread = read_message(descriptor.text(4));
    track.name = thread.text(5);
    track.pid = static_cast<std::int64_t>(thread.number(1));
  } else if (track.is_counter) {
    track.in_bytes = read_message(descriptor.text(8)).number(3) == 3;
  }
}

struct Names {
  std::map<std::uint64_t, std::string> categories;
  std::map<std::uint64_t, std::string> arguments;
};

/// InternedData: event_categories 1, debug_annotation_names 3; entries: iid 1, name 2.
inline void add_names(Names& names, const Message& interned) {
  const auto [first, last] = interned.strings.equal_range(1);
  for (auto entry = first; entry != last; ++entry) {
    const Message name = read_message(entry->second);
    names.categories[name.number(1)] = name.text(2);
  }
  const auto [begin, end] = interned.strings.equal_range(3);
  for (auto entry = begin; entry != end; ++entry) {
    const Message name = read_message(entry->second);
    names.arguments[name.number(1)] = name.text(2);
  }
}

/// DebugAnnotation: name_iid 1, int_value 4, double_value 5, string_value 6.
inline void add_argument(Event& event, const Names& names, const Message& argument) {
  std::string& value = event.arguments[names.arguments.at(argument.number(1))];
  if (argument.has(4)) {
    value = std::to_string(static_cast<std::int64_t>(argument.number(4)));
  } else if (argument.has(5)) {
    value = std::to_string(argument.real(5));
  } else {
    value = argument.text(6);
  }
}

/// TrackEvent: category_iids 3, debug_annotations 4, type 9, track_uuid 11, name 23, counter_value 30,
/// double_counter_value 44, flow_ids 47.
inline void add_event(Trace& trace, const Names& names, std::uint64_t time_ns, const Message& message) {
  Event event;
  event.type = static_cast<int>(message.number(9));
  event.time_ns = time_ns;
  event.name = message.text(23);
  if (message.has(3)) {
    event.category = names.categories.at(message.number(3));
  }
  const auto [begin, end] = message.strings.equal_range(4);
  for (auto argument = begin; argument != end; ++argument) {
    add_argument(event, names, read_message(argument->second));
  }
  const auto [first_flow, last_flow] = message.numbers.equal_range(47);
  for (auto flow = first_flow; flow != last_flow; ++flow) {
    event.flows.push_back(flow->second);
    trace.flow_order.push_back(flow->second);
  }
  event.counter =
      message.has(44) ? message.real(44) : static_cast<double>(static_cast<std::int64_t>(message.number(30)));
  trace.tracks.at(message.number(11)).events.push_back(event);  // a track is declared before its first event
}

/// Trace: packet 1. TracePacket: timestamp 8, trusted_packet_sequence_id 10, track_event 11, interned_data 12,
/// sequence_flags 13, track_descriptor 60.
inline Trace read_trace(std::string_view bytes) {
  Trace trace;
  Names names;
  Reader reader(bytes);
  while (!reader.done()) {
    if (reader.varint() != 0x0A) {  // field 1, length-delimited
      throw std::runtime_error("not a packet");
    }
    const Message packet = read_message(reader.take(reader.varint()));
    if (packet.number(10) == 0) {
      throw std::runtime_error("packet without a sequence");
    }
    if (trace.packets++ == 0 && (packet.number(13) & 1U) == 0) {
      throw std::runtime_error("the first packet does not start the interned names");
    }
    if (packet.has(12)) {
      add_names(names, read_message(packet.text(12)));
    }
    if (packet.has(60)) {
      add_track(trace, read_message(packet.text(60)));
    }
    if (packet.has(11)) {
      add_event(trace, names, packet.number(8), read_message(packet.text(11)));
    }
  }
  return trace;
}

}  // namespace lamina::report::decoder
