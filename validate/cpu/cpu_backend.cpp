#include "validate/cpu/cpu_backend.hpp"

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>
#include <vector>

#include "validate/cpu/ring.hpp"
#include "validate/cpu/stream_threads.hpp"

namespace lamina::validate::cpu {
namespace {

using graph::OperationKind;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Machine& machine, std::int32_t rank)
      : machine_(machine),
        rank_(rank),
        here_(machine.deployment.ranks[static_cast<std::size_t>(rank)]),
        program_(machine.graph.programs[static_cast<std::size_t>(here_.program)]),
        units_(number_units(program_)),
        threads_(
            program_, [this](std::uint32_t operation) { run(operation); }, machine.control) {
    make_buffers();
    begin();
  }

  [[nodiscard]] std::vector<std::int32_t> local_ranks() const override { return {rank_}; }

  void wait(std::int32_t /*rank*/, std::uint32_t operation, std::uint32_t before) override {
    threads_.wait(operation, before);
  }

  void launch(std::int32_t /*rank*/, std::uint32_t operation) override { threads_.launch(operation); }

  [[nodiscard]] Execution finish() override {
    start_s_ = machine_.control.start_together();
    threads_.finish();
    execution_.involuntary_switches = threads_.involuntary_switches();
    Execution result = std::move(execution_);
    begin();
    return result;
  }

 private:
  void begin() {
    execution_ = {};
    execution_.timeline.spans.resize(machine_.deployment.ranks.size());
    execution_.timeline.spans[static_cast<std::size_t>(rank_)].resize(program_.operations.size());
    execution_.processor_s.resize(machine_.deployment.ranks.size());
    execution_.processor_s[static_cast<std::size_t>(rank_)].resize(program_.operations.size());
  }

  void make_buffers() {
    const Plan& plan = machine_.plan;
    for (std::size_t pipe = 0; pipe < plan.pipes.size(); ++pipe) {
      const bool mine = plan.pipes[pipe].from == rank_ || plan.pipes[pipe].to == rank_;
      pipe_buffers_.emplace_back(mine ? plan.pipes[pipe].most_bytes / sizeof(float) + 1 : 0, 0.5F);
    }
    for (const graph::Operation& operation : program_.operations) {
      if (operation.kind == OperationKind::kCollective) {
        std::vector<float>& buffer = group_buffers_[{group_of(operation), operation.phase}];
        buffer.resize(std::max(buffer.size(), bytes(operation) / sizeof(float)), 0.5F);
      }
    }
  }

  [[nodiscard]] std::int32_t group_of(const graph::Operation& operation) const {
    return here_.groups[static_cast<std::size_t>(operation.group)];
  }

  void run(std::uint32_t index) {
    const graph::Operation& operation = program_.operations[index];
    const double start = ranks::monotonic_s();
    switch (operation.kind) {
      case OperationKind::kCompute: {
        const double processor = thread_seconds();
        machine_.engine.run(machine_.calls.list_of[static_cast<std::size_t>(here_.program)][index],
                            units_.of_operation[index], operation.micro_batch);
        execution_.processor_s[static_cast<std::size_t>(rank_)][index] = thread_seconds() - processor;
        break;
      }
      case OperationKind::kSend: {
        const auto pipe = static_cast<std::size_t>(here_.channels[operation.channel]);
        machine_.transport.send(pipe, std::as_bytes(std::span(pipe_buffers_[pipe])).first(bytes(operation)));
        break;
      }
      case OperationKind::kReceive: {
        const auto pipe = static_cast<std::size_t>(here_.channels[operation.channel]);
        machine_.transport.receive(pipe,
                                   std::as_writable_bytes(std::span(pipe_buffers_[pipe])).first(bytes(operation)));
        break;
      }
      case OperationKind::kCollective:
        collective(operation);
        break;
      case OperationKind::kHostCopy:
        copy(index);
        break;
    }
    execution_.timeline.spans[static_cast<std::size_t>(rank_)][index] = {start - start_s_,
                                                                         ranks::monotonic_s() - start_s_};
  }

  [[nodiscard]] static std::size_t bytes(const graph::Operation& operation) {
    return static_cast<std::size_t>(operation.bytes);
  }

  void collective(const graph::Operation& operation) {
    const std::int32_t group = group_of(operation);
    if (group == -1 || machine_.deployment.groups[static_cast<std::size_t>(group)].size <= 1) {
      return;
    }
    const auto ring = machine_.plan.rings.find({group, operation.phase});
    const RingMember member =
        ring_member(ring, machine_.deployment.groups[static_cast<std::size_t>(group)], rank_).value();
    std::vector<float>& buffer = group_buffers_.at({group, operation.phase});
    run_ring(operation.collective, member, std::span(buffer).first(bytes(operation) / sizeof(float)),
             pipe_buffers_[member.in], machine_.transport);
  }

  void copy(std::uint32_t index) {
    const graph::Operation& operation = program_.operations[index];
    const std::size_t place = machine_.store.places().of_operation[index];
    operation.to_host ? machine_.store.write(place, bytes(operation)) : machine_.store.read(place, bytes(operation));
  }

  Machine machine_;
  std::int32_t rank_;
  const deployment::Rank& here_;
  const graph::Program& program_;
  UnitNumbers units_;
  std::vector<std::vector<float>> pipe_buffers_;  ///< [pipe]
  std::map<std::pair<std::int32_t, graph::Phase>, std::vector<float>> group_buffers_;
  Execution execution_;
  double start_s_ = 0;
  StreamThreads threads_;  ///< last: they use the others
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const Machine& machine, std::int32_t rank) {
  return std::make_unique<CpuBackend>(machine, rank);
}

UnitNumbers number_units(const graph::Program& program) {
  UnitNumbers units;
  std::map<std::pair<std::int32_t, std::int32_t>, int> numbers;
  for (const graph::Operation& operation : program.operations) {
    const auto next = static_cast<int>(numbers.size());
    const bool computes = operation.kind == OperationKind::kCompute;
    units.of_operation.push_back(computes ? numbers.try_emplace({operation.stage, operation.layer}, next).first->second
                                          : -1);
  }
  units.count = static_cast<int>(numbers.size());
  return units;
}

}  // namespace lamina::validate::cpu
