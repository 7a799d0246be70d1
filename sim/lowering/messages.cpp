#include "sim/lowering/messages.hpp"

#include <map>
#include <tuple>

namespace lamina::lowering {

std::vector<MessageEdge> message_edges(const schedules::ScheduleTable& table) {
  using schedules::ActionType;
  std::map<std::tuple<int, int, bool>, MessageEdge> edges;
  for (int rank = 0; rank < static_cast<int>(table.actions.size()); ++rank) {
    for (const schedules::Action& action : table.actions[static_cast<std::size_t>(rank)]) {
      if (action.type == ActionType::kWeightGradient) {
        continue;
      }
      const bool gradients = action.type != ActionType::kForward;
      const schedules::Stage& stage = table.stages[static_cast<std::size_t>(action.stage)];
      const int target = gradients ? stage.previous : stage.next;
      const int to = target < 0 ? rank : table.stages[static_cast<std::size_t>(target)].rank;
      if (to == rank) {
        continue;
      }
      MessageEdge& edge = edges[{rank, to, gradients}];
      edge.from = rank;
      edge.to = to;
      edge.gradients = gradients;
      edge.messages.push_back({action.stage, target, action.micro_batch});
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

}  // namespace lamina::lowering
