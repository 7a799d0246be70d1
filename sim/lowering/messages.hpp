#pragma once

#include <utility>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/graph/operation_graph.hpp"

namespace lamina::lowering {

/// What one action hands to another rank.
struct Message {
  int sending_stage = 0;
  int receiving_stage = 0;
  int micro_batch = 0;
};

/// All messages of one kind from one rank to another, in the order in which the sender produces them.
struct MessageEdge {
  int from = 0;
  int to = 0;
  bool gradients = false;
  int sender_channel = 0;    ///< index in the sender's program
  int receiver_channel = 0;  ///< index in the receiver's program
  std::vector<Message> messages;
};

/// Edges ordered by sender, receiver, kind. Activations follow Stage::next after an F; input gradients follow
/// Stage::previous after a B or I. Stages on one rank need no message.
[[nodiscard]] std::vector<MessageEdge> message_edges(const schedules::ScheduleTable& table);

}  // namespace lamina::lowering
