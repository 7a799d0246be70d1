#include "sim/replay/longest_path.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/graph/launch_queue.hpp"

namespace lamina::replay {
namespace {

using graph::GroupKind;
using graph::OperationKind;

constexpr std::uint32_t kNone = 0xffffffffU;

constexpr bool crosses_roles(GroupKind group) {
  return group == GroupKind::kPipeline || group == GroupKind::kEmbedding;
}

/// What a transfer or computation takes; 0 for receives, which take what their sends do.
double seconds_of(const graph::Operation& one, const ProgramTimes& times) {
  const auto seconds = [&](const TransferTime& time) { return time.seconds(one.bytes); };
  switch (one.kind) {
    case OperationKind::kCompute:
      return one.duration_s;
    case OperationKind::kSend:
      return seconds(times.channels[one.channel]);
    case OperationKind::kReceive:
      return 0;
    case OperationKind::kHostCopy:
      return seconds(one.to_host ? times.to_host : times.from_host);
    case OperationKind::kCollective:
      break;
  }
  const auto group = static_cast<std::size_t>(one.group);
  return times.joins[group] ? seconds(times.collectives[group][static_cast<std::size_t>(one.collective)]) : 0;
}

class Sweep {
 public:
  Sweep(const std::vector<graph::Program>& programs, const std::vector<ProgramTimes>& times)
      : programs_(programs), times_(times) {}

  LongestPath run() {
    number();
    read_operations();
    find_launches();
    link_dependencies();
    pair_messages();
    const std::size_t count = result_.spans.size();
    for (std::uint32_t vertex = 0; vertex < count; ++vertex) {
      if (vertices_[vertex].waits == 0) {
        ready_.push_back(vertex);
      }
    }
    while (!ready_.empty()) {
      const std::uint32_t vertex = ready_.back();
      ready_.pop_back();
      reach(vertex);
    }
    result_.complete = done_ == count;
    return std::move(result_);
  }

 private:
  /// All that the walk reads of an operation, in half a cache line: the programs are read once, in order.
  struct Vertex {
    double duration_s = 0;
    std::uint32_t waits = 0;             ///< predecessors that are not done
    std::uint32_t next = kNone;          ///< in its stream
    std::uint32_t partner = kNone;       ///< other end of a message
    std::uint32_t meeting = kNone;       ///< into meetings_, of its group's kind
    std::uint32_t first_after = 0;       ///< into after_, up to that of the next vertex
    GroupKind group = GroupKind::kData;  ///< of the meeting
  };

  struct Launch {
    const graph::Operation* operation = nullptr;  ///< null: no host is in its way
    std::uint32_t program = 0;
  };

  struct Meeting {
    std::vector<std::uint32_t> members;  ///< vertices
    std::uint32_t expected = 0;
    double start = 0;
  };

  void number() {
    std::uint32_t total = 0;
    std::size_t channels = 0;
    for (const graph::Program& program : programs_) {
      result_.first.push_back(total);
      first_channel_.push_back(channels);
      total += static_cast<std::uint32_t>(program.operations.size());
      channels += program.channels.size();
    }
    result_.first.push_back(total);
    result_.spans.resize(total);
    vertices_.resize(total + std::size_t{1});
    ends_.resize(channels);
  }

  void read_operations() {
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      const graph::Program& program = programs_[p];
      last_in_stream_.assign(program.streams.size(), kNone);
      std::array<std::uint32_t, graph::kGroupKinds> collectives{};
      for (std::uint32_t i = 0; i < program.operations.size(); ++i) {
        const graph::Operation& operation = program.operations[i];
        const std::uint32_t number = result_.first[p] + i;
        Vertex& vertex = vertices_[number];
        vertex.duration_s = seconds_of(operation, times_[p]);
        if (program.streams[operation.stream].in_order) {
          follow(operation.stream, number);
        }
        if (operation.kind == OperationKind::kSend || operation.kind == OperationKind::kReceive) {
          ends_[first_channel_[p] + operation.channel].push_back(number);
        } else if (operation.kind == OperationKind::kCollective && crosses_roles(operation.group) &&
                   times_[p].joins[static_cast<std::size_t>(operation.group)]) {
          expect(vertex, operation.group, collectives[static_cast<std::size_t>(operation.group)]++);
        }
      }
    }
  }

  /// Empty where no host limits anything.
  void find_launches() {
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      for (std::uint32_t i = 0; i < programs_[p].operations.size(); ++i) {
        const graph::Operation& operation = programs_[p].operations[i];
        if (operation.host_s > 0) {
          launches_.resize(result_.spans.size());
          launches_[result_.first[p] + i] = {&operation, static_cast<std::uint32_t>(p)};
        }
      }
    }
    hosts_.resize(launches_.empty() ? 0 : programs_.size());
  }

  void follow(std::uint16_t stream, std::uint32_t number) {
    std::uint32_t& last = last_in_stream_[stream];
    if (last != kNone) {
      vertices_[last].next = number;
      ++vertices_[number].waits;
    }
    last = number;
  }

  /// The k-th collective of a group that crosses roles starts with those of the other members.
  void expect(Vertex& vertex, GroupKind group, std::uint32_t k) {
    std::vector<Meeting>& meetings = meetings_[static_cast<std::size_t>(group)];
    meetings.resize(std::max(meetings.size(), std::size_t{k} + 1));
    vertex.meeting = k;
    vertex.group = group;
    ++meetings[k].expected;
  }

