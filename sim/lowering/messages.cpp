#include "sim/lowering/messages.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace lamina::lowering {
namespace {

using schedules::Action;
using schedules::ActionType;
using schedules::LoweredAction;
using schedules::LoweredType;

/// (from, to, gradients)
using EdgeKey = std::tuple<int, int, bool>;

/// A message as one of its ends sees it.
struct End {
  EdgeKey edge;
  Message message;
};

class Ends {
 public:
  explicit Ends(const schedules::ScheduleTable& table) : table_(table) {}

  /// Messages that the rank sends, in issue order.
  [[nodiscard]] std::vector<End> sent(std::size_t rank, const schedules::LoweredRows& rows) const {
    std::vector<End> ends;
    if (rows.empty()) {
      ends.reserve(table_.actions[rank].size());
      for (const Action& action : table_.actions[rank]) {
        if (action.type != ActionType::kWeightGradient) {
          add_sent(action.stage, action.micro_batch, action.type != ActionType::kForward, ends);
        }
      }
      return ends;
    }
    for (const LoweredAction& action : rows[rank]) {
      if (action.type == LoweredType::kSendForward || action.type == LoweredType::kSendBackward) {
        add_sent(action.stage, action.micro_batch, action.type == LoweredType::kSendBackward, ends);
      }
    }
    return ends;
  }

  /// Messages that the rank receives, in the order of its receives.
  [[nodiscard]] std::vector<End> received(std::size_t rank, const schedules::LoweredRows& rows) const {
    std::vector<End> ends;
    if (rows.empty()) {
      for (const Action& action : table_.actions[rank]) {
        if (action.type != ActionType::kWeightGradient) {
          add_received(action.stage, action.micro_batch, action.type != ActionType::kForward, ends);
        }
      }
      return ends;
    }
    for (const LoweredAction& action : rows[rank]) {
      if (action.type == LoweredType::kReceiveForward || action.type == LoweredType::kReceiveBackward) {
        add_received(action.stage, action.micro_batch, action.type == LoweredType::kReceiveBackward, ends);
      }
    }
    return ends;
  }

 private:
  [[nodiscard]] const schedules::Stage& at(int stage) const { return table_.stages[static_cast<std::size_t>(stage)]; }

  void add(int from, int to, int micro_batch, bool gradients, std::vector<End>& ends) const {
    if (from >= 0 && to >= 0 && at(from).rank != at(to).rank) {
      ends.push_back({{at(from).rank, at(to).rank, gradients}, {from, to, micro_batch}});
    }
  }

  void add_sent(int stage, int micro_batch, bool gradients, std::vector<End>& ends) const {
    add(stage, gradients ? at(stage).previous : at(stage).next, micro_batch, gradients, ends);
  }

  void add_received(int stage, int micro_batch, bool gradients, std::vector<End>& ends) const {
    add(gradients ? at(stage).next : at(stage).previous, stage, micro_batch, gradients, ends);
  }

  const schedules::ScheduleTable& table_;
};

std::string name(const Message& message) {
  return fmt::format("stage {} to {}, micro-batch {}", message.sending_stage, message.receiving_stage,
                     message.micro_batch);
}

}  // namespace

std::vector<MessageEdge> message_edges(const schedules::ScheduleTable& table, const schedules::LoweredRows& rows) {
  std::map<EdgeKey, MessageEdge> edges;
  for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
    std::vector<std::pair<EdgeKey, MessageEdge*>> of_rank;  // a handful: its neighbours
    for (const End& end : Ends(table).sent(rank, rows)) {
      auto known = std::find_if(of_rank.begin(), of_rank.end(), [&](const auto& one) { return one.first == end.edge; });
      if (known == of_rank.end()) {
        MessageEdge& edge = edges[end.edge];
        std::tie(edge.from, edge.to, edge.gradients) = end.edge;
        known = of_rank.insert(of_rank.end(), {end.edge, &edge});
      }
      known->second->messages.push_back(end.message);
    }
  }
  std::vector<int> channels(table.actions.size(), 0);
  std::vector<MessageEdge> result;
  for (auto& [key, edge] : edges) {
    edge.sender_channel = channels[static_cast<std::size_t>(edge.from)]++;
    edge.receiver_channel = channels[static_cast<std::size_t>(edge.to)]++;
    result.push_back(std::move(edge));
  }
  return result;
}

std::string find_order_conflict(const schedules::ScheduleTable& table, const std::vector<MessageEdge>& edges,
                                const schedules::LoweredRows& rows) {
  std::map<EdgeKey, std::vector<Message>> received;
  for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
    for (const End& end : Ends(table).received(rank, rows)) {
      received[end.edge].push_back(end.message);
    }
  }
  for (const MessageEdge& edge : edges) {
    const std::vector<Message>& expected = received[{edge.from, edge.to, edge.gradients}];
    for (std::size_t i = 0; i < std::max(expected.size(), edge.messages.size()); ++i) {
      if (i >= expected.size() || i >= edge.messages.size()) {
        return fmt::format("rank {} sends {} {} to rank {}, which receives {}.", edge.from, edge.messages.size(),
                           edge.gradients ? "gradients" : "activations", edge.to, expected.size());
      }
      if (expected[i] != edge.messages[i]) {
        return fmt::format(
            "the {} that rank {} sends to rank {} are not received in the order in which they are sent: message {} is "
            "{} for the sender and {} for the receiver.",
            edge.gradients ? "gradients" : "activations", edge.from, edge.to, i, name(edge.messages[i]),
            name(expected[i]));
      }
    }
  }
  return {};
}

}  // namespace lamina::lowering
