#include "sim/score/families.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

namespace lamina::score {
namespace {

constexpr int kComputeFamilies = 3;  ///< products, memory-bound, launches

using Parts = std::array<double, kComputeFamilies>;

std::size_t at(Family family) {
  return static_cast<std::size_t>(family);
}

std::vector<model::Pass> passes_of(graph::Phase phase) {
  switch (phase) {
    case graph::Phase::kForward:
      return {model::Pass::kForward};
    case graph::Phase::kRecompute:
      return {model::Pass::kRecompute};
    case graph::Phase::kInputGradient:
      return {model::Pass::kInputGradient};
    case graph::Phase::kWeightGradient:
      return {model::Pass::kWeightGradient};
    case graph::Phase::kBackward:
      return {model::Pass::kInputGradient, model::Pass::kWeightGradient};
    default:
      return {};
  }
}

/// Divides compute among the families by its kernels.
class Division {
 public:
  Division(const model::WorkModel& work, const scenario::Scenario& scenario, const pipeline::Catalogs& catalogs)
      : work_(work), scenario_(scenario) {
    if (const auto* chosen = catalogs.cost_models.find(scenario.simulation.cost_model.name)) {
      cost_model_ = chosen->implementation.get();
    }
  }

  /// Shares of one phase of one layer; they add up to 1.
  [[nodiscard]] const Parts& shares(std::int32_t layer, graph::Phase phase) {
    const std::size_t which = layer < 0 ? 0 : layer < work_.layers ? 1 : 2;
    auto& known = known_.at(which).at(static_cast<std::size_t>(phase));
    if (!known) {
      known = compute(which == 0 ? work_.embedding : which == 1 ? work_.layer : work_.head, phase);
    }
    return *known;
  }

 private:
  static constexpr std::size_t kLayerKinds = 3;
  static constexpr std::size_t kPhases = static_cast<std::size_t>(graph::Phase::kOffload) + 1;

  [[nodiscard]] double time(const model::Kernel& kernel) const {
    const auto type = kernel.type.value_or(scenario_.strategy.precision.compute);
    return cost_model_
        ->time(kernel, scenario_.cluster.node.accelerator, type, scenario_.simulation.cost_model.parameters)
        .value();
  }

  [[nodiscard]] Parts compute(const model::LayerCost& layer, graph::Phase phase) const {
    Parts parts{};
    if (cost_model_ != nullptr) {
      const model::Kernel empty{
          .name = "", .kind = model::KernelKind::kMemoryBound, .flops = {}, .bytes = {}, .copied = {}};
      const double floor = time(empty);
      for (const model::Pass pass : passes_of(phase)) {
        for (const model::BlockCost& block : layer.blocks) {
          for (const model::Kernel& kernel : block.pass(pass).kernels) {
            const bool product = kernel.kind == model::KernelKind::kMatrixProduct;
            parts[at(product ? Family::kMatrixProducts : Family::kMemoryBound)] += std::max(0.0, time(kernel) - floor);
            parts[at(Family::kLaunches)] += floor;
          }
        }
      }
    }
    const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
    if (!(sum > 0)) {
      return {1, 0, 0};
    }
    for (double& part : parts) {
      part /= sum;
    }
    return parts;
  }

  const model::WorkModel& work_;
  const scenario::Scenario& scenario_;
  const model::CostModel* cost_model_ = nullptr;
  std::array<std::array<std::optional<Parts>, kPhases>, kLayerKinds> known_;
};

/// Compute of one role: the three families, and the optimizer.
FamilySeconds compute_of_role(const graph::Program& program, Division& division) {
  FamilySeconds seconds{};
  for (const graph::Operation& operation : program.operations) {
    if (operation.kind != graph::OperationKind::kCompute) {
      continue;
    }
    if (operation.phase == graph::Phase::kUpdate) {
      seconds[at(Family::kOptimizer)] += operation.duration_s;
      continue;
    }
    const Parts& shares = division.shares(operation.layer, operation.phase);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      seconds[i] += shares[i] * operation.duration_s;
    }
  }
  return seconds;
}

}  // namespace

std::string_view word_for(Family family) {
  constexpr std::array<std::string_view, kFamilies> kWords = {
      "matrix_products", "memory_bound", "launches", "optimizer", "tensor", "pipeline", "reduce", "restore", "offload"};
  return kWords[at(family)];
}

std::string_view sentence_for(Family family) {
  constexpr std::array<std::string_view, kFamilies> kSentences = {
      "matrix products",     "memory-bound kernels",          "kernel launches",
      "optimizer",           "tensor-parallel communication", "pipeline messages",
      "gradient reductions", "restores of weights",           "copies to and from hosts"};
  return kSentences[at(family)];
}

FamilySeconds family_seconds(const pipeline::Result& result, const scenario::Scenario& scenario,
                             const pipeline::Catalogs& catalogs) {
  const report::Report& report = result.report;
  const auto role = static_cast<std::size_t>(report.critical_role);
  Division division(result.prepared.work, scenario, catalogs);
  FamilySeconds seconds = compute_of_role(result.prepared.graph.programs.at(role), division);
  // The optimizer runs once; forwards and backwards on the path are more than the role's own, by those of the bubble.
  const double optimizer = std::min(seconds[at(Family::kOptimizer)], report.critical_path.compute_s);
  const double passes = std::accumulate(seconds.begin(), seconds.begin() + kComputeFamilies, 0.0);
  const double scale = passes > 0 ? (report.critical_path.compute_s - optimizer) / passes : 0;
  for (std::size_t i = 0; i < kComputeFamilies; ++i) {
    seconds[i] *= scale;
  }
  seconds[at(Family::kOptimizer)] = optimizer;
  const auto& traffic = report.critical_path.traffic_s;
  const auto charge = [&](Family family, graph::Traffic which) {
    seconds[at(family)] = traffic[static_cast<std::size_t>(which)];
  };
  charge(Family::kTensor, graph::Traffic::kTensor);
  charge(Family::kPipeline, graph::Traffic::kPipeline);
  charge(Family::kReduce, graph::Traffic::kReduce);
  charge(Family::kRestore, graph::Traffic::kRestore);
  charge(Family::kOffload, graph::Traffic::kOffload);
  return seconds;
}

}  // namespace lamina::score
