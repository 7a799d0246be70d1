#include "validate/numeric/gather_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "validate/numeric/build_device.hpp"

namespace lamina::validate::numeric {
namespace {

void put(const Unit& unit, const std::vector<float>& part, std::vector<float>& whole, double& disagreement) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (unit.owned[i] == 0) {
      continue;
    }
    float& at = whole[unit.places[i]];
    if (std::isnan(at)) {
      at = part[i];
    } else {
      disagreement = std::max(disagreement, static_cast<double>(std::abs(at - part[i])));
    }
  }
}

}  // namespace

RankResult result_of(const Worker& worker, double norm) {
  RankResult result;
  result.units = worker.device().units();
  for (int unit = 0; unit < static_cast<int>(result.units.size()); ++unit) {
    result.gradients.push_back(worker.device().used_gradient(unit));
    result.weights.push_back(worker.device().master(unit));
  }
  result.loss = worker.loss();
  result.norm = norm;
  return result;
}

Step gather_step(const World& world, const std::vector<RankResult>& ranks) {
  Step step;
  step.copies.resize(static_cast<std::size_t>(world.copies()));
  for (Copy& copy : step.copies) {
    copy.gradients.resize(static_cast<std::size_t>(world.shape.layers) + 2);
    copy.weights = copy.gradients;
  }
  step.norm = ranks.front().norm;
  for (const RankResult& rank : ranks) {
    step.loss += rank.loss / world.tokens_per_step();
    const std::vector<Unit>& units = rank.units;
    for (std::size_t i = 0; i < units.size(); ++i) {
      Copy& copy = step.copies[static_cast<std::size_t>(world.copy_of[static_cast<std::size_t>(units[i].stage)])];
      const auto layer = static_cast<std::size_t>(units[i].layer + 1);
      if (copy.gradients[layer].empty()) {
        const std::size_t size = size_of(parameters_of(world.shape, units[i].layer, units[i].own_matrix));
        copy.gradients[layer].assign(size, std::numeric_limits<float>::quiet_NaN());
        copy.weights[layer] = copy.gradients[layer];
      }
      put(units[i], rank.gradients[i], copy.gradients[layer], step.disagreement);
      put(units[i], rank.weights[i], copy.weights[layer], step.disagreement);
    }
  }
  return step;
}

}  // namespace lamina::validate::numeric
