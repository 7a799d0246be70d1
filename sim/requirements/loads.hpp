#pragma once

#include <array>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/graph/operation_graph.hpp"

/// Which traffic goes where, counted without a replay.
namespace lamina::requirements {

/// What the operations of each traffic class move over one path in a step.
struct PathTraffic {
  std::array<double, graph::kTrafficClasses> bytes{};
  std::array<bool, graph::kTrafficClasses> used{};  ///< also by transfers of nothing, which only take latency
};

/// [path of the deployment]
[[nodiscard]] std::vector<PathTraffic> traffic_of_paths(const graph::OperationGraph& graph,
                                                        const deployment::Deployment& deployment);

/// The busiest link of a class for some traffic: bytes through one real link per step, and its bandwidth.
struct Busiest {
  double bytes = 0;
  double bandwidth_bytes_per_s = 0;  ///< nominal, of the same link
  bool used = false;                 ///< some path of the traffic crosses the class, with bytes or without
};

/// @param traffic one class, or none for all of them together
[[nodiscard]] Busiest busiest_link(const deployment::Deployment& deployment, const std::vector<PathTraffic>& traffic,
                                   fabric::LinkClass link_class, const graph::Traffic* only = nullptr);

}  // namespace lamina::requirements
