#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/chakra/fault.hpp"
#include "sim/chakra/match.hpp"

namespace lamina::chakra {
namespace {

constexpr std::uint32_t kNone = 0xffffffffU;

/// A run without time: an event is a node, or a message or collective with all that take part.
class Progress {
 public:
  Progress(const Trace& trace, const Matching& matching) : trace_(trace), matching_(matching) {}

  void check() {
    name_events();
    chain_compute();
    find_successors();
    run();
    if (const auto stuck = std::find_if(waiting_.begin(), waiting_.end(), [](std::uint32_t left) { return left > 0; });
        stuck != waiting_.end()) {
      refuse_circle(static_cast<std::uint32_t>(stuck - waiting_.begin()));
    }
  }

 private:
  [[nodiscard]] std::size_t size() const { return matching_.next.size(); }

  void name_events() {
    event_.assign(size(), kNone);
    for (std::uint32_t node = 0; node < size(); ++node) {
      if (event_[node] == kNone) {
        std::uint32_t member = node;
        do {
          event_[member] = node;
          member = matching_.next[member];
        } while (member != node);
      }
    }
  }

  void chain_compute() {
    before_.assign(size(), kNone);
    for (std::size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      std::uint32_t device = kNone;
      std::uint32_t host = kNone;
      const std::vector<Node>& nodes = trace_.ranks[rank].nodes;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].kind == NodeKind::kCompute || nodes[i].kind == NodeKind::kHostCompute) {
          std::uint32_t& last = nodes[i].kind == NodeKind::kCompute ? device : host;
          before_[matching_.number(rank, i)] = last;
          last = matching_.number(rank, i);
        }
      }
    }
  }

  /// Calls visit(node, one that must end before it).
  template <class Visit>
  void each_edge(const Visit& visit) const {
    for (std::size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      const RankTrace& owner = trace_.ranks[rank];
      for (std::size_t i = 0; i < owner.nodes.size(); ++i) {
        const std::uint32_t node = matching_.number(rank, i);
        for (std::uint32_t k = 0; k < owner.nodes[i].dependencies; ++k) {
          visit(node, matching_.number(rank, owner.dependencies[owner.nodes[i].first_dependency + k]));
        }
        if (before_[node] != kNone) {
          visit(node, before_[node]);
        }
      }
    }
  }

  void find_successors() {
    first_.assign(size() + 1, 0);
    waiting_.assign(size(), 0);
    each_edge([&](std::uint32_t node, std::uint32_t before) {
      ++first_[before + 1];
      ++waiting_[event_[node]];
    });
    for (std::size_t i = 1; i < first_.size(); ++i) {
      first_[i] += first_[i - 1];
    }
    successors_.resize(first_.back());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    each_edge([&](std::uint32_t node, std::uint32_t before) { successors_[next[before]++] = node; });
  }

  void run() {
    std::vector<std::uint32_t> ready;
    for (std::uint32_t node = 0; node < size(); ++node) {
      if (event_[node] == node && waiting_[node] == 0) {
        ready.push_back(node);
      }
    }
    while (!ready.empty()) {
      const std::uint32_t event = ready.back();
      ready.pop_back();
      std::uint32_t member = event;
      do {
        for (std::uint32_t k = first_[member]; k < first_[member + 1]; ++k) {
          const std::uint32_t after = event_[successors_[k]];
          if (--waiting_[after] == 0) {
            ready.push_back(after);
          }
        }
        member = matching_.next[member];
      } while (member != event);
    }
  }

  /// Some participant of a stuck event and what it waits for.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> waits_for(std::uint32_t event) const {
    std::uint32_t member = event;
    do {
      const std::size_t rank = matching_.rank_of(member);
      const RankTrace& owner = trace_.ranks[rank];
      const Node& node = owner.nodes[member - matching_.first[rank]];
      for (std::uint32_t k = 0; k < node.dependencies; ++k) {
        const std::uint32_t before = matching_.number(rank, owner.dependencies[node.first_dependency + k]);
        if (waiting_[event_[before]] > 0) {
          return {member, before};
        }
      }
      if (before_[member] != kNone && waiting_[event_[before_[member]]] > 0) {
        return {member, before_[member]};
      }
      member = matching_.next[member];
    } while (member != event);
    return {event, event};
  }

  [[nodiscard]] std::string words(std::uint32_t number) const {
    const std::size_t rank = matching_.rank_of(number);
    return name_of(trace_, rank, number - matching_.first[rank]);
  }

  [[noreturn]] void refuse_circle(std::uint32_t event) const {
    constexpr std::size_t kNamed = 16;
    std::vector<std::uint32_t> step(size(), kNone);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> path;
    while (step[event] == kNone) {
      step[event] = static_cast<std::uint32_t>(path.size());
      path.push_back(waits_for(event));
      event = event_[path.back().second];
    }
    const std::size_t start = step[event];
    std::string text = "The ranks wait for each other in a circle:";
    for (std::size_t i = start; i < path.size(); ++i) {
      if (i - start == kNamed) {
        text += fmt::format("\n  and {} more", path.size() - i);
        break;
      }
      const auto [waiting, before] = path[i];
      const std::uint32_t partner = (i + 1 < path.size() ? path[i + 1] : path[start]).first;
      text += fmt::format("\n  {} waits for {}", words(waiting), words(before));
      if (partner != before) {
        text += fmt::format(", which starts together with {}", words(partner));
      }
    }
    refuse_file(trace_.ranks[matching_.rank_of(path[start].first)].file, text);
  }

  const Trace& trace_;
  const Matching& matching_;
  std::vector<std::uint32_t> event_;   ///< [node] lowest participant
  std::vector<std::uint32_t> before_;  ///< [node] compute that runs just before it
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> successors_;
  std::vector<std::uint32_t> waiting_;  ///< [event]
};

}  // namespace

void check_progress(const Trace& trace, const Matching& matching) {
  Progress(trace, matching).check();
}

}  // namespace lamina::chakra
