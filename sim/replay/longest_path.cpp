#include "sim/replay/longest_path.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::replay {
namespace {

using graph::GroupKind;
using graph::OperationKind;

constexpr std::uint32_t kNone = 0xffffffffU;

constexpr bool crosses_roles(GroupKind group) {
  return group == GroupKind::kPipeline || group == GroupKind::kEmbedding;
}

class Sweep {
 public:
  Sweep(const std::vector<graph::Program>& programs, const std::vector<ProgramTimes>& times)
      : programs_(programs), times_(times) {}

  LongestPath run() {
    number();
    link_streams();
    link_dependencies();
    pair_messages();
    gather_collectives();
    const std::size_t count = result_.spans.size();
    for (std::uint32_t vertex = 0; vertex < count; ++vertex) {
      if (waits_[vertex] == 0) {
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
  struct Meeting {
    std::vector<std::uint32_t> members;  ///< vertices
    std::uint32_t expected = 0;
    double start = 0;
  };

  void number() {
    std::uint32_t total = 0;
    for (const graph::Program& program : programs_) {
      result_.first.push_back(total);
      total += static_cast<std::uint32_t>(program.operations.size());
    }
    result_.first.push_back(total);
    result_.spans.resize(total);
    program_of_.resize(total);
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      std::fill(program_of_.begin() + result_.first[p], program_of_.begin() + result_.first[p + 1],
                static_cast<std::uint32_t>(p));
    }
    waits_.assign(total, 0);
    next_in_stream_.assign(total, kNone);
    partner_.assign(total, kNone);
    meeting_.assign(total, kNone);
  }

  void link_streams() {
    std::vector<std::uint32_t> last;
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      const graph::Program& program = programs_[p];
      last.assign(program.streams.size(), kNone);
      for (std::uint32_t i = 0; i < program.operations.size(); ++i) {
        const std::uint16_t stream = program.operations[i].stream;
        if (!program.streams[stream].in_order) {
          continue;
        }
        const std::uint32_t vertex = result_.first[p] + i;
        if (last[stream] != kNone) {
          next_in_stream_[last[stream]] = vertex;
          ++waits_[vertex];
        }
        last[stream] = vertex;
      }
    }
  }

  void link_dependencies() {
    first_after_.assign(result_.spans.size() + 1, 0);
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      for (const auto& [before, after] : programs_[p].dependencies) {
        ++first_after_[result_.first[p] + before + 1];
        ++waits_[result_.first[p] + after];
      }
    }
    for (std::size_t vertex = 1; vertex < first_after_.size(); ++vertex) {
      first_after_[vertex] += first_after_[vertex - 1];
    }
    after_.resize(first_after_.back());
    std::vector<std::uint32_t> position(first_after_.begin(), first_after_.end() - 1);
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      for (const auto& [before, after] : programs_[p].dependencies) {
        after_[position[result_.first[p] + before]++] = result_.first[p] + after;
      }
    }
  }

