#include <algorithm>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/collective.hpp"

namespace lamina::collectives {

catalog::Catalog<Collective> builtin_collectives() {
  catalog::Catalog<Collective> catalog;
  catalog.add(
      {.name = "hierarchical",
       .summary = "Device links inside a node, one network ring per local rank between nodes.",
       .source = "Cho et al., BlueConnect, IBM J. Res. Dev. 63 (2019); Jia et al., arXiv 1807.11205, section 4.1",
       .parameters = {}},
      make_hierarchical());
  catalog.add(
      {.name = "ring",
       .summary = "Rings over all devices, one channel per network port.",
       .source = "Patarasuk and Yuan, J. Parallel Distrib. Comput. 69 (2009); NCCL (public source, ring graphs)",
       .parameters = {}},
      make_ring());
  return catalog;
}

Seconds idle_time(const std::vector<FlowPhase>& phases, Bytes payload, const fabric::Fabric& fabric) {
  Seconds total;
  for (const FlowPhase& phase : phases) {
    double slowest = 0;  // seconds per byte of the flow
    for (const LinkUse& use : phase.links) {
      const fabric::Link& link = fabric.links[static_cast<std::size_t>(use.link)];
      if (!link.never_limits) {
        slowest = std::max(slowest, use.count / link.bandwidth.value());
      }
    }
    total += phase.latency + Seconds(payload.value() * phase.bytes_per_payload * slowest);
  }
  return total;
}

}  // namespace lamina::collectives
