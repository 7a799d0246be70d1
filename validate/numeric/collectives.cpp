#include "validate/numeric/collectives.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::validate::numeric {
namespace {

using graph::CollectiveKind;

constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

std::size_t boundary(std::size_t size, std::size_t part, std::size_t parts) {
  return size * part / parts;
}

/// Every member gets each member's own slice.
void gather(const std::vector<Matrix*>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t size = parts[i]->values.size();
    const auto first = static_cast<std::ptrdiff_t>(boundary(size, i, parts.size()));
    const auto end = static_cast<std::ptrdiff_t>(boundary(size, i + 1, parts.size()));
    for (Matrix* to : parts) {
      if (to != parts[i]) {
        std::copy(parts[i]->values.begin() + first, parts[i]->values.begin() + end, to->values.begin() + first);
      }
    }
  }
}

int unit_of(const Worker& worker, const graph::Operation& operation) {
  return worker.device().unit_of(operation.stage, operation.layer);
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

std::vector<Worker*> by_tensor(std::vector<Worker*> members) {
  std::sort(members.begin(), members.end(), [](const Worker* a, const Worker* b) { return a->tensor() < b->tensor(); });
  return members;
}

}  // namespace

bool slices_messages(const World& world) {
  return world.strategy.tensor_parallel > 1 && world.strategy.sliced_sends && !world.strategy.sequence_parallel;
}

void keep_slice(Matrix& content, int slice, int slices) {
  const std::size_t size = content.values.size();
  const std::size_t first = boundary(size, static_cast<std::size_t>(slice), static_cast<std::size_t>(slices));
  const std::size_t end = boundary(size, static_cast<std::size_t>(slice) + 1, static_cast<std::size_t>(slices));
  for (std::size_t i = 0; i < size; ++i) {
    if (i < first || i >= end) {
      content.values[i] = kPoison;
    }
  }
}

void exchange(const World& world, const std::vector<Worker*>& arrived, const graph::Operation& operation,
              bool gradients) {
  const std::vector<Worker*> members = by_tensor(arrived);
  if (static_cast<int>(members.size()) != world.strategy.tensor_parallel) {
    throw error::InternalError("the tensor group is not complete");
  }
  if (operation.collective == CollectiveKind::kAllGather) {
    std::vector<Matrix*> parts;
    for (Worker* member : members) {
      parts.push_back(operation.block < 0 ? &member->received_slice(operation)
                                          : &member->gathered(operation, gradients));
    }
    gather(parts);
    return;
  }
  Matrix sum = members.front()->partial(operation);
  for (std::size_t i = 1; i < members.size(); ++i) {
    const Matrix& part = members[i]->partial(operation);
    std::transform(sum.values.begin(), sum.values.end(), part.values.begin(), sum.values.begin(), std::plus<>());
  }
  for (Worker* member : members) {
    Matrix whole = sum;
    if (operation.collective == CollectiveKind::kReduceScatter) {
      keep_slice(whole, member->tensor(), world.strategy.tensor_parallel);
    }
    member->finish(operation, std::move(whole));
  }
}

void restore(const std::vector<Worker*>& members, const graph::Operation& operation) {
  std::vector<float> whole;
  for (Worker* member : members) {
    const int unit = unit_of(*member, operation);
    const std::vector<float> shard = member->device().shard(unit);
    whole.resize(shard.size(), kPoison);
    for (std::size_t i = 0; i < shard.size(); ++i) {
      whole[i] = member->device().units()[static_cast<std::size_t>(unit)].owned[i] != 0 ? shard[i] : whole[i];
    }
  }
  for (Worker* member : members) {
    member->device().restore(unit_of(*member, operation), whole);
  }
}

void reduce(const std::vector<Worker*>& members, const graph::Operation& operation) {
  std::vector<float> sum;
  for (Worker* member : members) {
    const std::vector<float> part = member->device().release_gradient(unit_of(*member, operation));
    sum.resize(part.size(), 0);
    std::transform(sum.begin(), sum.end(), part.begin(), sum.begin(), std::plus<>());
  }
  for (Worker* member : members) {
    member->device().add_reduced(unit_of(*member, operation), sum);
  }
}

void sum_tables(const std::vector<Worker*>& members) {
  std::vector<float> sum;
  for (Worker* member : members) {
    const std::span<float> part = tied_gradient(*member);
    sum.resize(part.size(), 0);
    std::transform(sum.begin(), sum.end(), part.begin(), sum.begin(), std::plus<>());
  }
  for (Worker* member : members) {
    std::copy(sum.begin(), sum.end(), tied_gradient(*member).begin());
  }
}

void sum_replicated(const std::vector<Worker*>& members, int unit) {
  const Part& part = members.front()->device().units()[static_cast<std::size_t>(unit)].part;
  for (const Parameter& parameter : part.parameters) {
    if (parameter.split != Split::kNone) {
      continue;
    }
    for (std::size_t i = parameter.offset; i < parameter.offset + parameter.size(); ++i) {
      float sum = 0;
      for (Worker* member : members) {
        sum += member->device().final_gradient(unit)[i];
      }
      for (Worker* member : members) {
        member->device().final_gradient(unit)[i] = sum;
      }
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
