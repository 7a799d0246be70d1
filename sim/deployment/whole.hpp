#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/deployment/kinds.hpp"
#include "sim/fabric/large_pages.hpp"

/// The whole deployment in flat arrays: what is built for every rank of the cluster and thrown away when it is folded.
namespace lamina::deployment {

/// What can differ from rank to rank; how many ranks there are does not matter to the number of kinds.
struct RankKind {
  std::int32_t program = 0;  ///< pipeline rank
  double slowness = 1;
  double host_delay_s = 0;
  std::int32_t host_delay_every = 1;
  double multiplicity = 1;
  bool operator==(const RankKind&) const = default;
};

struct RankKindHash {
  [[nodiscard]] std::size_t operator()(const RankKind& kind) const;
};

/// `Link` without the link that it is.
struct LinkKind {
  fabric::LinkClass link_class = fabric::LinkClass::kPort;
  bool never_limits = false;
  std::int32_t profile = -1;  ///< into Whole::profiles
  double bandwidth = 0;       ///< bytes per second
  double capacity_divisor = 1;
  double multiplicity = 1;
  bool operator==(const LinkKind&) const = default;
};

struct LinkKindHash {
  [[nodiscard]] std::size_t operator()(const LinkKind& kind) const;
};

struct PathKind {
  double latency_s = 0;
  double alone_s_per_byte = 0;
  bool operator==(const PathKind&) const = default;
};

struct PathKindHash {
  [[nodiscard]] std::size_t operator()(const PathKind& kind) const;
};

struct WholeRank {
  std::int32_t data = 0;
  std::int32_t tensor = 0;
  std::int32_t device = 0;
  std::int32_t kind = 0;  ///< into Whole::rank_kinds
};

/// One flow of one collective of a group.
struct WholeStep {
  graph::CollectiveKind collective = graph::CollectiveKind::kAllReduce;
  FlowStep flow;
};

/// Ranges [begins[i], begins[i + 1]) of another array.
class Rows {
 public:
  /// Ends the row that began where the last one ended.
  void close(std::size_t end) { begins_.push_back(static_cast<std::uint32_t>(end)); }

  [[nodiscard]] std::size_t size() const { return begins_.size() - 1; }

  [[nodiscard]] std::size_t begin(std::size_t row) const { return begins_[row]; }

  [[nodiscard]] std::size_t end(std::size_t row) const { return begins_[row + 1]; }

  [[nodiscard]] std::size_t end_of_last() const { return begins_.back(); }

  void reserve(std::size_t rows) {
    std::vector<std::uint32_t> begins;
    fabric::reserve_large(begins, rows + 1);
    begins.insert(begins.end(), begins_.begin(), begins_.end());
    begins_ = std::move(begins);
  }

 private:
  std::vector<std::uint32_t> begins_ = {0};
};

/// The same as a Deployment, for millions of ranks: no heap block and no repeated description per rank, link, path or
/// group. Disturbances change kinds: read kind_of_rank() or kind_of_link(), change the copy, hand it to change_rank()
/// or change_link().
struct Whole {
  double total_ranks = 0;
  std::vector<WholeRank> ranks;
  Kinds<RankKind, RankKindHash> rank_kinds;
  Rows rank_channel_rows;
  std::vector<std::int32_t> rank_channels;             ///< [row of the rank][program channel] -> channels
  std::vector<std::vector<std::int32_t>> rank_groups;  ///< [slot of Rank::groups][rank]; [slot] empty: nobody's
  std::vector<std::int32_t> to_host;                   ///< [rank] path; empty: nobody's
  std::vector<std::int32_t> from_host;

  std::vector<Channel> channels;

  std::vector<std::int32_t> group_sizes;  ///< [group] Group::size
  Rows group_member_rows;
  std::vector<std::int32_t> group_members;
  Rows group_step_rows;
  std::vector<WholeStep> group_steps;
  /// [group] collectives in message form; empty unless the scenario asks for it.
  std::vector<std::array<std::vector<GroupMessage>, graph::kCollectiveKinds>> group_messages;

  std::vector<std::int32_t> path_kinds;  ///< [path] into kinds_of_paths
  Kinds<PathKind, PathKindHash> kinds_of_paths;
  Rows path_rows;
  /// Links of the paths; -n before a link that is crossed n > 1 times. Read it with for_each_use().
  std::vector<std::int32_t> uses;

