#pragma once

#include <tl/expected.hpp>

#include "sim/catalog/catalog.hpp"
#include "sim/error/error.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/scenario/scenario.hpp"

namespace lamina::topologies {

/// 1. `build` is a pure function of the cluster (its `topology.parameters` included) and of the files that these name;
/// a fault in such a file is a ScenarioError.
/// 2. Every pair of devices has a route; routes use existing links, never one twice, and there and back have equal
/// latency.
/// 3. A cluster that the topology cannot wire is an Infeasible with the numbers in its reason.
class Topology {
 public:
  virtual ~Topology() = default;
  [[nodiscard]] virtual tl::expected<fabric::Fabric, error::Infeasible> build(
      const scenario::Cluster& cluster) const = 0;
};

/// All topologies of this folder (generated from the file list).
[[nodiscard]] catalog::Catalog<Topology> builtin_topologies();

}  // namespace lamina::topologies
