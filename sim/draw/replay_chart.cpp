#include "sim/draw/replay_chart.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/draw/compute_lane.hpp"
#include "sim/error/error.hpp"

namespace lamina::draw {
namespace {

using graph::OperationKind;

/// Ranks of one role that differ by less than this share of the step behave alike.
constexpr double kSameTimes = 1e-9;
/// Share of the time shown below which nothing is told apart.
constexpr double kInvisible = 1e-4;

double compute_time(const Recorded& rank) {
  double sum = 0;
  for (std::size_t index = 0; index < rank.program.operations.size(); ++index) {
    if (rank.program.operations[index].kind == OperationKind::kCompute) {
      sum += rank.spans[index].end - rank.spans[index].start;
    }
  }
  return sum;
}

double last_end(const Recorded& rank) {
  double last = 0;
  for (const timeline::Span& span : rank.spans) {
    last = std::max(last, span.end);
  }
  return last;
}

/// The rank that stands for each program, and whether the others of some program differ from it.
struct Chosen {
  std::vector<std::optional<std::size_t>> ranks;
  bool differ = false;
};

Chosen choose_ranks(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                    const timeline::Timeline& timeline) {
  if (timeline.spans.size() != deployment.ranks.size()) {
    throw error::InternalError("chart: timeline and deployment differ in their ranks");
  }
  const double slack = kSameTimes * timeline.end_s;
  Chosen chosen;
  chosen.ranks.resize(graph.programs.size());
  std::vector<std::pair<double, double>> best(graph.programs.size());
  for (std::size_t rank = 0; rank < deployment.ranks.size(); ++rank) {
    const auto program = static_cast<std::size_t>(deployment.ranks[rank].program);
    const Recorded recorded{graph.programs.at(program), timeline.spans[rank]};
    if (recorded.spans.size() != recorded.program.operations.size()) {
      throw error::InternalError(fmt::format("chart: the spans of rank {} do not match its program", rank));
    }
    const std::pair<double, double> times{compute_time(recorded), last_end(recorded)};
    if (!chosen.ranks[program]) {
      chosen.ranks[program] = rank;
      best[program] = times;
      continue;
    }
    const double computes_longer = times.first - best[program].first;
    const double ends_later = times.second - best[program].second;
    chosen.differ = chosen.differ || std::abs(computes_longer) > slack || std::abs(ends_later) > slack;
    if (computes_longer > slack || (computes_longer >= -slack && ends_later > slack)) {
      chosen.ranks[program] = rank;
      best[program] = times;
    }
  }
  return chosen;
}

/// What a transfer outside the compute stream is drawn as; empty: not at all (receives show at their senders).
std::optional<Kind> transfer_kind(const graph::Operation& operation, const graph::Program& program) {
  if (program.streams[operation.stream].kind == graph::StreamKind::kCompute) {
    return std::nullopt;
  }
  switch (operation.kind) {
    case OperationKind::kSend:
      return program.channels.at(operation.channel).gradients ? Kind::kGradientMessage : Kind::kActivationMessage;
    case OperationKind::kCollective:
      return operation.phase == graph::Phase::kRestore ? Kind::kRestore : Kind::kReduce;
    case OperationKind::kHostCopy:
      return Kind::kOffload;
    case OperationKind::kReceive:
    case OperationKind::kCompute:
      break;
  }
  return std::nullopt;
}

/// Thin lanes of a rank by what they show, each as many as it takes to keep boxes apart.
struct TransferLanes {
  std::vector<Lane> messages;
  std::vector<Lane> collectives;
  std::vector<Lane> copies;
};

std::vector<Lane>& lanes_for(TransferLanes& lanes, Kind kind) {
  if (kind == Kind::kActivationMessage || kind == Kind::kGradientMessage) {
    return lanes.messages;
  }
  return kind == Kind::kOffload ? lanes.copies : lanes.collectives;
}

/// Into the first lane that is free. `boxes` come by start.
void pack(std::vector<Lane>& lanes, Box box, double least) {
  for (Lane& lane : lanes) {
    Box& last = lane.boxes.back();
    const bool tiny = box.end - box.start < least && box.start - last.end < least;
    if (tiny && last.kind == box.kind && box.start >= last.start) {
      last.end = std::max(last.end, box.end);
      last.stage = last.stage == box.stage ? box.stage : -1;
      last.micro_batch = last.micro_batch == box.micro_batch ? box.micro_batch : -1;
      return;
    }
    if (box.start >= last.end) {
      lane.boxes.push_back(box);
      return;
    }
  }
  lanes.push_back({true, {box}});
}

TransferLanes transfer_lanes(const Recorded& rank, const Shown& shown) {
  std::vector<Box> boxes;
  for (std::size_t index = 0; index < rank.program.operations.size(); ++index) {
    const graph::Operation& operation = rank.program.operations[index];
    const std::optional<Kind> kind = transfer_kind(operation, rank.program);
    const double start = std::max(rank.spans[index].start, shown.from);
    const double end = std::min(rank.spans[index].end, shown.until);
    if (kind && end > start) {
      boxes.push_back({start, end, *kind, Part::kWhole, 0, operation.stage, operation.micro_batch, false});
    }
  }
  std::stable_sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.start < b.start; });
  TransferLanes lanes;
  for (const Box& box : boxes) {
    pack(lanes_for(lanes, box.kind), box, shown.least);
  }
  return lanes;
}

/// The same lanes in every row, so that rows are alike.
void append_lanes(std::vector<Row>& rows, const std::vector<TransferLanes>& transfers,
                  std::vector<Lane> TransferLanes::*member) {
  std::size_t most = 0;
  for (const TransferLanes& lanes : transfers) {
    most = std::max(most, (lanes.*member).size());
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::vector<Lane>& lanes = transfers[row].*member;
    for (std::size_t lane = 0; lane < most; ++lane) {
      rows[row].lanes.push_back(lane < lanes.size() ? lanes[lane] : Lane{true, {}});
    }
  }
}

}  // namespace

Chart replay_chart(const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                   const timeline::Timeline& timeline, const Window& window) {
  const Chosen chosen = choose_ranks(graph, deployment, timeline);
  Chart chart;
  chart.seconds = true;
  chart.start = std::max(0.0, window.from);
  chart.end = std::min(timeline.end_s, window.until);
  const Shown shown{chart.start, chart.end, kInvisible * (chart.end - chart.start)};
  std::vector<TransferLanes> transfers;
  for (std::size_t program = 0; program < graph.programs.size(); ++program) {
    const std::map<int, int> shades = stage_shades(graph.programs[program]);
    chart.shades = std::max(chart.shades, static_cast<int>(shades.size()));
    if (program < window.first_rank || program > window.last_rank || !chosen.ranks[program]) {
      continue;
    }
    const Recorded rank{graph.programs[program], timeline.spans[*chosen.ranks[program]]};
    chart.rows.push_back({fmt::format("rank {}", program), {compute_lane(rank, shown, shades)}});
    transfers.push_back(transfer_lanes(rank, shown));
  }
  append_lanes(chart.rows, transfers, &TransferLanes::messages);
  append_lanes(chart.rows, transfers, &TransferLanes::collectives);
  append_lanes(chart.rows, transfers, &TransferLanes::copies);
  if (chosen.differ) {
    chart.facts.emplace_back("replicas differ: each row is the slowest of its rank");
  }
  return chart;
}

}  // namespace lamina::draw