  std::vector<std::int32_t> link_kinds;  ///< [link of the fabric] into kinds_of_links
  Kinds<LinkKind, LinkKindHash> kinds_of_links;
  std::vector<Profile> profiles;

  [[nodiscard]] const RankKind& kind_of_rank(std::size_t rank) const { return rank_kinds.at(ranks[rank].kind); }

  void change_rank(std::size_t rank, const RankKind& kind) { ranks[rank].kind = rank_kinds.number_of(kind); }

  [[nodiscard]] const LinkKind& kind_of_link(fabric::LinkId link) const {
    return kinds_of_links.at(link_kinds[static_cast<std::size_t>(link)]);
  }

  void change_link(fabric::LinkId link, const LinkKind& kind) {
    link_kinds[static_cast<std::size_t>(link)] = kinds_of_links.number_of(kind);
  }

  [[nodiscard]] const PathKind& kind_of_path(std::size_t path) const { return kinds_of_paths.at(path_kinds[path]); }

  [[nodiscard]] std::span<const std::int32_t> channels_of(std::size_t rank) const {
    return {rank_channels.data() + rank_channel_rows.begin(rank),
            rank_channel_rows.end(rank) - rank_channel_rows.begin(rank)};
  }

  [[nodiscard]] std::span<const std::int32_t> members_of(std::size_t group) const {
    return {group_members.data() + group_member_rows.begin(group),
            group_member_rows.end(group) - group_member_rows.begin(group)};
  }

  [[nodiscard]] std::span<const WholeStep> steps_of(std::size_t group) const {
    return {group_steps.data() + group_step_rows.begin(group),
            group_step_rows.end(group) - group_step_rows.begin(group)};
  }

  [[nodiscard]] std::size_t paths() const { return path_kinds.size(); }

  [[nodiscard]] std::size_t groups() const { return group_sizes.size(); }

  /// Group of `rank` in `slot` of Rank::groups; -1: none.
  [[nodiscard]] std::int32_t group_of(std::size_t rank, std::size_t slot) const {
    return rank_groups[slot].empty() ? -1 : rank_groups[slot][rank];
  }

  /// Path of a host copy; -1: none.
  [[nodiscard]] std::int32_t host_path(std::size_t rank, bool to) const {
    const std::vector<std::int32_t>& paths_of_ranks = to ? to_host : from_host;
    return paths_of_ranks.empty() ? -1 : paths_of_ranks[rank];
  }

  /// Calls visit(link, count) for the uses of `path`, in order.
  template <class Visit>
  void for_each_use(std::size_t path, Visit visit) const {
    for_each_use_between(path_rows.begin(path), path_rows.end(path), visit);
  }

  /// Calls visit(link, count) for a part of `uses`.
  template <class Visit>
  void for_each_use_between(std::size_t begin, std::size_t end, Visit visit) const {
    std::int32_t count = 1;
    for (std::size_t i = begin; i < end; ++i) {
      if (uses[i] < 0) {
        count = -uses[i];
      } else {
        visit(uses[i], count);
        count = 1;
      }
    }
  }

  /// Appends a use to the path that is being written.
  void add_use(const collectives::LinkUse& use) {
    if (use.count != 1) {
      uses.push_back(-use.count);
    }
    uses.push_back(use.link);
  }

  /// Ends the path whose uses have been appended to `uses` and returns its number.
  /// @throws InternalError on more than 2^32 crossings of links in all
  std::int32_t close_path(double latency_s, double alone_s_per_byte);

  /// Ends the group whose members and steps have been appended.
  void close_group(std::int32_t size);
};

/// Flat form of `deployment`, and back. `representative` of a link of the flat form is its number.
[[nodiscard]] Whole flatten(const Deployment& deployment);
[[nodiscard]] Deployment expand(const Whole& whole);

/// One row of a deployment made from its flat form, with the numbers of the flat form: what a quotient renumbers.
[[nodiscard]] Rank rank_of(const Whole& whole, std::size_t rank);
[[nodiscard]] Group group_of(const Whole& whole, std::size_t group);
[[nodiscard]] Link link_of(const Whole& whole, std::size_t link);

/// One entry per rank of the whole cluster, ordered by pipeline, data, tensor; deploy() is expand() of it.
[[nodiscard]] Whole deploy_whole(const graph::OperationGraph& graph, const scenario::Strategy& strategy,
                                 const fabric::Fabric& fabric, const collectives::Collective& algorithm,
                                 scenario::CollectiveForm form = scenario::CollectiveForm::kFluid);

}  // namespace lamina::deployment
