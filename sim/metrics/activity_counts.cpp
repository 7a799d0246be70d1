#include "sim/metrics/activity_counts.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace lamina::metrics {

using graph::OperationKind;
using graph::Phase;
using graph::Traffic;

namespace {

constexpr double kOneMoment = 1e-9;  ///< of the step, as for memory

bool keeps_activations(const graph::Operation& operation) {
  return operation.kind == OperationKind::kCompute && operation.stage >= 0 && operation.micro_batch >= 0;
}

bool frees_activations(const graph::Operation& operation) {
  return operation.phase == Phase::kBackward || operation.phase == Phase::kWeightGradient;
}

/// Layers of each stage of a program. Embedding and head (-1 and the layer after the last) cannot be told from layers
/// by the operation alone, so `layers` says where the model ends.
std::map<int, std::set<int>> layers_of_stages(const graph::Program& program, int layers) {
  std::map<int, std::set<int>> result;
  for (const graph::Operation& operation : program.operations) {
    if (keeps_activations(operation) && operation.phase == Phase::kForward) {
      std::set<int>& stage = result[operation.stage];
      if (operation.layer >= 0 && operation.layer < layers) {
        stage.insert(operation.layer);
      }
    }
  }
  return result;
}

/// How often each layer is held by some rank: 1, or 2 where the model is held twice.
double copies_of_model(const graph::OperationGraph& graph, int layers) {
  std::set<int> distinct;
  std::size_t held = 0;
  for (const graph::Program& program : graph.programs) {
    for (const auto& [stage, own] : layers_of_stages(program, layers)) {
      held += own.size();
      distinct.insert(own.begin(), own.end());
    }
  }
  return distinct.empty() ? 1 : static_cast<double>(held) / static_cast<double>(distinct.size());
}

/// Part of the rank's whole share of the model that each stage is.
std::map<int, double> weights_of_stages(const graph::Program& program, int layers, double copies) {
  const std::map<int, std::set<int>> stages = layers_of_stages(program, layers);
  std::size_t total = 0;
  for (const auto& [stage, own] : stages) {
    total += own.size();
  }
  std::map<int, double> result;
  for (const auto& [stage, own] : stages) {
    const double part = total > 0 ? static_cast<double>(own.size()) / static_cast<double>(total)
                                  : 1.0 / static_cast<double>(stages.size());  // a rank of ends only
    result[stage] = copies * part;
  }
  return result;
}

/// From the first forward to the last gradient of one stage and micro-batch.
struct Life {
  double begin = std::numeric_limits<double>::infinity();
  double end = 0;
};

struct Change {
  double time = 0;
  double amount = 0;
};

std::vector<Change> changes_of(const Step& step, std::size_t rank, const std::map<int, double>& weights) {
  std::map<std::pair<int, int>, Life> lives;
  const std::vector<graph::Operation>& operations = step.program(rank).operations;
  for (std::uint32_t index = 0; index < operations.size(); ++index) {
    const graph::Operation& operation = operations[index];
    if (!keeps_activations(operation) || operation.phase == Phase::kUpdate) {
      continue;
    }
    Life& life = lives[{operation.stage, operation.micro_batch}];
    const timeline::Span& span = step.span({rank, index});
    if (operation.phase == Phase::kForward) {
      life.begin = std::min(life.begin, span.start);
    } else if (frees_activations(operation)) {
      life.end = std::max(life.end, span.end);
    }
  }
  std::vector<Change> changes;
  changes.reserve(2 * lives.size());
  for (const auto& [owner, life] : lives) {
    const auto weight = weights.find(owner.first);
    if (life.end > life.begin && weight != weights.end()) {
      changes.push_back({life.begin, weight->second});
      changes.push_back({life.end, -weight->second});
    }
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
  return changes;
}

double highest_sum(const std::vector<Change>& changes, double one_moment) {
  double now = 0;
  double peak = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const double moment = changes[i].time + one_moment;
    for (; i < changes.size() && changes[i].time <= moment; ++i) {
      now += changes[i].amount;
    }
    peak = std::max(peak, now);
  }
  return peak;
}

}  // namespace

ActivityCounts counts_of(const graph::Program& program) {
  ActivityCounts counts;
  for (const graph::Operation& operation : program.operations) {
    if (operation.kind == OperationKind::kSend) {
      ++counts.messages;
      counts.message_bytes += operation.bytes;
    } else if (operation.kind == OperationKind::kCollective && operation.group == graph::GroupKind::kData) {
      if (traffic_of(operation) == Traffic::kRestore) {
        ++counts.restores;
        counts.restored_bytes += operation.bytes;
      } else if (traffic_of(operation) == Traffic::kReduce && operation.layer != -2) {  // -2: the gradient norm
        ++counts.reductions;
      }
    }
  }
  return counts;
}

std::vector<double> peak_activations(const Step& step, int layers) {
  const double copies = copies_of_model(step.graph(), layers);
  std::vector<std::map<int, double>> weights;
  for (const graph::Program& program : step.graph().programs) {
    weights.push_back(weights_of_stages(program, layers, copies));
  }
  std::vector<double> result;
  result.reserve(step.ranks());
  for (std::size_t rank = 0; rank < step.ranks(); ++rank) {
    const auto program = static_cast<std::size_t>(step.deployment().ranks[rank].program);
    result.push_back(highest_sum(changes_of(step, rank, weights[program]), kOneMoment * step.time()));
  }
  return result;
}

}  // namespace lamina::metrics
