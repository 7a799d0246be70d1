#include <algorithm>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/lowering/role_lowering.hpp"

namespace lamina::lowering {

using graph::MemoryCategory;
using graph::OperationKind;
using graph::StreamKind;
using scenario::PointToPoint;
using schedules::ActionType;
using schedules::LoweredType;

void RoleLowering::add_channels() {
  for (const MessageEdge& edge : edges_) {
    if (edge.from == rank_) {
      channels_.push_back({edge.to, edge.gradients, true});
      (void)builder_.add_channel({edge.to, edge.receiver_channel, true, edge.gradients});
    } else if (edge.to == rank_) {
      channels_.push_back({edge.from, edge.gradients, false});
      (void)builder_.add_channel({edge.from, edge.sender_channel, false, edge.gradients});
    }
  }
}

std::uint16_t RoleLowering::channel(const ChannelEnd& end) const {
  const auto found = std::find(channels_.begin(), channels_.end(), end);
  if (found == channels_.end()) {
    throw error::InternalError(
        fmt::format("rank {} has no channel {} rank {}", rank_, end.sends ? "to" : "from", end.peer));
  }
  return static_cast<std::uint16_t>(found - channels_.begin());
}

double RoleLowering::message_bytes() const {
  const bool sliced = strategy_.sequence_parallel || strategy_.sliced_sends;
  return work_.message.value() / (sliced && !scenario_.model.custom ? strategy_.tensor_parallel : 1);
}

/// Rank at the other end of what a stage sends or receives; this rank when nothing has to travel.
int RoleLowering::peer_of(const MessageEnd& end, bool sends) const {
  const schedules::Stage& stage = table_.stages[static_cast<std::size_t>(end.stage)];
  const int other = sends == end.gradients ? stage.previous : stage.next;
  return other < 0 ? rank_ : table_.stages[static_cast<std::size_t>(other)].rank;
}

std::uint16_t RoleLowering::message_stream(StreamKind kind, int peer, bool gradients) {
  switch (strategy_.point_to_point) {
    case PointToPoint::kSeparateStreams:
    case PointToPoint::kFusedRendezvous:
      return builder_.stream(kind, peer, gradients);
    case PointToPoint::kEarlyPosted:
      return builder_.stream(StreamKind::kPipeline);
    case PointToPoint::kBlocking:
      break;
  }
  return 0;
}

/// Receives are ready from the start of the step in the order in which the sender produces them, so that a transfer
/// waits for its sender only.
void RoleLowering::post_all_receives() {
  for (const MessageEdge& edge : edges_) {
    if (edge.to == rank_) {
      for (const Message& message : edge.messages) {
        issue_receive({message.receiving_stage, message.micro_batch, edge.gradients});
      }
    }
  }
}

/// Whether the messages of `action` are those of a batch with the action before it.
bool RoleLowering::continues_batch(std::size_t action) const {
  const auto rank = static_cast<std::size_t>(rank_);
  const auto& row = table_.actions[rank];
  if (action == 0 || action >= row.size()) {
    return false;
  }
  const schedules::Action& before = row[action - 1];
  const bool pairs = strategy_.point_to_point == PointToPoint::kFusedRendezvous && !table_.pairs_from.empty() &&
                     action > table_.pairs_from[rank];
  return before.paired_with_next ||
         (pairs && before.type == ActionType::kForward && row[action].type == ActionType::kBackward);
}

/// Communication between the action before and `action` (their number: after the last), where it is not issued with the
/// compute itself.
void RoleLowering::exchange(std::size_t action) {
  const auto& row = table_.actions[static_cast<std::size_t>(rank_)];
  if (strategy_.point_to_point == PointToPoint::kSeparateStreams || continues_batch(action)) {
    return;
  }
  if (!message_gaps_.empty()) {
    post_gap(action);
    return;
  }
  // One batch: what was made, then what is needed next. Its receives are not posted before.
  has_batch_ = !results_.empty();
  for (const MessageEnd& result : results_) {
    issue_send(result);
  }
  results_.clear();
  for (std::size_t i = action; i < row.size() && (i == action || continues_batch(i)); ++i) {
    const MessageEnd input{row[i].stage, row[i].micro_batch, row[i].type != ActionType::kForward};
    if (row[i].type != ActionType::kWeightGradient && peer_of(input, false) != rank_) {
      issue_receive(input);
      has_batch_ = true;
    }
  }
}

/// As a lowered row says.
void RoleLowering::post_gap(std::size_t action) {
  results_.clear();
  for (const schedules::LoweredAction& message : message_gaps_.at(action)) {
    const bool gradients = message.type == LoweredType::kSendBackward || message.type == LoweredType::kReceiveBackward;
    if (message.type == LoweredType::kSendForward || message.type == LoweredType::kSendBackward) {
      issue_send({message.stage, message.micro_batch, gradients});
    } else if (message.type == LoweredType::kReceiveForward || message.type == LoweredType::kReceiveBackward) {
      issue_receive({message.stage, message.micro_batch, gradients});
    }
  }
}

void RoleLowering::issue_send(const MessageEnd& end) {
  const int to = peer_of(end, true);
  const OperationId producer = done_.find(end.stage, end.micro_batch, end.gradients);
  if (producer == kNoOperation) {
    throw error::InternalError(fmt::format("rank {} sends the result of stage {}, micro-batch {} before it is computed",
                                           rank_, end.stage, end.micro_batch));
  }
  graph::Operation send;
  send.kind = OperationKind::kSend;
  send.phase = graph::Phase::kPipeline;
  send.traffic = graph::Traffic::kPipeline;
  send.stage = end.stage;
  send.micro_batch = end.micro_batch;
  send.layer = -2;
  send.stream = message_stream(StreamKind::kPipelineSend, to, end.gradients);
  send.bytes = message_bytes();
  send.channel = channel({to, end.gradients, true});
  const OperationId id = builder_.add(send);
  builder_.depend(producer, id);
  builder_.take(producer, true, MemoryCategory::kBuffers, send.bytes);
  builder_.give_back(id, true, MemoryCategory::kBuffers, send.bytes);
  if (!strategy_.overlap.pipeline || strategy_.point_to_point == PointToPoint::kFusedRendezvous) {
    builder_.hold_compute_for(id);
  }
}

void RoleLowering::issue_receive(const MessageEnd& end) {
  const int from = peer_of(end, false);
  graph::Operation receive;
  receive.kind = OperationKind::kReceive;
  receive.phase = graph::Phase::kPipeline;
  receive.traffic = graph::Traffic::kPipeline;
  receive.stream = message_stream(StreamKind::kPipelineReceive, from, end.gradients);
  receive.channel = channel({from, end.gradients, false});
  receive.micro_batch = end.micro_batch;
  receive.stage = end.stage;
  receive.layer = -2;
  receive.bytes = message_bytes();
  const OperationId before = builder_.last_compute();
  const OperationId id = builder_.add(receive);
  if (strategy_.point_to_point != PointToPoint::kSeparateStreams) {
    builder_.depend(before, id);
  }
  builder_.take(id, false, MemoryCategory::kBuffers, receive.bytes);
  receive_.set(end.stage, end.micro_batch, end.gradients, id);
}

}  // namespace lamina::lowering