  void link_dependencies() {
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      for (const auto& [before, after] : programs_[p].dependencies) {
        ++vertices_[result_.first[p] + before + 1].first_after;
        ++vertices_[result_.first[p] + after].waits;
      }
    }
    for (std::size_t vertex = 1; vertex < vertices_.size(); ++vertex) {
      vertices_[vertex].first_after += vertices_[vertex - 1].first_after;
    }
    after_.resize(vertices_.back().first_after);
    std::vector<std::uint32_t> filled(vertices_.size() - 1, 0);
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      for (const auto& [before, after] : programs_[p].dependencies) {
        const std::uint32_t from = result_.first[p] + before;
        after_[vertices_[from].first_after + filled[from]++] = result_.first[p] + after;
      }
    }
  }

  /// The k-th send of a channel and the k-th receive of its other end.
  void pair_messages() {
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      for (std::size_t c = 0; c < programs_[p].channels.size(); ++c) {
        const graph::Channel& channel = programs_[p].channels[c];
        if (channel.sends) {
          pair(ends_[first_channel_[p] + c], ends_.at(first_channel_.at(static_cast<std::size_t>(channel.peer)) +
                                                      static_cast<std::size_t>(channel.peer_channel)));
        }
      }
    }
  }

  void pair(const std::vector<std::uint32_t>& sends, const std::vector<std::uint32_t>& receives) {
    if (sends.size() != receives.size()) {
      throw error::InternalError(fmt::format("{} sends of a channel meet {} receives", sends.size(), receives.size()));
    }
    for (std::size_t k = 0; k < sends.size(); ++k) {
      vertices_[sends[k]].partner = receives[k];
      vertices_[receives[k]].partner = sends[k];
      vertices_[receives[k]].duration_s = vertices_[sends[k]].duration_s;
    }
  }

  /// Everything that the operation waits for is done, at its start date.
  void reach(std::uint32_t number) {
    const Vertex& vertex = vertices_[number];
    const std::uint32_t other = vertex.partner;
    if (other != kNone) {
      if (vertices_[other].waits != 0 || !reached(other)) {
        mark_reached(number);
        return;
      }
      const double start = std::max(result_.spans[number].start, result_.spans[other].start);
      const double end = start + vertex.duration_s;
      finish(number, start, end);
      finish(other, start, end);
      return;
    }
    if (vertex.meeting != kNone) {
      meet(number);
      return;
    }
    const double start = result_.spans[number].start;
    if (number < launches_.size() && launches_[number].operation != nullptr) {
      launch(number, start);
    } else {
      finish(number, start, start + vertex.duration_s);
    }
  }

  /// A host launches it. Behind a collective's launch its members start together, as equals.
  void launch(std::uint32_t number, double start) {
    const Launch& one = launches_[number];
    const graph::Operation& operation = *one.operation;
    const double begin = hosts_[one.program].launch(operation, start);
    const double duration = vertices_[number].duration_s;
    if (operation.kind == OperationKind::kCompute) {
      finish(number, start, std::max(start + duration, begin + operation.tail_s));
    } else {
      const double joined = std::max(start, begin + operation.host_s);
      finish(number, joined, joined + duration);
    }
  }

  void meet(std::uint32_t number) {
    const Vertex& vertex = vertices_[number];
    Meeting& meeting = meetings_[static_cast<std::size_t>(vertex.group)][vertex.meeting];
    meeting.start = std::max(meeting.start, result_.spans[number].start);
    meeting.members.push_back(number);
    if (meeting.members.size() == meeting.expected) {
      const double end = meeting.start + vertices_[meeting.members.front()].duration_s;
      for (const std::uint32_t member : meeting.members) {
        finish(member, meeting.start, end);
      }
    }
  }

  void finish(std::uint32_t number, double start, double end) {
    const Vertex& vertex = vertices_[number];
    result_.spans[number] = {start, end};
    result_.end_s = std::max(result_.end_s, end);
    ++done_;
    if (vertex.next != kNone) {
      release(vertex.next, end);
    }
    const std::uint32_t last = vertices_[number + std::size_t{1}].first_after;
    for (std::uint32_t i = vertex.first_after; i < last; ++i) {
      release(after_[i], end);
    }
  }

  void release(std::uint32_t number, double date) {
    double& start = result_.spans[number].start;
    start = std::max(start, date);
    if (--vertices_[number].waits == 0) {
      ready_.push_back(number);
    }
  }

  /// An end of a message that waits for the other has an end date below 0.
  void mark_reached(std::uint32_t number) { result_.spans[number].end = -1; }

  [[nodiscard]] bool reached(std::uint32_t number) const { return result_.spans[number].end < 0; }

  const std::vector<graph::Program>& programs_;
  const std::vector<ProgramTimes>& times_;
  LongestPath result_;
  std::vector<Vertex> vertices_;                  ///< and one more, for its first_after
  std::vector<std::uint32_t> after_;              ///< dependants
  std::vector<std::size_t> first_channel_;        ///< [program] into ends_
  std::vector<std::vector<std::uint32_t>> ends_;  ///< [channel] its sends or receives
  std::vector<std::uint32_t> last_in_stream_;     ///< of the program that is read
  std::array<std::vector<Meeting>, graph::kGroupKinds> meetings_;
  std::vector<Launch> launches_;           ///< [vertex], or empty
  std::vector<graph::LaunchQueue> hosts_;  ///< [program], or empty
  std::vector<std::uint32_t> ready_;
  std::size_t done_ = 0;
};

}  // namespace

LongestPath longest_path(const std::vector<graph::Program>& programs, const std::vector<ProgramTimes>& times) {
  if (times.size() != programs.size()) {
    throw error::InternalError(fmt::format("times of {} programs for {}", times.size(), programs.size()));
  }
  return Sweep(programs, times).run();
}

}  // namespace lamina::replay