  /// The k-th send of a channel and the k-th receive of its other end.
  void pair_messages() {
    std::vector<std::size_t> first_channel;
    std::size_t channels = 0;
    for (const graph::Program& program : programs_) {
      first_channel.push_back(channels);
      channels += program.channels.size();
    }
    std::vector<std::vector<std::uint32_t>> ends(channels);
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      const auto& operations = programs_[p].operations;
      for (std::uint32_t i = 0; i < operations.size(); ++i) {
        if (operations[i].kind == OperationKind::kSend || operations[i].kind == OperationKind::kReceive) {
          ends[first_channel[p] + operations[i].channel].push_back(result_.first[p] + i);
        }
      }
    }
    for (std::size_t p = 0; p < programs_.size(); ++p) {
      for (std::size_t c = 0; c < programs_[p].channels.size(); ++c) {
        const graph::Channel& channel = programs_[p].channels[c];
        if (channel.sends) {
          pair(ends[first_channel[p] + c], ends.at(first_channel.at(static_cast<std::size_t>(channel.peer)) +
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
      partner_[sends[k]] = receives[k];
      partner_[receives[k]] = sends[k];
    }
  }

  void gather_collectives() {
    for (const GroupKind group : {GroupKind::kPipeline, GroupKind::kEmbedding}) {
      const auto kind = static_cast<std::size_t>(group);
      const std::size_t first = meetings_.size();
      for (std::size_t p = 0; p < programs_.size(); ++p) {
        if (!times_[p].joins[kind]) {
          continue;
        }
        std::size_t k = first;
        for (std::uint32_t i = 0; i < programs_[p].operations.size(); ++i) {
          const graph::Operation& operation = programs_[p].operations[i];
          if (operation.kind == OperationKind::kCollective && operation.group == group) {
            meetings_.resize(std::max(meetings_.size(), k + 1));
            meeting_[result_.first[p] + i] = static_cast<std::uint32_t>(k);
            ++meetings_[k++].expected;
          }
        }
      }
    }
  }

  [[nodiscard]] const graph::Operation& operation(std::uint32_t vertex) const {
    const std::uint32_t program = program_of_[vertex];
    return programs_[program].operations[vertex - result_.first[program]];
  }

  static double seconds(const TransferTime& time, double bytes) { return time.latency_s + bytes * time.s_per_byte; }

  [[nodiscard]] double duration(std::uint32_t vertex) const {
    const graph::Operation& one = operation(vertex);
    const ProgramTimes& times = times_[program_of_[vertex]];
    switch (one.kind) {
      case OperationKind::kCompute:
        return one.duration_s;
      case OperationKind::kSend:
      case OperationKind::kReceive:
        return seconds(times.channels[one.channel], one.bytes);
      case OperationKind::kHostCopy:
        return seconds(one.to_host ? times.to_host : times.from_host, one.bytes);
      case OperationKind::kCollective:
        break;
    }
    const auto group = static_cast<std::size_t>(one.group);
    return times.joins[group] ? seconds(times.collectives[group][static_cast<std::size_t>(one.collective)], one.bytes)
                              : 0;
  }

  /// Everything that the operation waits for is done, at its start date.
  void reach(std::uint32_t vertex) {
    const std::uint32_t other = partner_[vertex];
    if (other != kNone) {
      if (waits_[other] != 0 || !reached(other)) {
        mark_reached(vertex);
        return;
      }
      const double start = std::max(result_.spans[vertex].start, result_.spans[other].start);
      const bool sends = operation(vertex).kind == OperationKind::kSend;
      const double end = start + duration(sends ? vertex : other);
      finish(vertex, start, end);
      finish(other, start, end);
      return;
    }
    if (meeting_[vertex] != kNone) {
      meet(vertex);
      return;
    }
    const double start = result_.spans[vertex].start;
    finish(vertex, start, start + duration(vertex));
  }

  void meet(std::uint32_t vertex) {
    Meeting& meeting = meetings_[meeting_[vertex]];
    meeting.start = std::max(meeting.start, result_.spans[vertex].start);
    meeting.members.push_back(vertex);
    if (meeting.members.size() == meeting.expected) {
      const double end = meeting.start + duration(meeting.members.front());
      for (const std::uint32_t member : meeting.members) {
        finish(member, meeting.start, end);
      }
    }
  }

  void finish(std::uint32_t vertex, double start, double end) {
    result_.spans[vertex] = {start, end};
    result_.end_s = std::max(result_.end_s, end);
    ++done_;
    if (next_in_stream_[vertex] != kNone) {
      release(next_in_stream_[vertex], end);
    }
    for (std::uint32_t i = first_after_[vertex]; i < first_after_[vertex + 1]; ++i) {
      release(after_[i], end);
    }
  }

  void release(std::uint32_t vertex, double date) {
    double& start = result_.spans[vertex].start;
    start = std::max(start, date);
    if (--waits_[vertex] == 0) {
      ready_.push_back(vertex);
    }
  }

  /// An end of a message that waits for the other has an end date below 0.
  void mark_reached(std::uint32_t vertex) { result_.spans[vertex].end = -1; }

  [[nodiscard]] bool reached(std::uint32_t vertex) const { return result_.spans[vertex].end < 0; }

  const std::vector<graph::Program>& programs_;
  const std::vector<ProgramTimes>& times_;
  LongestPath result_;
  std::vector<std::uint32_t> program_of_;
  std::vector<std::uint32_t> waits_;           ///< [vertex] predecessors that are not done
  std::vector<std::uint32_t> next_in_stream_;  ///< [vertex]
  std::vector<std::uint32_t> first_after_;     ///< [vertex] into after_, and the end
  std::vector<std::uint32_t> after_;           ///< dependants
  std::vector<std::uint32_t> partner_;         ///< [vertex] other end of a message
  std::vector<std::uint32_t> meeting_;         ///< [vertex] into meetings_
  std::vector<Meeting> meetings_;
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
