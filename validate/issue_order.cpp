#include "validate/issue_order.hpp"

#include <algorithm>
#include <queue>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/graph/meetings.hpp"

namespace lamina::validate {
namespace {

/// Kahn's algorithm over what happens together, the earliest date first.
class Sort {
 public:
  Sort(const graph::OperationGraph& graph, const std::vector<double>& due)
      : graph_(graph), due_(due), leader_(graph::meetings(graph)), members_(graph.size()), waits_(graph.size(), 0) {
    for (std::uint32_t vertex = 0; vertex < graph.size(); ++vertex) {
      members_[leader_[vertex]].push_back(vertex);
      for_each_successor(vertex, [&](std::uint32_t after) { ++waits_[leader_[after]]; });
    }
  }

  IssueOrder run() {
    for (std::uint32_t vertex = 0; vertex < graph_.size(); ++vertex) {
      if (leader_[vertex] == vertex && waits_[vertex] == 0) {
        ready_.emplace(due(vertex), vertex);
      }
    }
    while (!ready_.empty()) {
      const std::uint32_t block = ready_.top().second;
      ready_.pop();
      issue(block);
    }
    if (order_.vertices.size() != graph_.size()) {
      throw error::InternalError(fmt::format("operations cannot be ordered: {}", graph::find_deadlock(graph_)));
    }
    order_.blocks.push_back(static_cast<std::uint32_t>(order_.vertices.size()));
    return std::move(order_);
  }

 private:
  using Entry = std::pair<double, std::uint32_t>;

  [[nodiscard]] double due(std::uint32_t block) const {
    double latest = 0;
    for (const std::uint32_t member : members_[block]) {
      latest = std::max(latest, due_[member]);
    }
    return latest;
  }

  template <class Visit>
  void for_each_successor(std::uint32_t vertex, Visit visit) const {
    const auto [begin, end] = out_edges(vertex, graph_.edges);
    for (auto edge = begin; edge != end; ++edge) {
      visit(target(*edge, graph_.edges));
    }
  }

  void issue(std::uint32_t block) {
    order_.blocks.push_back(static_cast<std::uint32_t>(order_.vertices.size()));
    for (const std::uint32_t member : members_[block]) {
      order_.vertices.push_back(member);
      for_each_successor(member, [&](std::uint32_t after) {
        if (--waits_[leader_[after]] == 0) {
          ready_.emplace(due(leader_[after]), leader_[after]);
        }
      });
    }
  }

  const graph::OperationGraph& graph_;
  const std::vector<double>& due_;
  std::vector<std::uint32_t> leader_;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<std::uint32_t> waits_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready_;
  IssueOrder order_;
};

}  // namespace

IssueOrder issue_order(const graph::OperationGraph& graph, const std::vector<double>& due) {
  if (due.size() != graph.size()) {
    throw error::InternalError(fmt::format("{} dates for {} operations", due.size(), graph.size()));
  }
  return Sort(graph, due).run();
}

IssueOrder issue_order(const graph::OperationGraph& graph) {
  return issue_order(graph, std::vector<double>(graph.size(), 0));
}

std::string find_blocked(const graph::OperationGraph& graph, const IssueOrder& order) {
  const std::vector<std::uint32_t> leader = graph::meetings(graph);
  std::vector<std::vector<std::uint32_t>> members(graph.size());
  for (std::uint32_t vertex = 0; vertex < graph.size(); ++vertex) {
    members[leader[vertex]].push_back(vertex);
  }
  std::vector<std::vector<std::uint32_t>> queues(graph.programs.size());  // one a rank
  for (const std::uint32_t vertex : order.vertices) {
    queues[static_cast<std::size_t>(graph.program_of(vertex))].push_back(vertex);
  }
  std::vector<std::size_t> heads(queues.size(), 0);
  std::vector<std::uint32_t> waits(graph.size(), 0);
  const auto change_successors = [&](std::uint32_t vertex, std::uint32_t by) {
    const auto [begin, end] = out_edges(vertex, graph.edges);
    for (auto edge = begin; edge != end; ++edge) {
      waits[target(*edge, graph.edges)] += by;
    }
  };
  for (std::uint32_t vertex = 0; vertex < graph.size(); ++vertex) {
    change_successors(vertex, 1);
  }
  const auto can_start = [&](std::uint32_t vertex) {
    const auto program = static_cast<std::size_t>(graph.program_of(vertex));
    return heads[program] < queues[program].size() && queues[program][heads[program]] == vertex && waits[vertex] == 0;
  };
  std::vector<char> done(graph.size(), 0);
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t program = 0; program < queues.size(); ++program) {
      while (heads[program] < queues[program].size()) {
        const std::vector<std::uint32_t>& together = members[leader[queues[program][heads[program]]]];
        if (!std::all_of(together.begin(), together.end(), can_start)) {
          break;
        }
        for (const std::uint32_t vertex : together) {
          done[vertex] = 1;
          ++heads[static_cast<std::size_t>(graph.program_of(vertex))];
          change_successors(vertex, ~std::uint32_t{0});
        }
        progress = true;
      }
    }
  }
  std::string text;
  for (std::size_t program = 0; program < queues.size(); ++program) {
    if (heads[program] < queues[program].size()) {
      text += fmt::format("{}{} never starts", text.empty() ? "" : "\n",
                          graph::describe(graph, queues[program][heads[program]]));
    }
  }
  if (!text.empty()) {
    return text;
  }
  for (std::uint32_t vertex = 0; vertex < graph.size(); ++vertex) {
    if (!done[vertex]) {
      return fmt::format("{} is not in the order", graph::describe(graph, vertex));
    }
  }
  return "";
}

}  // namespace lamina::validate
