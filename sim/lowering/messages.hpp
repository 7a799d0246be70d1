#pragma once

#include <string>
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
  bool operator==(const Message&) const = default;
};

/// All messages of one kind from one rank to another, in the order in which the sender issues them.
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
/// Messages of an edge come in the order of `rows` (its SENDs), or in that of their producers when it is empty.
[[nodiscard]] std::vector<MessageEdge> message_edges(const schedules::ScheduleTable& table,
                                                     const schedules::LoweredRows& rows);

/// Whether both ends of every edge agree on the order when the receiver posts its receives in the order of `rows`, or
/// in that of their use when it is empty: "" if so, else a sentence that names the first message which would meet
/// another.
[[nodiscard]] std::string find_order_conflict(const schedules::ScheduleTable& table,
                                              const std::vector<MessageEdge>& edges,
                                              const schedules::LoweredRows& rows);

}  // namespace lamina::lowering
