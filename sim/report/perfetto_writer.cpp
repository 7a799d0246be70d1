#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/report/action_name.hpp"
#include "sim/report/names.hpp"
#include "sim/report/perfetto.hpp"
#include "sim/report/perfetto_counters.hpp"
#include "sim/report/perfetto_packets.hpp"

namespace lamina::report {

namespace {

/// Ranks of one role whose spans differ by less than this share of the step are shown once.
constexpr double kSameTimes = 1e-9;

/// What all parts below read.
struct Recording {
  const graph::OperationGraph& graph;
  const deployment::Deployment& deployment;
  const timeline::Timeline& timeline;
  std::string label;             ///< in front of the names of processes
  std::uint64_t first_flow = 1;  ///< number of the first arrow

  [[nodiscard]] const graph::Program& program_of(std::size_t rank) const {
    return graph.programs[static_cast<std::size_t>(deployment.ranks[rank].program)];
  }
};

/// One deployment rank that gets a process.
struct Shown {
  std::size_t rank = 0;
  double devices = 0;
  std::vector<std::uint64_t> tracks;                   ///< [stream]
  std::vector<std::vector<std::uint32_t>> operations;  ///< [stream], in stream order
};

void check(const Recording& recording) {
  if (recording.timeline.spans.size() != recording.deployment.ranks.size()) {
    throw error::InternalError("trace: timeline and deployment differ in their ranks");
  }
  for (std::size_t rank = 0; rank < recording.deployment.ranks.size(); ++rank) {
    const std::int32_t program = recording.deployment.ranks[rank].program;
    const bool known = program >= 0 && static_cast<std::size_t>(program) < recording.graph.programs.size();
    if (!known || recording.timeline.spans[rank].size() != recording.program_of(rank).operations.size()) {
      throw error::InternalError(fmt::format("trace: the spans of rank {} do not match its program", rank));
    }
  }
}

bool same_times(const std::vector<timeline::Span>& a, const std::vector<timeline::Span>& b, double tolerance_s) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [tolerance_s](const timeline::Span& left, const timeline::Span& right) {
        return std::abs(left.start - right.start) <= tolerance_s && std::abs(left.end - right.end) <= tolerance_s;
      });
}

/// One entry per role, and one more for each rank of it that did something else at another time.
std::vector<Shown> choose_ranks(const Recording& recording) {
  const double tolerance_s = kSameTimes * recording.timeline.end_s;
  std::vector<std::vector<std::size_t>> by_program(recording.graph.programs.size());  // indices into `shown`
  std::vector<Shown> shown;
  for (std::size_t rank = 0; rank < recording.deployment.ranks.size(); ++rank) {
    std::vector<std::size_t>& earlier = by_program[static_cast<std::size_t>(recording.deployment.ranks[rank].program)];
    const auto twin = std::find_if(earlier.begin(), earlier.end(), [&](std::size_t other) {
      return same_times(recording.timeline.spans[shown[other].rank], recording.timeline.spans[rank], tolerance_s);
    });
    const double devices = recording.deployment.ranks[rank].multiplicity;
    if (twin != earlier.end()) {
      shown[*twin].devices += devices;
      continue;
    }
    earlier.push_back(shown.size());
    shown.push_back({rank, devices, {}, {}});
  }
  std::stable_sort(shown.begin(), shown.end(), [&](const Shown& a, const Shown& b) {
    return recording.deployment.ranks[a.rank].program < recording.deployment.ranks[b.rank].program;
  });
  return shown;
}

void sort_into_streams(const Recording& recording, Shown& shown) {
  const graph::Program& program = recording.program_of(shown.rank);
  shown.operations.resize(program.streams.size());
  for (std::uint32_t operation = 0; operation < program.operations.size(); ++operation) {
    shown.operations.at(program.operations[operation].stream).push_back(operation);
  }
}

