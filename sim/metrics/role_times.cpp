#include "sim/metrics/role_times.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace lamina::metrics {

using graph::OperationKind;
using graph::Phase;
using graph::Traffic;

namespace {

/// A stretch of time and the seconds of it that are not lost to the pipeline: all but its exposed transfers and
/// waiting.
struct Window {
  double from = std::numeric_limits<double>::infinity();
  double to = 0;
  double occupied = 0;

  void extend(const timeline::Span& span) {
    from = std::min(from, span.start);
    to = std::max(to, span.end);
  }

  void occupy(double start, double end) { occupied += std::max(0.0, std::min(end, to) - std::max(start, from)); }

  [[nodiscard]] double length() const { return std::max(0.0, to - from); }

  [[nodiscard]] double idle_fraction() const { return length() > 0 ? std::max(0.0, 1 - occupied / length()) : 0; }
};

/// What one rank's time was spent on.
struct Ledger {
  report::RoleTimes times;
  Window pipeline;  ///< from the rank's first forward or backward to its last

  void compute(double from, double to) {
    times.compute_s += to - from;
    pipeline.occupy(from, to);
  }

  void exposed(Traffic traffic, double from, double to) {
    times.exposed_s[static_cast<std::size_t>(traffic)] += to - from;
    if (traffic != Traffic::kPipeline) {
      pipeline.occupy(from, to);
    }
  }

  void bubble(double from, double to) { times.bubble_s += to - from; }
};

/// Walks one rank from the start of the step to its last operation and fills a ledger.
class RankWalk {
 public:
  RankWalk(const Step& step, std::size_t rank, Ledger& ledger) : step_(step), rank_(rank), ledger_(ledger) {}

  /// `order`: operations of the compute stream by start.
  void walk(const std::vector<std::uint32_t>& order) {
    double now = 0;
    for (const std::uint32_t operation : order) {
      const Run run{rank_, operation};
      const timeline::Span& span = step_.span(run);
      const double start = std::max(now, span.start);
      const double end = std::max(start, span.end);
      attribute_gap(run, now, start);
      if (step_.operation(run).kind == OperationKind::kCompute) {
        ledger_.compute(start, end);
      } else {
        ledger_.exposed(traffic_of(step_.operation(run)), start, end);
      }
      now = end;
    }
    const double last_end = step_.last_end(rank_);
    if (last_end > now) {
      attribute_end(now, last_end);
    }
    ledger_.times.tail_s = std::max(0.0, step_.time() - std::max(now, last_end));
  }

 private:
  /// The stretch from the last compute to the rank's last operation, which runs on another stream.
  void attribute_end(double floor, double ceiling) {
    const Run last = *step_.last_operation(rank_);
    const double start = std::clamp(step_.span(last).start, floor, ceiling);
    charge(last, start, ceiling);
    attribute_gap(last, floor, start);
  }

  /// Charges [floor, ceiling] to what `waiting`, which starts at `ceiling`, waited for. Each step goes to an operation
  /// that ends inside the gap, so no operation is looked at in two gaps.
  void attribute_gap(Run waiting, double floor, double ceiling) {
    double now = ceiling;
    while (now > floor + step_.slack()) {
      const std::optional<Run> before = step_.latest_predecessor(waiting);
      const double ended = before ? std::min(step_.span(*before).end, now) : floor;
      const bool waited = ended < now - step_.slack();
      if (ended <= floor + step_.slack() || (waited && has_peer(step_.operation(waiting)))) {
        break;  // what came before happened on another rank
      }
      if (waited) {
        ledger_.bubble(ended, now);
        now = ended;
      }
      const double start = std::clamp(step_.span(*before).start, floor, now);
      charge(*before, start, now);
      now = start;
      waiting = *before;
    }
    if (now > floor) {
      ledger_.bubble(floor, now);
    }
  }

  void charge(Run run, double from, double to) {
    const bool computes = step_.operation(run).kind == OperationKind::kCompute && step_.on_compute_stream(run);
    if (computes) {
      ledger_.bubble(from, to);  // its own time is counted where it stands in the stream
    } else {
      ledger_.exposed(traffic_of(step_.operation(run)), from, to);
    }
  }

  const Step& step_;
  std::size_t rank_;
  Ledger& ledger_;
};

std::vector<std::uint32_t> compute_stream(const Step& step, std::size_t rank) {
  std::vector<std::uint32_t> order;
  const graph::Program& program = step.program(rank);
  for (std::uint32_t operation = 0; operation < program.operations.size(); ++operation) {
    if (step.on_compute_stream({rank, operation})) {
      order.push_back(operation);
    }
  }
  const auto starts_before = [&](std::uint32_t a, std::uint32_t b) {
    return step.span({rank, a}).start < step.span({rank, b}).start;
  };
  if (!std::is_sorted(order.begin(), order.end(), starts_before)) {  // more than one compute stream
    std::stable_sort(order.begin(), order.end(), starts_before);
  }
  return order;
}

bool is_pipeline_work(const graph::Operation& operation) {
  return operation.kind == OperationKind::kCompute && operation.phase != Phase::kUpdate;
}

/// First start and last end of a rank's forwards, recomputations and backwards; times.span_s of all its compute.
Ledger open_ledger(const Step& step, std::size_t rank, const std::vector<std::uint32_t>& order) {
  Ledger ledger;
  Window compute;
  for (const std::uint32_t operation : order) {
    const Run run{rank, operation};
    if (step.operation(run).kind == OperationKind::kCompute) {
      compute.extend(step.span(run));
    }
    if (is_pipeline_work(step.operation(run))) {
      ledger.pipeline.extend(step.span(run));
    }
  }
  ledger.times.span_s = compute.length();
  return ledger;
}

}  // namespace

StepTimes role_times(const Step& step) {
  StepTimes result;
  Window makespan;
  Window longest;
  for (std::size_t rank = 0; rank < step.ranks(); ++rank) {
    const std::vector<std::uint32_t> order = compute_stream(step, rank);
    Ledger ledger = open_ledger(step, rank, order);
    RankWalk(step, rank, ledger).walk(order);
    makespan.extend({ledger.pipeline.from, ledger.pipeline.to});
    makespan.occupied = std::max(makespan.occupied, ledger.pipeline.occupied);
    if (rank == 0 || ledger.pipeline.length() > longest.length() + step.slack()) {
      longest = ledger.pipeline;
    }
    result.ranks.push_back(ledger.times);
  }
  result.bubble_makespan_fraction = makespan.idle_fraction();
  result.bubble_span_fraction = longest.idle_fraction();
  return result;
}

}  // namespace lamina::metrics
