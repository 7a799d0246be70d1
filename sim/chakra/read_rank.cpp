#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <istream>
#include <queue>
#include <utility>

#include "et_def.pb.h"
#include <fmt/format.h>

#include "sim/chakra/attributes.hpp"
#include "sim/chakra/fault.hpp"
#include "sim/chakra/message_stream.hpp"
#include "sim/chakra/node_kinds.hpp"
#include "sim/chakra/trace.hpp"

namespace lamina::chakra {
namespace {

constexpr std::uint32_t kNone = 0xffffffffU;

void check_metadata(const std::string& message, const std::string& file) {
  static constexpr std::array<std::uint32_t, 2> kKnown = {1, 2};
  et_def::GlobalMetadata metadata;
  if (!metadata.ParseFromString(message) ||
      misread_field(metadata.unknown_fields(), kKnown.data(), kKnown.size()) != 0) {
    refuse_file(
        file, "The file does not start with Chakra's metadata.", "",
        "an execution trace of et_def.proto: a GlobalMetadata message, then Node messages, each after its length");
  }
}

void refuse_gzip(std::streambuf& bytes, const std::string& file) {
  constexpr int kFirst = 0x1f;
  constexpr int kSecond = 0x8b;
  if (bytes.sgetc() != kFirst) {
    return;
  }
  if (bytes.snextc() == kSecond) {
    refuse_file(file, "The trace is compressed with gzip.", "", "a file as et_def.proto says; see gunzip");
  }
  bytes.sungetc();
}

/// Nodes in the order of the file, dependencies as ids.
struct Unsorted {
  std::vector<Node> nodes;
  std::vector<std::uint64_t> dependencies;
};

class Reader {
 public:
  Reader(std::istream& bytes, const RankContext& context) : stream_(bytes, context.file), context_(context) {}

  RankTrace read() {
    read_nodes();
    sort_ids();
    resolve();
    return ordered();
  }

 private:
  [[noreturn]] void refuse(const Node& node, const std::string& problem, const std::string& read = "",
                           const std::string& allowed = "") const {
    refuse_file(context_.file, fmt::format("Rank {}, {}: {}.", context_.rank, node_words(node.id, node.name), problem),
                read, allowed);
  }

  void read_nodes() {
    if (!stream_.next()) {
      refuse_file(context_.file, "The trace is empty.");
    }
    check_metadata(stream_.message(), context_.file);
    et_def::Node message;
    while (stream_.next()) {
      parse(message);
      add(message);
    }
  }

  void parse(et_def::Node& message) const {
    static constexpr std::array<std::uint32_t, 8> kKnown = {1, 2, 3, 4, 5, 6, 7, 10};
    const bool parsed = message.ParseFromString(stream_.message());
    const int misread = parsed ? misread_field(message.unknown_fields(), kKnown.data(), kKnown.size()) : 0;
    if (!parsed || misread != 0 || !message.has_type()) {
      const std::string why = !parsed        ? "is no node of a Chakra trace"
                              : misread != 0 ? fmt::format("has field {} with a wrong wire type", misread)
                                             : std::string("is a node without a type");
      refuse_file(context_.file,
                  fmt::format("Rank {}: the message at byte {} {}.", context_.rank, stream_.offset(), why));
    }
  }

  void add(const et_def::Node& message) {
    constexpr std::size_t kLongestName = 200;
    Node node;
    node.id = message.id();
    node.name = message.name().substr(0, kLongestName);
    const Refuse refuse_node = [&](const std::string& problem, const std::string& read, const std::string& allowed) {
      refuse(node, problem, read, allowed);
    };
    fill_node(node, message, read_attributes(message, refuse_node), context_, refuse_node);
    node.first_dependency = static_cast<std::uint32_t>(unsorted_.dependencies.size());
    for (const auto* list : {&message.data_dependencies(), &message.control_dependencies()}) {
      unsorted_.dependencies.insert(unsorted_.dependencies.end(), list->begin(), list->end());
    }
    node.dependencies = static_cast<std::uint32_t>(unsorted_.dependencies.size()) - node.first_dependency;
    unsorted_.nodes.push_back(std::move(node));
    if (static_cast<std::int64_t>(unsorted_.nodes.size()) > kMostNodes ||
        unsorted_.dependencies.size() > static_cast<std::size_t>(kMostDependencies)) {
      refuse_file(context_.file, "The trace is too large.", "",
                  fmt::format("at most {} nodes with {} dependencies", kMostNodes, kMostDependencies));
    }
  }

  void sort_ids() {
    const std::vector<Node>& nodes = unsorted_.nodes;
    by_id_.resize(nodes.size());
    for (std::uint32_t i = 0; i < by_id_.size(); ++i) {
      by_id_[i] = i;
    }
    const auto lower = [&](std::uint32_t a, std::uint32_t b) { return nodes[a].id < nodes[b].id; };
    sorted_ = std::is_sorted(by_id_.begin(), by_id_.end(), lower);
    if (!sorted_) {
      std::stable_sort(by_id_.begin(), by_id_.end(), lower);
    }
    for (std::size_t i = 1; i < by_id_.size(); ++i) {
      if (nodes[by_id_[i]].id == nodes[by_id_[i - 1]].id) {
        refuse(nodes[by_id_[i]], "the id was used before",
               fmt::format("another {}", node_words(nodes[by_id_[i - 1]].id, nodes[by_id_[i - 1]].name)));
      }
    }
  }