std::string title_of(const Recording& recording, const Shown& shown) {
  const deployment::Rank& rank = recording.deployment.ranks[shown.rank];
  std::string title = fmt::format("{}pipeline rank {}", recording.label, rank.program);
  if (shown.devices == 1) {
    title += fmt::format(" (data {}, tensor {})", rank.data, rank.tensor);
  } else {
    title += fmt::format(" ({:.0f} devices)", shown.devices);
  }
  return title;
}

void declare(const Recording& recording, Shown& shown, const std::string& name, PacketWriter& writer) {
  const PacketWriter::Process process = writer.add_process(title_of(recording, shown), name);
  const graph::Program& program = recording.program_of(shown.rank);
  for (const graph::Stream& stream : program.streams) {
    shown.tracks.push_back(writer.add_stream(process, stream.name));
  }
  for (const graph::MemoryCategory category : kMemoryOrder) {
    const std::vector<Sample> samples = memory_over_time(program, recording.timeline.spans[shown.rank], category);
    if (samples.empty()) {
      continue;
    }
    const std::uint64_t track = writer.add_counter(process, fmt::format("memory: {}", word_for(category)), true);
    for (const Sample& sample : samples) {
      writer.counter(track, sample.time_ns, sample.value, true);
    }
  }
}

/// Number of the arrow that a message belongs to: the sender's rank and vertex, the same at both ends.
std::uint64_t flow_number(const Recording& recording, std::size_t rank, std::uint32_t operation) {
  const deployment::Rank& from = recording.deployment.ranks[rank];
  const std::uint32_t vertex = recording.graph.vertex(from.program, operation);
  const graph::Operation& message = recording.program_of(rank).operations[operation];
  const auto channel = static_cast<std::size_t>(from.channels.at(message.channel));
  const bool sends = message.kind == graph::OperationKind::kSend;
  const auto sender = static_cast<std::uint64_t>(recording.deployment.channels.at(channel).sender);
  return sender * recording.graph.size() + (sends ? vertex : recording.graph.partner.at(vertex)) + recording.first_flow;
}

bool has_arrow(const Recording& recording, const std::vector<bool>& is_shown, std::size_t rank,
               const graph::Operation& operation) {
  const bool sends = operation.kind == graph::OperationKind::kSend;
  if (!sends && operation.kind != graph::OperationKind::kReceive) {
    return false;
  }
  const auto channel = static_cast<std::size_t>(recording.deployment.ranks[rank].channels.at(operation.channel));
  const deployment::Channel& ends = recording.deployment.channels.at(channel);
  const std::int32_t peer = sends ? ends.receiver : ends.sender;
  return peer >= 0 && is_shown.at(static_cast<std::size_t>(peer));
}

void add_arguments(perfetto::TrackEvent& event, const graph::Operation& operation) {
  constexpr std::int32_t kNoLayer = -2;
  add_argument(event, Argument::kPhase, word_for(operation.phase));
  if (operation.stage >= 0) {
    add_argument(event, Argument::kStage, std::int64_t{operation.stage});
  }
  if (operation.layer != kNoLayer) {
    add_argument(event, Argument::kLayer, std::int64_t{operation.layer});
  }
  if (operation.micro_batch >= 0) {
    add_argument(event, Argument::kMicroBatch, std::int64_t{operation.micro_batch});
  }
  if (operation.bytes > 0) {
    add_argument(event, Argument::kBytes, operation.bytes);
  }
  if (operation.flops > 0) {
    add_argument(event, Argument::kFlops, operation.flops);
  }
}

