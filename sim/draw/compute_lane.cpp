#include "sim/draw/compute_lane.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace lamina::draw {
namespace {

using graph::OperationKind;
using graph::Phase;

Kind kind_of(const graph::Operation& operation, const graph::Program& program) {
  if (operation.kind == OperationKind::kSend || operation.kind == OperationKind::kReceive) {
    return program.channels.at(operation.channel).gradients ? Kind::kGradientMessage : Kind::kActivationMessage;
  }
  switch (operation.phase) {
    case Phase::kForward:
      return Kind::kForward;
    case Phase::kRecompute:
      return Kind::kRecompute;
    case Phase::kInputGradient:
      return Kind::kInputGradient;
    case Phase::kWeightGradient:
      return Kind::kWeightGradient;
    case Phase::kBackward:
      return Kind::kBackward;
    case Phase::kRestore:
      return Kind::kRestore;
    case Phase::kReduce:
      return Kind::kReduce;
    case Phase::kOffload:
      return Kind::kOffload;
    case Phase::kUpdate:
    case Phase::kPipeline:
    case Phase::kTensor:
      break;
  }
  return Kind::kUpdate;
}

/// A piece of the compute stream.
struct Step {
  Kind kind = Kind::kForward;
  int stage = -1;
  int micro_batch = -1;
  timeline::Span span;
};

/// Steps of the compute stream in order. A tensor collective is part of the action around it.
std::vector<Step> steps_of(const Recorded& rank) {
  std::vector<Step> steps;
  std::vector<std::size_t> undecided;  // tensor collectives in front of their action
  for (std::size_t index = 0; index < rank.program.operations.size(); ++index) {
    const graph::Operation& operation = rank.program.operations[index];
    if (rank.program.streams[operation.stream].kind != graph::StreamKind::kCompute) {
      continue;
    }
    Step step{kind_of(operation, rank.program), operation.stage, operation.micro_batch, rank.spans[index]};
    const bool follows = !steps.empty() && undecided.empty() && steps.back().stage == step.stage &&
                         steps.back().micro_batch == step.micro_batch;
    if (operation.phase == Phase::kTensor && follows) {
      step.kind = steps.back().kind;
    } else if (operation.phase == Phase::kTensor) {
      undecided.push_back(steps.size());
    } else {
      for (const std::size_t earlier : undecided) {
        steps[earlier].kind = step.kind;
      }
      undecided.clear();
    }
    steps.push_back(step);
  }
  return steps;
}

bool is_pass(Kind kind) {
  return kind == Kind::kForward || kind == Kind::kRecompute || kind == Kind::kBackward ||
         kind == Kind::kInputGradient || kind == Kind::kWeightGradient;
}

/// Recomputation belongs to the backward that it serves.
bool same_action(const Step& a, const Step& b) {
  const auto group = [](Kind kind) {
    return kind == Kind::kRecompute || kind == Kind::kInputGradient ? Kind::kBackward : kind;
  };
  return a.stage == b.stage && a.micro_batch == b.micro_batch && group(a.kind) == group(b.kind);
}

/// Joins steps into boxes.
class LaneBuilder {
 public:
  LaneBuilder(const Shown& shown, const std::map<int, int>& shades) : shown_(shown), shades_(shades) {}

  void add(Step step) {
    step.span.start = std::max(step.span.start, shown_.from);
    step.span.end = std::min(step.span.end, shown_.until);
    if (step.span.end <= step.span.start) {
      return;
    }
    if (!open_ || !same_action(piece_, step) || step.span.start - piece_.span.end > shown_.least) {
      close_piece();
      open_ = true;
      piece_ = step;
      recomputed_ = 0;
    }
    if (step.kind == Kind::kRecompute) {
      recomputed_ += step.span.end - step.span.start;
    } else {
      piece_.kind = step.kind;
    }
    piece_.span.end = step.span.end;
  }

  [[nodiscard]] Lane lane() {
    close_piece();
    close_action();
    return std::move(lane_);
  }

 private:
  void close_piece() {
    if (!open_) {
      return;
    }
    if (is_pass(piece_.kind) && !(acting_ && same_action(action_, piece_))) {
      close_action();
      acting_ = true;
      action_ = piece_;
    }
    const double end = piece_.span.end;
    const double middle = piece_.kind == Kind::kRecompute ? end : std::min(end, piece_.span.start + recomputed_);
    put(Kind::kRecompute, piece_.span.start, middle);
    put(piece_.kind, middle, end);
    open_ = false;
  }

  void put(Kind kind, double start, double end) {
    if (end <= start) {
      return;
    }
    if (is_pass(kind)) {
      boxes_.push_back(lane_.boxes.size());
    }
    const auto shade = shades_.find(piece_.stage);
    lane_.boxes.push_back({start, end, kind, Part::kWhole, shade == shades_.end() ? 0 : shade->second, piece_.stage,
                           piece_.micro_batch, false});
  }

  /// The number goes on the longest box of the action, on recomputation only if there is nothing else.
  void close_action() {
    const auto shorter = [this](std::size_t a, std::size_t b) {
      const auto rank = [this](std::size_t index) {
        const Box& box = lane_.boxes[index];
        return std::pair{box.kind != Kind::kRecompute, box.end - box.start};
      };
      return rank(a) < rank(b);
    };
    const auto longest = std::max_element(boxes_.begin(), boxes_.end(), shorter);
    if (longest != boxes_.end()) {
      lane_.boxes[*longest].numbered = lane_.boxes[*longest].micro_batch >= 0;
    }
    boxes_.clear();
  }

  const Shown& shown_;
  const std::map<int, int>& shades_;
  Lane lane_;
  bool open_ = false;
  Step piece_;
  double recomputed_ = 0;
  bool acting_ = false;
  Step action_;                     ///< its first piece
  std::vector<std::size_t> boxes_;  ///< of the action; restores, copies and messages may stand between them
};

}  // namespace

std::map<int, int> stage_shades(const graph::Program& program) {
  std::set<int> stages;
  for (const graph::Operation& operation : program.operations) {
    const bool passes = operation.kind == OperationKind::kCompute && operation.phase != Phase::kUpdate;
    if (passes && operation.stage >= 0) {
      stages.insert(operation.stage);
    }
  }
  std::map<int, int> shades;
  for (const int stage : stages) {
    shades.emplace(stage, static_cast<int>(shades.size()));
  }
  return shades;
}

Lane compute_lane(const Recorded& rank, const Shown& shown, const std::map<int, int>& shades) {
  LaneBuilder builder(shown, shades);
  for (const Step& step : steps_of(rank)) {
    builder.add(step);
  }
  return builder.lane();
}

}  // namespace lamina::draw
