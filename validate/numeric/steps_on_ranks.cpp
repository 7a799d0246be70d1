#include "validate/numeric/steps_on_ranks.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "validate/cpu/stream_threads.hpp"
#include "validate/execute.hpp"
#include "validate/numeric/build_device.hpp"
#include "validate/numeric/rank_step.hpp"
#include "validate/numeric/transport_exchange.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::numeric {
namespace {

constexpr double kPatience = 25;  ///< seconds that ranks may let each other wait
constexpr const char* kMissing = "input missing: ";

/// What all ranks know; made before they are.
struct Job {
  const Executable& executable;
  const RankSettings& settings;
  World world;
  std::vector<ProgramFacts> facts;  ///< [program]
  NumberPlan plan;

  [[nodiscard]] const graph::OperationGraph& graph() const { return executable.prepared.graph; }

  [[nodiscard]] std::size_t program_of(std::int32_t rank) const {
    return static_cast<std::size_t>(executable.deployment.ranks[static_cast<std::size_t>(rank)].program);
  }
};

class RankBackend final : public Backend {
 public:
  RankBackend(const Job& job, std::int32_t rank, cpu::Transport& transport, ranks::Control& control)
      : job_(job),
        rank_(rank),
        control_(control),
        exchange_(job.world, job.executable.deployment, job.plan, rank, transport),
        threads_(
            job.graph().programs[job.program_of(rank)], [this](std::uint32_t operation) { run(operation); }, control) {
    begin();
  }

  [[nodiscard]] std::vector<std::int32_t> local_ranks() const override { return {rank_}; }

  void wait(std::int32_t /*rank*/, std::uint32_t operation, std::uint32_t before) override {
    threads_.wait(operation, before);
  }

  void launch(std::int32_t /*rank*/, std::uint32_t operation) override { threads_.launch(operation); }

  [[nodiscard]] Execution finish() override {
    (void)control_.start_together();
    threads_.finish();
    try {
      result_ = step_->finish();
    } catch (const error::InternalError& fault) {
      throw error::InternalError(fmt::format("{}{}", kMissing, fault.what()));
    }
    ++execution_;
    begin();
    return {};
  }

  [[nodiscard]] const RankResult& result() const { return result_; }

 private:
  void begin() {
    step_.emplace(job_.world, job_.graph(), job_.executable.deployment, job_.facts[job_.program_of(rank_)], rank_,
                  exchange_);
  }

  void run(std::uint32_t operation) {
    pause(operation);
    try {
      step_->run(operation);
    } catch (const error::InternalError& fault) {
      throw error::InternalError(fmt::format(
          "{}{}: {}", kMissing, name_of(job_.graph(), job_.executable.deployment, rank_, operation), fault.what()));
    }
  }

  void pause(std::uint32_t operation) const {
    constexpr double kLongest = 2e-4;
    constexpr std::uint32_t kPaused = 4;  // one of so many
    if (execution_ == 0) {
      return;
    }
    std::seed_seq seed{static_cast<std::uint32_t>(execution_), static_cast<std::uint32_t>(rank_), operation};
    std::minstd_rand random(seed);
    if (random() % kPaused == 0) {
      ranks::sleep_until(ranks::monotonic_s() + kLongest * static_cast<double>(random()) / std::minstd_rand::max());
    }
  }

  const Job& job_;
  std::int32_t rank_;
  ranks::Control& control_;
  TransportExchange exchange_;
  std::optional<RankStep> step_;
  RankResult result_;
  int execution_ = 0;
  cpu::StreamThreads threads_;  ///< last: they use the others
};

std::string pack(const RankResult& result) {
  ranks::Packer packer;
  packer.value(result.loss);
  packer.value(result.norm);
  for (std::size_t unit = 0; unit < result.units.size(); ++unit) {
    packer.array(result.gradients[unit]);
    packer.array(result.weights[unit]);
  }
  return packer.take();
}

RankResult unpack(const Job& job, std::size_t rank, const std::string& text) {
  const deployment::Rank& at = job.executable.deployment.ranks[rank];
  RankResult result;
  result.units = build_units(job.world, job.facts[static_cast<std::size_t>(at.program)], at.data, at.tensor);
  ranks::Unpacker unpacker(text);
  result.loss = unpacker.value<double>();
  result.norm = unpacker.value<double>();
  for (std::size_t unit = 0; unit < result.units.size(); ++unit) {
    result.gradients.push_back(unpacker.array<float>());
    result.weights.push_back(unpacker.array<float>());
  }
  return result;
}

void be_rank(const Job& job, cpu::SharedMemory& memory, std::int32_t rank, ranks::Control& control) {
  const Executable& executable = job.executable;
  std::unique_ptr<cpu::Transport> transport =
      cpu::connect(job.settings.wires, job.plan.plan.pipes, rank, executable.deployment, executable.prepared.fabric,
                   memory, control);
  if (job.settings.adapt) {
    transport = job.settings.adapt(rank, std::move(transport));
  }
  RankBackend backend(job, rank, *transport, control);
  for (int execution = 0; execution < job.settings.executions; ++execution) {
    (void)execute(job.graph(), executable.deployment, executable.order, backend);
    control.report(pack(backend.result()));
  }
}

StepsOnRanks serve(const Job& job, ranks::Coordinator& ranks) {
  StepsOnRanks result;
  try {
    ranks.greet(kPatience);
    ranks.serve([] { return kPatience; },
                [&](const std::vector<std::string>& reports) {
                  std::vector<RankResult> results;
                  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
                    results.push_back(unpack(job, rank, reports[rank]));
                  }
                  result.steps.push_back(gather_step(job.world, results));
                });
  } catch (const error::EnvironmentError& fault) {
    const std::string text = fault.what();
    const std::size_t missing = text.find(kMissing);
    if (missing == std::string::npos) {
      throw;
    }
    result.fault = text.substr(missing + std::string(kMissing).size());  // of the graph, which is what is checked
  }
  return result;
}

}  // namespace

tl::expected<StepsOnRanks, error::Infeasible> steps_on_ranks(const scenario::Scenario& scenario,
                                                             const Executable& executable,
                                                             const RankSettings& settings) {
  if (scenario.strategy.ranks() > kMostProcesses) {
    return tl::unexpected(error::Infeasible{fmt::format("{} ranks; at most {} processes are started on one machine.",
                                                        scenario.strategy.ranks(), kMostProcesses)});
  }
  const auto shape = shape_of(scenario);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  const graph::OperationGraph& graph = executable.prepared.graph;
  Job job{executable, settings, make_world(scenario, executable.prepared.table, *shape), {}, {}};
  job.facts = facts_of(graph, scenario.strategy);
  auto plan = plan_numbers(job.world, graph, executable.deployment, job.facts);
  if (!plan) {
    return tl::unexpected(plan.error());
  }
  job.plan = std::move(*plan);
  cpu::SharedMemory memory(job.plan.plan.pipes, executable.deployment);
  const auto ranks = cpu::start_ranks(
      settings.wires, executable.deployment, executable.prepared.fabric, scenario.cluster,
      [&](int rank, lamina::validate::ranks::Control& control) { be_rank(job, memory, rank, control); });
  return serve(job, *ranks);
}

}  // namespace lamina::validate::numeric
