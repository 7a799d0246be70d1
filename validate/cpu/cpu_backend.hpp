#pragma once

#include <memory>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "validate/backend.hpp"
#include "validate/cpu/host_store.hpp"
#include "validate/cpu/kernel_engine.hpp"
#include "validate/cpu/plan.hpp"
#include "validate/cpu/transport.hpp"
#include "validate/kernel_calls.hpp"
#include "validate/ranks/control.hpp"

namespace lamina::validate::cpu {

/// What one rank executes with. All references outlive the backend.
struct Machine {
  const graph::OperationGraph& graph;
  const deployment::Deployment& deployment;
  const Plan& plan;
  const KernelCalls& calls;
  KernelEngine& engine;
  Transport& transport;
  HostStore& store;
  ranks::Control& control;
};

/// One rank on one core: a thread per stream, each in order; an operation waits for others by their events. `finish`
/// starts all ranks at one date and returns what this rank recorded: spans from the arrival at the head of the stream
/// (messages and collectives: of this end; who has all ends takes the latest), seconds from the common start.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(const Machine& machine, std::int32_t rank);

/// [operation] which layer of its rank a compute operation works on, for memory of its own; and how many there are.
struct UnitNumbers {
  std::vector<int> of_operation;
  int count = 0;
};

[[nodiscard]] UnitNumbers number_units(const graph::Program& program);

}  // namespace lamina::validate::cpu
