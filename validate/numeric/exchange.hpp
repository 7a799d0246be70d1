#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/graph/operation_graph.hpp"
#include "validate/numeric/kernels.hpp"
#include "validate/numeric/matrix.hpp"

namespace lamina::validate::numeric {

/// What one stage sends to its neighbour.
struct Message {
  int stage = 0;  ///< the sender's
  int micro_batch = 0;
  Matrix content;
};

/// A collective of a group of the deployment, and the member that calls it.
struct Meeting {
  std::int32_t rank = 0;
  std::int32_t group = 0;
  graph::Phase phase = graph::Phase::kReduce;
  graph::CollectiveKind kind = graph::CollectiveKind::kAllReduce;
};

/// How numbers get from rank to rank: within one process, or over transports between processes. Outcomes are handed to
/// a function: before the call returns, or when the others have come.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual void send(std::int32_t channel, Message message) = 0;
  virtual void receive(std::int32_t channel, std::function<void(Message)> deliver) = 0;

  /// `values` in as many slices as members, cut at size x i / n: all-reduce gives the sum; reduce-scatter the own slice
  /// of the sum, NaN elsewhere; all-gather each member's own slice.
  virtual void collective(const Meeting& meeting, std::vector<float> values,
                          std::function<void(std::vector<float>)> deliver) = 0;

  // What the tensor group exchanges beside the graph (docs/model.md, 1.2); these wait for the others where they must.

  /// Of the whole vocabulary, from a rank's part of it at the head of `operation`.
  [[nodiscard]] virtual std::vector<Exponentials> whole_vocabulary(std::int32_t rank, const graph::Operation& operation,
                                                                   std::vector<Exponentials> own) = 0;

  /// The sum of gradients of a unit's parameters that every tensor rank holds in full.
  [[nodiscard]] virtual std::vector<float> sum_replicated(std::int32_t rank, int unit, std::vector<float> own) = 0;
};

/// First entry of slice `index` of `count`.
[[nodiscard]] inline std::size_t slice_begin(std::size_t size, std::size_t index, std::size_t count) {
  return size * index / count;
}

/// NaN into all but the `index`-th of `count` slices.
void keep_slice(std::vector<float>& values, std::size_t index, std::size_t count);

}  // namespace lamina::validate::numeric
