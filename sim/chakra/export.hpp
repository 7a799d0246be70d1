#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"

namespace lamina::chakra {

/// A scenario's graph as a Chakra trace set. Rank numbers are device numbers, so that a replay which puts rank r on
/// device r finds every rank where it was. Stream order is written as dependencies.
class Exporter {
 public:
  /// Refers to both. `whole` has one entry per rank.
  Exporter(const graph::OperationGraph& graph, const deployment::Deployment& whole);

  [[nodiscard]] std::size_t ranks() const { return rank_of_device_.size(); }

  /// Content of PREFIX.<rank>.et.
  [[nodiscard]] std::string rank_file(std::size_t rank) const;

  /// Content of comm_groups.json.
  [[nodiscard]] std::string groups_file() const;

 private:
  /// How the operations of a program become nodes; ids count in this order.
  struct Order {
    std::vector<std::uint32_t> operations;                 ///< [id]
    std::vector<std::vector<std::uint64_t>> dependencies;  ///< [id]
  };

  [[nodiscard]] Order order_of(std::size_t program) const;

  const graph::OperationGraph& graph_;
  const deployment::Deployment& whole_;
  std::vector<std::size_t> rank_of_device_;
  std::vector<Order> orders_;  ///< [program]
};

}  // namespace lamina::chakra
