// Layouts per second of a coarse search over a GPT-3 175B grid on 1,024 GPUs, beside the same layouts on both
// transports.
#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <malloc.h>

#include "sim/pipeline/coarse.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/load.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::pipeline {
namespace {

constexpr int kDevices = 1024;
constexpr int kGlobalBatch = 1536;

scenario::Scenario megatron(const Catalogs& catalogs) {
  const auto file = tests::source_folder() / "scenarios/examples/gpt3-175b-megatron.yaml";
  return scenario::load_file(file, tests::source_folder() / "scenarios", plugins_of(catalogs));
}

/// Tensor 1 to 8, pipeline 1 to 16, micro-batches of 1, 2 and 4 sequences, GPipe, 1F1B and breadth first; those whose
/// batch divides.
std::vector<scenario::Scenario> grid(const Catalogs& catalogs, scenario::ShardingLevel level) {
  const scenario::Scenario base = megatron(catalogs);
  std::vector<scenario::Scenario> layouts;
  for (const int tensor : {1, 2, 4, 8}) {
    for (const int pipeline : {1, 2, 4, 8, 16}) {
      for (const int size : {1, 2, 4}) {
        const int data = kDevices / tensor / pipeline;
        if (kGlobalBatch % (data * size) != 0) {
          continue;
        }
        for (const char* name : {"gpipe", "one_forward_one_backward", "layered_modular"}) {
          if (pipeline == 1 && std::string(name) == "gpipe") {
            continue;
          }
          scenario::Scenario layout = base;
          layout.strategy.tensor_parallel = tensor;
          layout.strategy.sequence_parallel = tensor > 1;
          layout.strategy.pipeline_parallel = pipeline;
          layout.strategy.data_parallel = data;
          layout.strategy.micro_batch_size = size;
          layout.strategy.micro_batches = kGlobalBatch / data / size;
          layout.strategy.schedule = tests::choose_schedule(pipeline == 1 ? "accumulate" : name);
          layout.strategy.sharding.level = level;
          layouts.push_back(layout);
        }
      }
    }
  }
  return layouts;
}

void count(benchmark::State& state, std::int64_t layouts, std::int64_t operations) {
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["layouts/s"] =
      benchmark::Counter(static_cast<double>(layouts) * iterations, benchmark::Counter::kIsRate);
  state.counters["layouts"] = static_cast<double>(layouts);
  state.counters["operations/layout"] = static_cast<double>(operations) / static_cast<double>(layouts);
}

void coarse_grid(benchmark::State& state, scenario::ShardingLevel level) {
  const Catalogs catalogs = builtin_catalogs();
  const std::vector<scenario::Scenario> layouts = grid(catalogs, level);
  std::int64_t feasible = 0;
  std::int64_t operations = 0;
  for (auto _ : state) {
    CoarseSearch search(catalogs);
    feasible = 0;
    operations = 0;
    for (const scenario::Scenario& layout : layouts) {
      if (const auto estimate = search.estimate(layout)) {
        ++feasible;
        operations += estimate->operations;
      }
    }
  }
  count(state, static_cast<std::int64_t>(layouts.size()), operations);
  state.counters["feasible"] = static_cast<double>(feasible);
}

/// Every tenth layout, since these take long.
void full_grid(benchmark::State& state, scenario::Transport transport) {
  const Catalogs catalogs = builtin_catalogs();
  const std::vector<scenario::Scenario> layouts = grid(catalogs, scenario::ShardingLevel::kOptimizer);
  std::int64_t tried = 0;
  std::int64_t operations = 0;
  for (auto _ : state) {
    tried = 0;
    operations = 0;
    for (std::size_t i = 0; i < layouts.size(); i += 10) {
      scenario::Scenario layout = layouts[i];
      layout.simulation.transport = transport;
      ++tried;
      if (const auto result = simulate(layout, catalogs)) {
        operations += static_cast<std::int64_t>(result->prepared.graph.size());
      }
    }
  }
  count(state, tried, operations);
}

/// The curve: the example's layout with more and more micro-batches.
void coarse_layout(benchmark::State& state) {
  const Catalogs catalogs = builtin_catalogs();
  scenario::Scenario layout = megatron(catalogs);
  layout.strategy.micro_batches = static_cast<int>(state.range(0));
  CoarseSearch search(catalogs);
  std::int64_t operations = 0;
  for (auto _ : state) {
    const auto estimate = search.estimate(layout);
    operations = estimate ? estimate->operations : 0;
  }
  count(state, 1, operations);
}

BENCHMARK_CAPTURE(coarse_grid, optimizer_sharded, scenario::ShardingLevel::kOptimizer)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(coarse_grid, fully_sharded, scenario::ShardingLevel::kFull)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(full_grid, no_contention, scenario::Transport::kNoContention)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(full_grid, simgrid, scenario::Transport::kSimgrid)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(coarse_layout)->ArgName("micro_batches")->RangeMultiplier(2)->Range(12, 1536)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lamina::pipeline

int main(int argc, char** argv) {
  (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);  // as the command does
  (void)mallopt(M_TRIM_THRESHOLD, 512 << 20);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
