#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "sim/chakra/fault.hpp"
#include "sim/chakra/write.hpp"
#include "sim/report/action_name.hpp"
#include "sim/report/perfetto_packets.hpp"
#include "sim/report/text.hpp"

namespace lamina::chakra {
namespace {

/// A slice on a track.
struct Slice {
  std::size_t rank = 0;
  std::uint32_t operation = 0;
  std::uint64_t track = 0;
  timeline::Span span;
};

class Writer {
 public:
  Writer(const TraceRun& run, const Trace& trace, std::string& out) : run_(run), trace_(trace), packets_(out) {}

  void write() {
    for (std::size_t rank = 0; rank < run_.deployment.ranks.size(); ++rank) {
      lay_out(rank);
    }
    // Both ends of a message begin at one time, and the viewer lets an arrow start at the end that it reads first.
    for (const bool receives : {false, true}) {
      for (const Slice& slice : slices_) {
        if ((operation(slice).kind == graph::OperationKind::kReceive) == receives) {
          write(slice);
        }
      }
    }
  }

 private:
  [[nodiscard]] const graph::Program& program(std::size_t rank) const {
    return run_.imported.graph.programs[static_cast<std::size_t>(run_.deployment.ranks[rank].program)];
  }

  [[nodiscard]] const graph::Operation& operation(const Slice& slice) const {
    return program(slice.rank).operations[slice.operation];
  }

  void lay_out(std::size_t rank) {
    const deployment::Rank& owner = run_.deployment.ranks[rank];
    const auto process = packets_.add_process(
        owner.multiplicity == 1
            ? fmt::format("rank {}", owner.device)
            : fmt::format("rank {} and {:.0f} that do the same", owner.device, owner.multiplicity - 1),
        report::printable(run_.report.trace));
    const graph::Program& work = program(rank);
    std::vector<std::vector<std::uint32_t>> by_stream(work.streams.size());
    for (std::uint32_t i = 0; i < work.operations.size(); ++i) {
      const bool is_order_only = work.streams[work.operations[i].stream].kind == graph::StreamKind::kTensor;
      if (!is_order_only) {
        by_stream[work.operations[i].stream].push_back(i);
      }
    }
    for (std::size_t stream = 0; stream < by_stream.size(); ++stream) {
      lay_out(rank, by_stream[stream], work.streams[stream].name, process);
    }
  }

  /// Operations that overlap go to different tracks.
  void lay_out(std::size_t rank, std::vector<std::uint32_t>& operations, const std::string& name,
               const report::PacketWriter::Process& process) {
    const std::vector<timeline::Span>& spans = run_.timeline.spans[rank];
    std::stable_sort(operations.begin(), operations.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return spans[a].start < spans[b].start; });
    std::vector<std::pair<double, std::uint64_t>> lanes;  // free from, track
    for (const std::uint32_t number : operations) {
      const double slack = 1e-12 * run_.timeline.end_s;
      auto lane = std::find_if(lanes.begin(), lanes.end(),
                               [&](const auto& one) { return one.first <= spans[number].start + slack; });
      if (lane == lanes.end()) {
        const std::string title = lanes.empty() ? name : fmt::format("{} ({})", name, lanes.size() + 1);
        lane = lanes.insert(lanes.end(), {0.0, packets_.add_stream(process, title)});
      }
      timeline::Span span = spans[number];
      span.start = std::max(span.start, lane->first);
      span.end = std::max(span.end, span.start);
      lane->first = span.end;
      slices_.push_back({rank, number, lane->second, span});
    }
  }

  void write(const Slice& slice) {
    const graph::Operation& work = operation(slice);
    const auto program_number = static_cast<std::size_t>(run_.deployment.ranks[slice.rank].program);
    const auto example = static_cast<std::size_t>(run_.imported.example_of_program[program_number]);
    const Node& node = trace_.ranks[example].nodes[run_.imported.node_of_operation[program_number][slice.operation]];
    perfetto::TrackEvent& event = packets_.begin_slice(slice.track, slice.span.start, report::category_of(work));
    event.set_name(node.name.empty() ? fmt::format("node {}", node.id) : report::printable(node.name));
    if (work.bytes > 0) {
      report::add_argument(event, report::Argument::kBytes, work.bytes);
    }
    if (work.kind == graph::OperationKind::kSend || work.kind == graph::OperationKind::kReceive) {
      event.add_flow_ids(arrow(slice, work));
    }
    packets_.write();
    packets_.end_slice(slice.track, slice.span.end);
  }

  /// The sender's rank and vertex: the same at both ends.
  [[nodiscard]] std::uint64_t arrow(const Slice& slice, const graph::Operation& message) const {
    const deployment::Rank& owner = run_.deployment.ranks[slice.rank];
    const std::uint32_t vertex = run_.imported.graph.vertex(owner.program, slice.operation);
    const auto channel = static_cast<std::size_t>(owner.channels[message.channel]);
    const auto sender = static_cast<std::uint64_t>(run_.deployment.channels[channel].sender);
    const bool sends = message.kind == graph::OperationKind::kSend;
    return sender * run_.imported.graph.size() + (sends ? vertex : run_.imported.graph.partner[vertex]) + 1;
  }

  const TraceRun& run_;
  const Trace& trace_;
  report::PacketWriter packets_;
  std::vector<Slice> slices_;
};

}  // namespace

std::string to_perfetto(const TraceRun& run, const Trace& trace) {
  std::string out;
  Writer(run, trace, out).write();
  return out;
}

}  // namespace lamina::chakra
