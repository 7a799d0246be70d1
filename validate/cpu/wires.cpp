#include "validate/cpu/wires.hpp"

#include <string>

#include "validate/ranks/network.hpp"

namespace lamina::validate::cpu {
namespace {

int node_of(const deployment::Deployment& deployment, const fabric::Fabric& fabric, std::size_t rank) {
  return fabric.devices[static_cast<std::size_t>(deployment.ranks[rank].device)].node;
}

}  // namespace

const char* name_of(Wires wires) {
  switch (wires) {
    case Wires::kSharedMemory:
      return "shared memory";
    case Wires::kLoopback:
      return "TCP on loopback";
    case Wires::kNamespaces:
      return "TCP over shaped ports";
  }
  return "";
}

std::unique_ptr<ranks::Coordinator> start_ranks(Wires wires, const deployment::Deployment& deployment,
                                                const fabric::Fabric& fabric, const scenario::Cluster& cluster,
                                                const ranks::RankBody& body) {
  const int count = static_cast<int>(deployment.ranks.size());
  if (wires != Wires::kNamespaces) {
    return ranks::launch(count, body);
  }
  ranks::ShapedNetwork network;
  network.bytes_per_s = cluster.network.bandwidth.value();
  for (std::size_t rank = 0; rank < deployment.ranks.size(); ++rank) {
    network.node_of_rank.push_back(node_of(deployment, fabric, rank));
  }
  return ranks::launch_in_network(count, network, body);
}

std::unique_ptr<Transport> connect(Wires wires, const std::vector<Pipe>& pipes, std::int32_t rank,
                                   const deployment::Deployment& deployment, const fabric::Fabric& fabric,
                                   SharedMemory& memory, ranks::Control& control) {
  if (wires == Wires::kSharedMemory) {
    return memory.attach();
  }
  const std::string address = wires == Wires::kNamespaces
                                  ? ranks::address_of_node(node_of(deployment, fabric, static_cast<std::size_t>(rank)))
                                  : "127.0.0.1";
  return connect_sockets(pipes, rank, address, control);
}

}  // namespace lamina::validate::cpu
