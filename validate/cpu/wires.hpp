#pragma once

#include <memory>

#include "sim/deployment/deployment.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/scenario/scenario.hpp"
#include "validate/cpu/transport.hpp"
#include "validate/ranks/launch.hpp"

namespace lamina::validate::cpu {

/// What messages between processes of this machine go over.
enum class Wires {
  kSharedMemory,  ///< at the pace of the scenario's links
  kLoopback,      ///< TCP on this machine, as fast as it is
  kNamespaces,    ///< TCP between network namespaces whose ports keep the rate of the scenario's
};

/// "shared memory", "TCP on loopback", "TCP over shaped ports".
[[nodiscard]] const char* name_of(Wires wires);

/// Starts a process per rank of a whole deployment; with kNamespaces a network namespace per node of the fabric.
/// @throws EnvironmentError as ranks::launch and launch_in_network
[[nodiscard]] std::unique_ptr<ranks::Coordinator> start_ranks(Wires wires, const deployment::Deployment& deployment,
                                                              const fabric::Fabric& fabric,
                                                              const scenario::Cluster& cluster,
                                                              const ranks::RankBody& body);

/// A rank's end of all pipes. Collective.
[[nodiscard]] std::unique_ptr<Transport> connect(Wires wires, const std::vector<Pipe>& pipes, std::int32_t rank,
                                                 const deployment::Deployment& deployment, const fabric::Fabric& fabric,
                                                 SharedMemory& memory, ranks::Control& control);

}  // namespace lamina::validate::cpu
