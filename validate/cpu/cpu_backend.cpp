#include "validate/cpu/cpu_backend.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <ctime>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include "validate/cpu/cores.hpp"
#include "validate/cpu/ring.hpp"

namespace lamina::validate::cpu {
namespace {

using graph::OperationKind;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::int64_t involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Machine& machine, std::int32_t rank)
      : machine_(machine),
        rank_(rank),
        here_(machine.deployment.ranks[static_cast<std::size_t>(rank)]),
        program_(machine.graph.programs[static_cast<std::size_t>(here_.program)]),
        units_(number_units(program_)),
        queues_(program_.streams.size()),
        waits_(program_.operations.size()),
        done_(program_.operations.size()) {
    make_buffers();
    begin();
    for (std::size_t stream = 0; stream < queues_.size(); ++stream) {
      threads_.emplace_back([this, stream] { serve(stream); });
    }
  }

  ~CpuBackend() override {
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  [[nodiscard]] std::vector<std::int32_t> local_ranks() const override { return {rank_}; }

  void wait(std::int32_t /*rank*/, std::uint32_t operation, std::uint32_t before) override {
    waits_[operation].push_back(before);
  }

  void launch(std::int32_t /*rank*/, std::uint32_t operation) override {
    queues_[program_.operations[operation].stream].push_back(operation);
  }

  [[nodiscard]] Execution finish() override {
    start_s_ = machine_.control.start_together();
    {
      std::unique_lock lock(mutex_);
      ++generation_;
      busy_ = threads_.size();
      changed_.notify_all();
      changed_.wait(lock, [&] { return busy_ == 0; });
    }
    if (fault_) {
      std::rethrow_exception(fault_);
    }
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
    for (auto& queue : queues_) {
      queue.clear();
    }
    for (auto& waits : waits_) {
      waits.clear();
    }
    for (auto& done : done_) {
      done.store(0, std::memory_order_relaxed);
    }
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

  void serve(std::size_t stream) {
    if (program_.streams[stream].kind != graph::StreamKind::kCompute) {
      take_short_slices();
    }
    std::uint64_t seen = 0;
    while (true) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return leaving_ || generation_ != seen; });
        if (leaving_) {
          return;
        }
        seen = generation_;
      }
      std::int64_t switches = involuntary_switches();
      try {
        for (const std::uint32_t operation : queues_[stream]) {
          run(operation);
        }
      } catch (...) {
        const std::exception_ptr fault = std::current_exception();
        try {
          std::rethrow_exception(fault);
        } catch (const std::exception& error) {
          machine_.control.fail(error.what());  // other streams of this rank may wait for ever: the coordinator ends us
        }
        const std::lock_guard lock(mutex_);
        fault_ = fault;
      }
      switches = involuntary_switches() - switches;
      const std::lock_guard lock(mutex_);
      execution_.involuntary_switches += program_.streams[stream].kind == graph::StreamKind::kCompute ? switches : 0;
      if (--busy_ == 0) {
        changed_.notify_all();
      }
    }
  }

  void run(std::uint32_t index) {
    const graph::Operation& operation = program_.operations[index];
    for (const std::uint32_t before : waits_[index]) {
      done_[before].wait(0, std::memory_order_acquire);
    }
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
    done_[index].store(1, std::memory_order_release);
    done_[index].notify_all();
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
  std::vector<std::vector<std::uint32_t>> queues_;  ///< [stream]
  std::vector<std::vector<std::uint32_t>> waits_;   ///< [operation]
  std::vector<std::atomic<std::uint32_t>> done_;    ///< [operation] its event
  std::vector<std::vector<float>> pipe_buffers_;    ///< [pipe]
  std::map<std::pair<std::int32_t, graph::Phase>, std::vector<float>> group_buffers_;
  Execution execution_;
  double start_s_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t generation_ = 0;
  std::size_t busy_ = 0;
  bool leaving_ = false;
  std::exception_ptr fault_;
  std::vector<std::thread> threads_;
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