void write_stream(const Recording& recording, const std::vector<bool>& is_shown, const Shown& shown, std::size_t stream,
                  PacketWriter& writer) {
  const graph::Program& program = recording.program_of(shown.rank);
  const std::vector<timeline::Span>& spans = recording.timeline.spans[shown.rank];
  double free_from = 0;  // rounding must not make neighbours overlap: the viewer would nest them
  for (const std::uint32_t number : shown.operations[stream]) {
    const graph::Operation& operation = program.operations[number];
    const double start = std::max(spans[number].start, free_from);
    const double end = std::max(spans[number].end, start);
    perfetto::TrackEvent& event = writer.begin_slice(shown.tracks[stream], start, category_of(operation));
    event.set_name(action_name(operation, program));
    add_arguments(event, operation);
    if (has_arrow(recording, is_shown, shown.rank, operation)) {
      event.add_flow_ids(flow_number(recording, shown.rank, number));
    }
    writer.write();
    writer.end_slice(shown.tracks[stream], end);
    free_from = end;
  }
}

/// Both ends of a message begin at one time, and the viewer lets an arrow start at the end that it reads first:
/// receives come last in the file.
void write_slices(const Recording& recording, const std::vector<Shown>& shown, PacketWriter& writer) {
  std::vector<bool> is_shown(recording.deployment.ranks.size());
  for (const Shown& entry : shown) {
    is_shown[entry.rank] = true;
  }
  for (const bool receives : {false, true}) {
    for (const Shown& entry : shown) {
      const graph::Program& program = recording.program_of(entry.rank);
      for (std::size_t stream = 0; stream < program.streams.size(); ++stream) {
        if ((program.streams[stream].kind == graph::StreamKind::kPipelineReceive) == receives) {
          write_stream(recording, is_shown, entry, stream, writer);
        }
      }
    }
  }
}

void write_links(const Recording& recording, const std::string& name, PacketWriter& writer) {
  const std::vector<LinkLoadOverTime> loads = busiest_links_over_time(recording.deployment, recording.timeline);
  if (std::none_of(loads.begin(), loads.end(), [](const LinkLoadOverTime& load) { return load.link >= 0; })) {
    return;
  }
  const PacketWriter::Process process = writer.add_process("network (busiest link of each class)", name);
  for (std::size_t index = 0; index < loads.size(); ++index) {
    if (loads[index].link < 0) {
      continue;
    }
    const auto link_class = static_cast<fabric::LinkClass>(index);
    const std::uint64_t track =
        writer.add_counter(process, fmt::format("load: {}, bytes/s", word_for(link_class)), false);
    for (const Sample& sample : loads[index].bytes_per_s) {
      writer.counter(track, sample.time_ns, sample.value, false);
    }
  }
}

}  // namespace

std::string to_perfetto(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                        const timeline::Timeline& timeline, const std::string& name) {
  const Recording recording{graph, deployment, timeline, ""};
  check(recording);
  std::string trace;
  PacketWriter writer(trace);
  std::vector<Shown> shown = choose_ranks(recording);
  constexpr std::size_t kTypicalBytes = 128;  // of one operation: begin with its arguments, and end
  std::size_t operations = 0;
  for (const Shown& entry : shown) {
    operations += recording.program_of(entry.rank).operations.size();
  }
  trace.reserve(trace.size() + kTypicalBytes * operations);
  for (Shown& entry : shown) {
    sort_into_streams(recording, entry);
    declare(recording, entry, name, writer);
  }
  write_slices(recording, shown, writer);
  write_links(recording, name, writer);
  return trace;
}

std::string to_perfetto(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                        const timeline::Timeline& predicted, const timeline::Timeline& measured,
                        const std::string& name) {
  const Recording first{graph, deployment, predicted, "predicted: "};
  const Recording second{graph, deployment, measured, "measured: ", 1 + deployment.ranks.size() * graph.size()};
  check(first);
  check(second);
  std::string trace;
  PacketWriter writer(trace);
  std::vector<Shown> shown = choose_ranks(second);
  std::vector<Shown> of_prediction = shown;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    sort_into_streams(first, of_prediction[i]);
    declare(first, of_prediction[i], name, writer);
    sort_into_streams(second, shown[i]);
    declare(second, shown[i], name, writer);
  }
  write_slices(first, of_prediction, writer);
  write_slices(second, shown, writer);
  return trace;
}

}  // namespace lamina::report
