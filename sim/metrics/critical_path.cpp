#include "sim/metrics/critical_path.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/error/error.hpp"

namespace lamina::metrics {

using graph::GroupKind;
using graph::OperationKind;

namespace {

class Walk {
 public:
  explicit Walk(const Step& step) : step_(step), occurrences_(step.graph().programs.size()) {}

  report::CriticalPath run() {
    std::optional<Run> now = last_of_step();
    double end = step_.time();
    std::size_t visits = 0;
    std::size_t limit = 1;
    for (const std::vector<timeline::Span>& spans : step_.timeline().spans) {
      limit += spans.size();
    }
    while (now) {
      if (++visits > limit) {
        throw error::InternalError(
            "the critical path does not reach the start of the step: operations wait for each other");
      }
      const std::optional<Run> before = latest_before(*now);
      // Between the end of the one before and its own start the operation waited for something that is in no graph.
      const double start = before ? std::min(step_.span(*before).end, end) : 0;
      charge(*now, end - start);
      end = start;
      now = before;
    }
    return path_;
  }

 private:
  std::optional<Run> last_of_step() const {
    std::optional<Run> last;
    for (std::size_t rank = 0; rank < step_.ranks(); ++rank) {
      if (step_.last_end(rank) >= step_.time() - step_.slack()) {
        better(last, step_.last_operation(rank));
      }
    }
    return last;
  }

  void charge(Run run, double seconds) {
    const graph::Operation& operation = step_.operation(run);
    if (operation.kind == OperationKind::kCompute && step_.on_compute_stream(run)) {
      path_.compute_s += seconds;
    } else {
      path_.traffic_s[static_cast<std::size_t>(traffic_of(operation))] += seconds;
    }
  }

  /// Replaces `best` by `candidate` when that ended later, or together with it and only the candidate computes.
  void better(std::optional<Run>& best, std::optional<Run> candidate) const {
    if (!candidate) {
      return;
    }
    if (best) {
      const double difference = step_.span(*candidate).end - step_.span(*best).end;
      const bool computes = step_.operation(*candidate).kind == OperationKind::kCompute;
      const bool best_computes = step_.operation(*best).kind == OperationKind::kCompute;
      if (difference < -step_.slack() || (difference <= step_.slack() && (best_computes || !computes))) {
        return;
      }
    }
    best = candidate;
  }

  std::optional<Run> latest_before(Run run) {
    std::optional<Run> best = step_.latest_predecessor(run);
    const graph::Operation& operation = step_.operation(run);
    if (operation.kind == OperationKind::kSend || operation.kind == OperationKind::kReceive) {
      if (const std::optional<Run> other = partner(run)) {
        better(best, step_.latest_predecessor(*other));
      }
    } else if (operation.kind == OperationKind::kCollective) {
      for (const std::int32_t member : members(run)) {
        if (const std::optional<Run> other = counterpart(run, static_cast<std::size_t>(member))) {
          better(best, step_.latest_predecessor(*other));
        }
      }
    }
    return best;
  }

  std::optional<Run> partner(Run run) const {
    const deployment::Deployment& deployment = step_.deployment();
    const deployment::Rank& rank = deployment.ranks[run.rank];
    const graph::Operation& operation = step_.operation(run);
    const std::uint32_t vertex = step_.graph().partner[step_.graph().vertex(rank.program, run.operation)];
    if (vertex == graph::OperationGraph::kNoPartner || operation.channel >= rank.channels.size() ||
        rank.channels[operation.channel] < 0) {
      return std::nullopt;
    }
    const deployment::Channel& channel =
        deployment.channels[static_cast<std::size_t>(rank.channels[operation.channel])];
    const std::int32_t other = operation.kind == OperationKind::kSend ? channel.receiver : channel.sender;
    if (other < 0) {
      return std::nullopt;
    }
    const auto peer = static_cast<std::size_t>(other);
    return Run{peer, vertex - step_.graph().vertex(deployment.ranks[peer].program, 0)};
  }

  const std::vector<std::int32_t>& members(Run run) const {
    static const std::vector<std::int32_t> kNobody;
    const deployment::Rank& rank = step_.deployment().ranks[run.rank];
    const std::int32_t group = rank.groups[static_cast<std::size_t>(step_.operation(run).group)];
    return group < 0 ? kNobody : step_.deployment().groups[static_cast<std::size_t>(group)].members;
  }

  /// The operation by which `rank` takes part in the collective `run`: the k-th of that group kind in its program.
  std::optional<Run> counterpart(Run run, std::size_t rank) {
    const std::int32_t program = step_.deployment().ranks[rank].program;
    const std::int32_t own = step_.deployment().ranks[run.rank].program;
    if (program == own) {
      return Run{rank, run.operation};
    }
    const GroupKind kind = step_.operation(run).group;
    const std::vector<std::uint32_t>& mine = collectives(own, kind);
    const std::vector<std::uint32_t>& theirs = collectives(program, kind);
    const auto position = std::lower_bound(mine.begin(), mine.end(), run.operation) - mine.begin();
    if (static_cast<std::size_t>(position) >= theirs.size()) {
      return std::nullopt;
    }
    return Run{rank, theirs[static_cast<std::size_t>(position)]};
  }

  /// Collectives of a program by group kind; found when first asked for.
  const std::vector<std::uint32_t>& collectives(std::int32_t program, GroupKind kind) {
    auto& known = occurrences_[static_cast<std::size_t>(program)];
    if (known.empty()) {
      const std::vector<graph::Operation>& operations =
          step_.graph().programs[static_cast<std::size_t>(program)].operations;
      for (std::uint32_t index = 0; index < operations.size(); ++index) {
        if (operations[index].kind == OperationKind::kCollective) {
          const auto slot = static_cast<std::size_t>(operations[index].group);
          known.resize(std::max(known.size(), slot + 1));
          known[slot].push_back(index);
        }
      }
    }
    return known.at(static_cast<std::size_t>(kind));
  }

  const Step& step_;
  std::vector<std::vector<std::vector<std::uint32_t>>> occurrences_;  ///< [program][group kind]
  report::CriticalPath path_;
};

}  // namespace

report::CriticalPath critical_path(const Step& step) {
  return Walk(step).run();
}

}  // namespace lamina::metrics
