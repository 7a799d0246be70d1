#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/collective.hpp"

namespace lamina::collectives {

catalog::Catalog<Collective> builtin_collectives() {
  catalog::Catalog<Collective> catalog;
  catalog.add(
      {.name = "automatic",
       .summary = "The fastest of ring, tree and what the links' protocols name, by size, as NCCL's tuner chooses.",
       .source = "NCCL (public source, tuning model)",
       .parameters = {}},
      make_automatic());
  catalog.add(
      {.name = "hierarchical",
       .summary = "Device links inside a node, one network ring per local rank between nodes.",
       .source = "Cho et al., BlueConnect, IBM J. Res. Dev. 63 (2019); Jia et al., arXiv 1807.11205, section 4.1",
       .parameters = {}},
      make_hierarchical());
  catalog.add({.name = "nvls",
               .summary = "Reduction and multicast by the device-link switch; trees between nodes.",
               .source = "NCCL 2.17 (public source, NVLS and NVLSTree)",
               .parameters = {}},
              make_nvls());
  catalog.add(
      {.name = "ring",
       .summary = "Rings over all devices, one channel per network port.",
       .source = "Patarasuk and Yuan, J. Parallel Distrib. Comput. 69 (2009); NCCL (public source, ring graphs)",
       .parameters = {}},
      make_ring());
  catalog.add({.name = "sharp",
               .summary = "Hierarchical, with the all-reduce between nodes made by the network's switches.",
               .source = "Graham et al., SHARP, COMHPC 2016; NCCL (public source, CollNet)",
               .parameters = {}},
              make_sharp());
  catalog.add({.name = "tree",
               .summary = "All-reduce over two binary trees of nodes, chains inside them.",
               .source = "Sanders, Speck and Traff, Parallel Computing 35 (2009); NCCL (public source, tree graphs)",
               .parameters = {}},
              make_tree());
  return catalog;
}

}  // namespace lamina::collectives
