#include "validate/kernel_calls.hpp"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "sim/model/cost_models.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::validate {
namespace {

/// The durations of the graph come from the lowering, which adds passes up on its own way.
void expect_durations(const scenario::Scenario& scenario) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  const auto prepared = pipeline::prepare(scenario, catalogs);
  if (!prepared) {
    return;
  }
  const KernelCalls calls = kernel_calls(prepared->graph, prepared->work, scenario.strategy);
  const auto& cost_model = *catalogs.cost_models.find(scenario.simulation.cost_model.name)->implementation;
  for (std::size_t p = 0; p < prepared->graph.programs.size(); ++p) {
    const graph::Program& program = prepared->graph.programs[p];
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const graph::Operation& operation = program.operations[i];
      const std::int32_t list = calls.list_of[p][i];
      if (operation.kind != graph::OperationKind::kCompute) {
        EXPECT_EQ(list, KernelCalls::kNone);
        continue;
      }
      double seconds = 0;
      for (const KernelCall& call : calls.lists[static_cast<std::size_t>(list)]) {
        seconds += cost_model
                       .time(call.kernel, scenario.cluster.node.accelerator,
                             call.kernel.type.value_or(scenario.strategy.precision.compute),
                             scenario.simulation.cost_model.parameters)
                       .value();
      }
      const double slack =
          operation.phase == graph::Phase::kUpdate ? 0.5 : 1e-9;  // a launch floor is not cut in shards
      ASSERT_NEAR(seconds, operation.duration_s, slack * operation.duration_s + 1e-15)
          << graph::describe(operation, program);
    }
  }
}

TEST(KernelCalls, TakeAsLongAsTheOperationsThatLaunchThem) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    expect_durations(tests::random_scenario(random));
    if (HasFatalFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace lamina::validate
