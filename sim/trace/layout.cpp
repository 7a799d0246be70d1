#include "sim/trace/layout.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/trace/schedule_order.hpp"

namespace lamina::trace {
namespace {

std::size_t index(int number) {
  return static_cast<std::size_t>(number);
}

/// Streams of every program. In a batch the streams do not matter; elsewhere sends queue per direction, and receives
/// are posted at once.
enum : std::uint16_t { kCompute, kSendForward, kSendBackward, kFirstReceive };

/// Ends of a message: indices into the channels of the two programs.
struct Ends {
  std::uint16_t sender = 0;
  std::uint16_t receiver = 0;
};

class Builder {
 public:
  Builder(int pipeline_ranks, PointToPoint messages) : pipeline_ranks_(pipeline_ranks), messages_(messages) {}

  void add(const Lane& lane) {
    const int first = static_cast<int>(programs_.size());
    for (int rank = 0; rank < pipeline_ranks_; ++rank) {
      graph::Program program;
      program.streams = {{graph::StreamKind::kCompute, "compute"},
                         {graph::StreamKind::kPipelineSend, "send, forward"},
                         {graph::StreamKind::kPipelineSend, "send, backward"}};
      programs_.push_back(std::move(program));
      deployment::Rank placed;
      placed.program = first + rank;
      placed.device = first + rank;
      placed.data = first / pipeline_ranks_;
      result_.deployment.ranks.push_back(std::move(placed));
      result_.deployment.total_ranks += 1;
    }
    ends_.assign(lane.times->compute.size(), Ends{});
    for (const auto& row : lane.table->actions) {
      for (const schedules::Action& action : row) {
        add_channel(lane, first, action);
      }
    }
    for (int rank = 0; rank < pipeline_ranks_; ++rank) {
      add_operations(lane, first, rank);
    }
  }

  LaidOut finish() {
    result_.graph = graph::freeze(std::move(programs_));
    return std::move(result_);
  }

 private:
  /// Stage at the other side of a pass, -1 when there is none or it is on the same rank.
  static int other(const schedules::ScheduleTable& table, const Pass& pass, bool sends) {
    const schedules::Stage& stage = table.stages[index(pass.stage)];
    const int neighbour = pass.backward == sends ? stage.previous : stage.next;
    return neighbour < 0 || table.stages[index(neighbour)].rank == stage.rank ? -1 : neighbour;
  }

  std::uint16_t add_end(int program, const graph::Channel& channel) {
    auto& channels = programs_[index(program)].channels;
    if (channels.size() >= kMostMessages) {
      throw error::InternalError(fmt::format("a pipeline rank has more than {} messages in one step", kMostMessages));
    }
    channels.push_back(channel);
    result_.deployment.ranks[index(program)].channels.push_back(
        static_cast<std::int32_t>(result_.deployment.channels.size()));
    return static_cast<std::uint16_t>(channels.size() - 1);
  }

  void add_channel(const Lane& lane, int first, const schedules::Action& action) {
    const Pass pass = pass_of(action);
    const int next = other(*lane.table, pass, true);
    if (next < 0) {
      return;
    }
    const int from = first + lane.table->stages[index(pass.stage)].rank;
    const int to = first + lane.table->stages[index(next)].rank;
    Ends& ends = ends_[lane.times->compute.index(pass)];
    ends.sender = add_end(from, {.peer = to, .sends = true, .gradients = pass.backward});
    ends.receiver =
        add_end(to, {.peer = from, .peer_channel = ends.sender, .sends = false, .gradients = pass.backward});
    programs_[index(from)].channels[ends.sender].peer_channel = ends.receiver;
    result_.deployment.channels.push_back(
        {.sender = from, .receiver = to, .path = static_cast<std::int32_t>(result_.deployment.paths.size())});
    result_.deployment.paths.push_back({.links = {}, .latency_s = lane.times->transfer.at(pass)});
  }

  std::uint32_t add_operation(int program, const Pass& pass, graph::OperationKind kind, std::uint16_t stream) {
    graph::Operation operation;
    operation.kind = kind;
    operation.phase = pass.backward ? graph::Phase::kBackward : graph::Phase::kForward;
    operation.stream = stream;
    operation.micro_batch = pass.micro_batch;
    operation.stage = pass.stage;
    operation.layer = -2;
    if (kind != graph::OperationKind::kCompute) {
      operation.phase = graph::Phase::kPipeline;
      operation.traffic = graph::Traffic::kPipeline;
    }
    auto& operations = programs_[index(program)].operations;
    operations.push_back(operation);
    return static_cast<std::uint32_t>(operations.size() - 1);
  }

  void add_operations(const Lane& lane, int first, int rank) {
    constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
    const bool batched = messages_ == PointToPoint::kFusedRendezvous;
    graph::Program& program = programs_[index(first + rank)];
    const auto depend = [&program](std::uint32_t before, std::uint32_t after) {
      if (before != kNone) {
        program.dependencies.emplace_back(before, after);
      }
    };
    std::uint32_t last_pass = kNone;
    std::uint32_t last_send = kNone;
    std::vector<std::uint32_t>& passes = result_.passes.emplace_back();
    for (const schedules::Action& action : lane.table->actions[index(rank)]) {
      const Pass pass = pass_of(action);
      std::uint32_t receive = kNone;
      if (const int source = other(*lane.table, pass, false); source >= 0) {
        const auto stream = static_cast<std::uint16_t>(program.streams.size());
        program.streams.push_back({graph::StreamKind::kPipelineReceive, "receive"});
        receive = add_operation(first + rank, pass, graph::OperationKind::kReceive, stream);
        program.operations[receive].channel =
            ends_[lane.times->compute.index({pass.backward, source, pass.micro_batch})].receiver;
        depend(batched ? last_pass : kNone, receive);
      }
      const std::uint32_t compute = add_operation(first + rank, pass, graph::OperationKind::kCompute, kCompute);
      program.operations[compute].duration_s = lane.times->compute.at(pass);
      depend(receive, compute);
      depend(batched ? last_send : kNone, compute);
      last_send = kNone;
      if (other(*lane.table, pass, true) >= 0) {
        last_send = add_operation(first + rank, pass, graph::OperationKind::kSend,
                                  pass.backward ? kSendBackward : kSendForward);
        program.operations[last_send].channel = ends_[lane.times->compute.index(pass)].sender;
        depend(compute, last_send);
      }
      last_pass = compute;
      passes.push_back(compute);
    }
  }

  int pipeline_ranks_ = 0;
  PointToPoint messages_ = PointToPoint::kFusedRendezvous;
  std::vector<graph::Program> programs_;
  std::vector<Ends> ends_;  ///< of the lane under way, by the index of the pass that sends
  LaidOut result_;
};

}  // namespace

LaidOut lay_out(const std::vector<Lane>& lanes, int pipeline_ranks, PointToPoint messages) {
  Builder builder(pipeline_ranks, messages);
  for (const Lane& lane : lanes) {
    builder.add(lane);
  }
  return builder.finish();
}

}  // namespace lamina::trace