  [[nodiscard]] std::uint32_t find(std::uint64_t id) const {
    const std::vector<Node>& nodes = unsorted_.nodes;
    if (id < nodes.size() && nodes[by_id_[id]].id == id) {  // ids count from 0 without gaps, as they mostly do
      return by_id_[id];
    }
    const auto found =
        std::lower_bound(by_id_.begin(), by_id_.end(), id,
                         [&](std::uint32_t position, std::uint64_t wanted) { return nodes[position].id < wanted; });
    return found == by_id_.end() || nodes[*found].id != id ? kNone : *found;
  }

  void resolve() {
    resolved_.reserve(unsorted_.dependencies.size());
    for (std::uint32_t i = 0; i < unsorted_.nodes.size(); ++i) {
      const Node& node = unsorted_.nodes[i];
      for (std::uint32_t k = 0; k < node.dependencies; ++k) {
        const std::uint64_t id = unsorted_.dependencies[node.first_dependency + k];
        const std::uint32_t before = find(id);
        if (before == kNone) {
          refuse(node, fmt::format("it depends on node {}, which is not in the trace", id));
        }
        if (before == i) {
          refuse(node, "it depends on itself");
        }
        resolved_.push_back(before);
        in_order_ = in_order_ && before < i;
      }
    }
  }

  RankTrace ordered() {
    RankTrace result;
    result.file = context_.file;
    if (sorted_ && in_order_) {
      result.nodes = std::move(unsorted_.nodes);
      result.dependencies = std::move(resolved_);
      return result;
    }
    const std::vector<std::uint32_t> order = lowest_id_first();
    std::vector<std::uint32_t> place(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
    }
    result.nodes.reserve(order.size());
    result.dependencies.reserve(resolved_.size());
    for (const std::uint32_t old : order) {
      Node node = std::move(unsorted_.nodes[old]);
      const std::uint32_t first = node.first_dependency;
      node.first_dependency = static_cast<std::uint32_t>(result.dependencies.size());
      for (std::uint32_t k = 0; k < node.dependencies; ++k) {
        result.dependencies.push_back(place[resolved_[first + k]]);
      }
      result.nodes.push_back(std::move(node));
    }
    return result;
  }

  /// Positions in the file's order.
  [[nodiscard]] std::vector<std::uint32_t> lowest_id_first() const {
    const std::vector<Node>& nodes = unsorted_.nodes;
    std::vector<std::uint32_t> waiting(nodes.size(), 0);
    std::vector<std::uint32_t> first(nodes.size() + 1, 0);  // successors, by node
    for (const std::uint32_t before : resolved_) {
      ++first[before + 1];
    }
    for (std::size_t i = 1; i < first.size(); ++i) {
      first[i] += first[i - 1];
    }
    std::vector<std::uint32_t> successors(resolved_.size());
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      waiting[i] = nodes[i].dependencies;
      for (std::uint32_t k = 0; k < nodes[i].dependencies; ++k) {
        successors[next[resolved_[nodes[i].first_dependency + k]]++] = i;
      }
    }
    using Entry = std::pair<std::uint64_t, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (waiting[i] == 0) {
        ready.emplace(nodes[i].id, i);
      }
    }
    std::vector<std::uint32_t> order;
    order.reserve(nodes.size());
    while (!ready.empty()) {
      const std::uint32_t now = ready.top().second;
      ready.pop();
      order.push_back(now);
      for (std::uint32_t k = first[now]; k < first[now + 1]; ++k) {
        if (--waiting[successors[k]] == 0) {
          ready.emplace(nodes[successors[k]].id, successors[k]);
        }
      }
    }
    if (order.size() < nodes.size()) {
      refuse_circle(waiting);
    }
    return order;
  }

  /// Some node still waits: going back along what is waited for must come round.
  [[noreturn]] void refuse_circle(const std::vector<std::uint32_t>& waiting) const {
    constexpr std::size_t kNamed = 12;
    const std::vector<Node>& nodes = unsorted_.nodes;
    auto at = static_cast<std::uint32_t>(
        std::find_if(waiting.begin(), waiting.end(), [](std::uint32_t left) { return left > 0; }) - waiting.begin());
    std::vector<std::uint32_t> step(nodes.size(), kNone);
    std::vector<std::uint32_t> path;
    while (step[at] == kNone) {
      step[at] = static_cast<std::uint32_t>(path.size());
      path.push_back(at);
      const auto* begin = resolved_.data() + nodes[at].first_dependency;
      at = *std::find_if(begin, begin + nodes[at].dependencies,
                         [&](std::uint32_t before) { return waiting[before] > 0; });
    }
    std::string text = node_words(nodes[at].id, nodes[at].name);
    const std::size_t length = path.size() - step[at];
    for (std::size_t i = 1; i <= length; ++i) {
      if (i == kNamed && length > kNamed + 1) {
        text += fmt::format(", which depends on {} more, the last of which depends on the first", length - i);
        break;
      }
      const Node& node = nodes[i == length ? at : path[step[at] + i]];
      text += fmt::format(", which depends on {}", node_words(node.id, node.name));
    }
    refuse_file(context_.file, fmt::format("Rank {}: the dependencies go round in a circle: {}.", context_.rank, text));
  }

  MessageStream stream_;
  const RankContext& context_;
  Unsorted unsorted_;
  std::vector<std::uint32_t> by_id_;
  std::vector<std::uint32_t> resolved_;
  bool sorted_ = true;
  bool in_order_ = true;
};

}  // namespace

RankTrace read_rank(std::istream& bytes, const RankContext& context) {
  refuse_gzip(*bytes.rdbuf(), context.file);
  return Reader(bytes, context).read();
}

}  // namespace lamina::chakra
