#include "sim/chakra/match.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "sim/chakra/fault.hpp"

namespace lamina::chakra {
namespace {

/// One end of a message.
struct End {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int64_t tag = 0;
  std::uint32_t node = 0;  ///< of the rank

  [[nodiscard]] auto key() const { return std::tuple(from, to, tag); }

  [[nodiscard]] auto order() const { return std::tuple(from, to, tag, node); }
};

/// One member's part in a collective.
struct Part {
  std::int32_t group = 0;
  std::int32_t rank = 0;
  std::uint32_t node = 0;

  auto operator<=>(const Part&) const = default;
};

class Matcher {
 public:
  explicit Matcher(const Trace& trace) : trace_(trace) {}

  Matching run() {
    collect();
    messages();
    collectives();
    return std::move(matching_);
  }

 private:
  void collect() {
    std::uint32_t total = 0;
    for (std::size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      matching_.first.push_back(total);
      const std::vector<Node>& nodes = trace_.ranks[rank].nodes;
      const auto self = static_cast<std::int32_t>(rank);
      for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].kind == NodeKind::kSend) {
          sends_.push_back({self, nodes[i].peer, nodes[i].tag, i});
        } else if (nodes[i].kind == NodeKind::kReceive) {
          receives_.push_back({nodes[i].peer, self, nodes[i].tag, i});
        } else if (nodes[i].kind == NodeKind::kCollective) {
          parts_.push_back({nodes[i].group, self, i});
        }
      }
      total += static_cast<std::uint32_t>(nodes.size());
    }
    matching_.first.push_back(total);
    matching_.next.resize(total);
    std::iota(matching_.next.begin(), matching_.next.end(), 0U);
    const auto earlier = [](const End& a, const End& b) { return a.order() < b.order(); };
    std::sort(sends_.begin(), sends_.end(), earlier);
    std::sort(receives_.begin(), receives_.end(), earlier);
    std::sort(parts_.begin(), parts_.end());
  }

  [[nodiscard]] const Node& node(std::int32_t rank, std::uint32_t number) const {
    return trace_.ranks[static_cast<std::size_t>(rank)].nodes[number];
  }

  [[nodiscard]] std::string words(std::int32_t rank, std::uint32_t number) const {
    return name_of(trace_, static_cast<std::size_t>(rank), number);
  }

  [[nodiscard]] const std::string& file(std::int32_t rank) const {
    return trace_.ranks[static_cast<std::size_t>(rank)].file;
  }

  void messages() {
    auto send = sends_.begin();
    auto receive = receives_.begin();
    while (send != sends_.end() || receive != receives_.end()) {
      if (receive == receives_.end() || (send != sends_.end() && send->key() < receive->key())) {
        alone(*send, true);
      }
      if (send == sends_.end() || receive->key() < send->key()) {
        alone(*receive, false);
      }
      const double sent = node(send->from, send->node).bytes;
      const double awaited = node(receive->to, receive->node).bytes;
      if (sent != awaited) {
        refuse_file(
            file(send->from),
            fmt::format("The two ends of a message differ in size: {} sends {:.0f} bytes to rank {}, tag {}; {} "
                        "of {} receives {:.0f} bytes.",
                        words(send->from, send->node), sent, send->to, send->tag, words(receive->to, receive->node),
                        file(receive->to), awaited));
      }
      const std::uint32_t a = matching_.number(static_cast<std::size_t>(send->from), send->node);
      const std::uint32_t b = matching_.number(static_cast<std::size_t>(receive->to), receive->node);
      matching_.next[a] = b;
      matching_.next[b] = a;
      ++send;
      ++receive;
    }
  }

  /// Says what the other rank has instead.
  [[noreturn]] void alone(const End& end, bool sends) const {
    const std::int32_t own = sends ? end.from : end.to;
    const std::int32_t other = sends ? end.to : end.from;
    const std::vector<End>& theirs = sends ? receives_ : sends_;
    std::size_t same_tag = 0;
    const End* other_tag = nullptr;
    for (const End& candidate : theirs) {
      if (candidate.from == end.from && candidate.to == end.to) {
        same_tag += candidate.tag == end.tag ? 1 : 0;
        other_tag = candidate.tag != end.tag && !is_matched(candidate, sends) ? &candidate : other_tag;
      }
    }
    std::string hint;
    if (same_tag > 0) {
      hint = fmt::format(", which has only {} of that tag", same_tag);
    } else if (other_tag != nullptr) {
      hint = fmt::format("; {} there has tag {}", words(other, other_tag->node), other_tag->tag);
    }
    refuse_file(file(own),
                fmt::format("A message has no other end: {} {} rank {} with tag {}, and there is no {} for it "
                            "in {}{}.",
                            words(own, end.node), sends ? "sends to" : "receives from", other, end.tag,
                            sends ? "receive" : "send", file(other), hint));
  }

  [[nodiscard]] bool is_matched(const End& end, bool is_receive) const {
    const auto rank = static_cast<std::size_t>(is_receive ? end.to : end.from);
    const std::uint32_t number = matching_.number(rank, end.node);
    return matching_.next[number] != number;
  }

  void collectives() {
    for (auto begin = parts_.begin(); begin != parts_.end();) {
      const auto end = std::find_if(begin, parts_.end(), [&](const Part& part) { return part.group != begin->group; });
      group(&*begin, &*begin + (end - begin));
      begin = end;
    }
  }

  /// All parts in one group, by rank.
  void group(const Part* begin, const Part* end) {
    const std::vector<std::int32_t>& members = trace_.groups.all[static_cast<std::size_t>(begin->group)].members;
    const auto own = [&](std::int32_t rank) {
      return std::equal_range(begin, end, Part{begin->group, rank, 0},
                              [](const Part& a, const Part& b) { return a.rank < b.rank; });
    };
    const auto [first, first_end] = own(members.front());
    for (std::size_t m = 1; m < members.size(); ++m) {
      const auto [mine, mine_end] = own(members[m]);
      const auto common = std::min(first_end - first, mine_end - mine);
      for (std::ptrdiff_t k = 0; k < common; ++k) {
        same(first[k], mine[k], k);
      }
      if (first_end - first != mine_end - mine) {
        skipped(first_end - first > mine_end - mine ? first[common] : mine[common],
                first_end - first > mine_end - mine ? members[m] : members.front(),
                std::max(first_end - first, mine_end - mine), common);
      }
    }
    for (std::ptrdiff_t k = 0; k < first_end - first; ++k) {
      link(own, members, k);
    }
  }

  template <class Own>
  void link(const Own& own, const std::vector<std::int32_t>& members, std::ptrdiff_t k) {
    std::uint32_t before = 0;
    std::uint32_t start = 0;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const std::uint32_t number =
          matching_.number(static_cast<std::size_t>(members[m]), own(members[m]).first[k].node);
      if (m == 0) {
        start = number;
      } else {
        matching_.next[before] = number;
      }
      before = number;
    }
    matching_.next[before] = start;
  }

  [[nodiscard]] std::string group_words(std::int32_t group) const {
    const std::string& name = trace_.groups.all[static_cast<std::size_t>(group)].name;
    return name.empty() ? std::string("of all ranks") : fmt::format("of process group \"{}\"", name);
  }

  void same(const Part& a, const Part& b, std::ptrdiff_t k) const {
    const Node& left = node(a.rank, a.node);
    const Node& right = node(b.rank, b.node);
    if (left.collective == right.collective && left.bytes == right.bytes) {
      return;
    }
    refuse_file(
        file(a.rank),
        fmt::format("Members disagree on collective {} {}: {} runs an {} of {:.0f} bytes, and {} of {} an {} of "
                    "{:.0f} bytes.",
                    k + 1, group_words(a.group), words(a.rank, a.node), name_of(left.collective), left.bytes,
                    words(b.rank, b.node), file(b.rank), name_of(right.collective), right.bytes));
  }

  [[noreturn]] void skipped(const Part& part, std::int32_t absent, std::ptrdiff_t there, std::ptrdiff_t here) const {
    refuse_file(
        file(absent),
        fmt::format("Rank {} skips a collective {}: it takes part in {} of {}; the first without it "
                    "is {} of {}.",
                    absent, group_words(part.group), here, there, words(part.rank, part.node), file(part.rank)));
  }

  const Trace& trace_;
  Matching matching_;
  std::vector<End> sends_;
  std::vector<End> receives_;
  std::vector<Part> parts_;
};

}  // namespace

std::size_t Matching::rank_of(std::uint32_t number) const {
  return static_cast<std::size_t>(std::distance(first.begin(), std::upper_bound(first.begin(), first.end(), number))) -
         1;
}

Matching match(const Trace& trace) {
  return Matcher(trace).run();
}

}  // namespace lamina::chakra
