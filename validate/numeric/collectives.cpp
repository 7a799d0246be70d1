#include "validate/numeric/collectives.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "sim/error/error.hpp"

namespace lamina::validate::numeric {
namespace {

using graph::CollectiveKind;
using graph::Phase;

int unit_of(const Worker& worker, const graph::Operation& operation) {
  return worker.device().unit_of(operation.stage, operation.layer);
}

const Unit& at(const Worker& worker, int unit) {
  return worker.device().units()[static_cast<std::size_t>(unit)];
}

/// The gradient of a tied matrix on a rank that holds the table or its copy.
std::span<float> tied_gradient(Worker& worker) {
  const auto& units = worker.device().units();
  for (std::size_t i = 0; i < units.size(); ++i) {
    const Part& part = units[i].part;
    if (part.is_embedding() || part.is_head()) {
      const Parameter& matrix = part.parameters[part.is_head() ? slot::kMatrix : slot::kTable];
      return std::span(worker.device().final_gradient(static_cast<int>(i))).subspan(matrix.offset, matrix.size());
    }
  }
  throw error::InternalError("there is no embedding on this rank");
}

/// What a tensor rank gathers slices of.
Matrix& gathered(Worker& worker, const graph::Operation& operation, bool gradients) {
  return operation.block < 0 ? worker.received_slice(operation) : worker.gathered(operation, gradients);
}

/// [weight] its place among slices of equal size, one per owner; and their whole size.
std::pair<std::vector<std::size_t>, std::size_t> places_by_owner(const World& world, const Unit& unit) {
  std::vector<std::size_t> sizes(static_cast<std::size_t>(world.strategy.data_parallel), 0);
  std::vector<std::size_t> places;
  for (const int owner : unit.owner) {
    places.push_back(sizes[static_cast<std::size_t>(owner)]++);
  }
  const std::size_t largest = *std::max_element(sizes.begin(), sizes.end());
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] += largest * static_cast<std::size_t>(unit.owner[i]);
  }
  return {std::move(places), largest * sizes.size()};
}

std::vector<float> by_owner(const World& world, const Unit& unit, const std::vector<float>& values) {
  const auto [places, size] = places_by_owner(world, unit);
  std::vector<float> result(size, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    result[places[i]] = values[i];
  }
  return result;
}

std::vector<float> from_owners(const World& world, const Unit& unit, const std::vector<float>& values) {
  std::vector<float> result;
  for (const std::size_t place : places_by_owner(world, unit).first) {
    result.push_back(values[place]);
  }
  return result;
}

}  // namespace

bool slices_messages(const World& world) {
  return world.strategy.tensor_parallel > 1 && world.strategy.sliced_sends && !world.strategy.sequence_parallel;
}

std::vector<float> contribution(const World& world, Worker& worker, const graph::Operation& operation, bool gradients) {
  if (operation.phase == Phase::kTensor) {
    const bool slices = operation.collective == CollectiveKind::kAllGather;
    return slices ? gathered(worker, operation, gradients).values : worker.partial(operation).values;
  }
  if (operation.phase == Phase::kReduce && operation.group == graph::GroupKind::kEmbedding) {
    const std::span<float> gradient = tied_gradient(worker);
    return {gradient.begin(), gradient.end()};
  }
  const int unit = unit_of(worker, operation);
  if (operation.phase == Phase::kRestore) {
    return by_owner(world, at(worker, unit), worker.device().shard(unit));
  }
  const std::vector<float> gradient = worker.device().release_gradient(unit);
  return operation.collective == CollectiveKind::kReduceScatter ? by_owner(world, at(worker, unit), gradient)
                                                                : gradient;
}

void accept(const World& world, Worker& worker, const graph::Operation& operation, bool gradients,
            std::vector<float> outcome) {
  if (operation.phase == Phase::kTensor) {
    if (operation.collective == CollectiveKind::kAllGather) {
      gathered(worker, operation, gradients).values = std::move(outcome);
      return;
    }
    const Matrix& partial = worker.partial(operation);
    Matrix sum;
    sum.rows = partial.rows;
    sum.columns = partial.columns;
    sum.values = std::move(outcome);
    worker.finish(operation, std::move(sum));
    return;
  }
  if (operation.phase == Phase::kReduce && operation.group == graph::GroupKind::kEmbedding) {
    std::copy(outcome.begin(), outcome.end(), tied_gradient(worker).begin());
    return;
  }
  const int unit = unit_of(worker, operation);
  if (operation.phase == Phase::kRestore) {
    worker.device().restore(unit, from_owners(world, at(worker, unit), outcome));
    return;
  }
  const bool scattered = operation.collective == CollectiveKind::kReduceScatter;
  worker.device().add_reduced(unit, scattered ? from_owners(world, at(worker, unit), outcome) : outcome);
}

std::vector<float> replicated_gradients(Device& device, int unit) {
  const std::vector<float>& gradient = device.final_gradient(unit);
  std::vector<float> result;
  for (const Parameter& parameter : device.units()[static_cast<std::size_t>(unit)].part.parameters) {
    if (parameter.split == Split::kNone) {
      const auto first = gradient.begin() + static_cast<std::ptrdiff_t>(parameter.offset);
      result.insert(result.end(), first, first + static_cast<std::ptrdiff_t>(parameter.size()));
    }
  }
  return result;
}

void set_replicated_gradients(Device& device, int unit, const std::vector<float>& sum) {
  std::vector<float>& gradient = device.final_gradient(unit);
  auto next = sum.begin();
  for (const Parameter& parameter : device.units()[static_cast<std::size_t>(unit)].part.parameters) {
    if (parameter.split == Split::kNone) {
      const auto end = next + static_cast<std::ptrdiff_t>(parameter.size());
      std::copy(next, end, gradient.begin() + static_cast<std::ptrdiff_t>(parameter.offset));
      next = end;
    }
  }
}

double sum_of_squares(const World& world, Worker& worker) {
  double squares = 0;
  const auto& units = worker.device().units();
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    const std::vector<float>& gradient = worker.device().final_gradient(static_cast<int>(unit));
    const Part& part = units[unit].part;
    for (std::size_t p = 0; p < part.parameters.size(); ++p) {
      const Parameter& parameter = part.parameters[p];
      const bool counted_elsewhere = (parameter.split == Split::kNone && worker.tensor() > 0) ||
                                     (part.is_head() && p == slot::kMatrix && world.shape.tied);
      for (std::size_t i = parameter.offset; !counted_elsewhere && i < parameter.offset + parameter.size(); ++i) {
        const auto value = static_cast<double>(gradient[i]);
        squares += units[unit].owned[i] != 0 ? value * value : 0;
      }
    }
  }
  return squares;
}

}  // namespace lamina::validate::numeric
