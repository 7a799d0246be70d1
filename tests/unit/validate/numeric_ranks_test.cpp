#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/report/step_check.hpp"
#include "tests/support/numeric_step.hpp"
#include "tests/support/random_scenario.hpp"
#include "validate/issue_order.hpp"
#include "validate/numeric/check.hpp"
#include "validate/numeric/steps_on_ranks.hpp"

/// The training step with a process per rank: real messages and rings carry the numbers.
namespace lamina::validate::numeric {
namespace {

using cpu::Wires;
using scenario::ShardingLevel;
using testing::HasSubstr;

struct Layout {
  const char* schedule;
  int pipeline = 1;
  int data = 1;
  int tensor = 1;
  ShardingLevel sharding = ShardingLevel::kNone;
  bool sequence = false;
};

scenario::Scenario scenario_of(const Layout& layout) {
  scenario::Scenario scenario = tests::tiny_decoder(4);
  scenario::Strategy& strategy = scenario.strategy;
  strategy.pipeline_parallel = layout.pipeline;
  strategy.data_parallel = layout.data;
  strategy.tensor_parallel = layout.tensor;
  strategy.sequence_parallel = layout.sequence;
  strategy.sharding.level = layout.sharding;
  strategy.micro_batches = 4;
  strategy.schedule = tests::choose_schedule(layout.schedule);
  return scenario;
}

class StepOnRanks : public testing::TestWithParam<std::tuple<Layout, Wires>> {};

TEST_P(StepOnRanks, IsThatOfOneDevice) {
  const auto& [layout, wires] = GetParam();
  const auto verdict = check_on_ranks(scenario_of(layout), pipeline::builtin_catalogs(), 2, wires);
  ASSERT_TRUE(verdict.has_value()) << verdict.error().reason;
  EXPECT_TRUE(verdict->same()) << report::to_console(*verdict, false);
  EXPECT_EQ(verdict->orders, 2);
  EXPECT_GT(verdict->loss, 0);
}

INSTANTIATE_TEST_SUITE_P(Layouts, StepOnRanks,
                         testing::Combine(testing::Values(Layout{"gpipe", 2}, Layout{"zero_bubble_h1", 4},
                                                          Layout{"layered_modular", 2},
                                                          Layout{"one_forward_one_backward", 2, 1, 2},
                                                          Layout{"gpipe", 2, 1, 2, ShardingLevel::kNone, true},
                                                          Layout{"gpipe", 1, 1, 4, ShardingLevel::kNone, true},
                                                          Layout{"one_forward_one_backward", 2, 2},
                                                          Layout{"layered_modular", 2, 2, 1, ShardingLevel::kFull},
                                                          Layout{"interleaved", 2, 2, 1, ShardingLevel::kOptimizer},
                                                          Layout{"gpipe", 1, 2, 2, ShardingLevel::kGradients, true}),
                                          testing::Values(Wires::kSharedMemory, Wires::kLoopback)));

TEST(StepOnRanks, RunsBetweenNetworkNamespaces) {
  try {
    const Layout layout{"one_forward_one_backward", 2, 2, 1, ShardingLevel::kFull};
    const auto verdict = check_on_ranks(scenario_of(layout), pipeline::builtin_catalogs(), 1, Wires::kNamespaces);
    ASSERT_TRUE(verdict.has_value()) << verdict.error().reason;
    EXPECT_TRUE(verdict->same()) << report::to_console(*verdict, false);
    EXPECT_THAT(verdict->transport, HasSubstr("shaped ports"));
  } catch (const error::EnvironmentError& fault) {
    GTEST_SKIP() << fault.what();
  }
}

Executable executable_of(const scenario::Scenario& scenario) {
  auto executable = make_executable(scenario, pipeline::builtin_catalogs(), scenario::CollectiveForm::kMessage);
  EXPECT_TRUE(executable.has_value());
  return std::move(*executable);
}

double error_of(const scenario::Scenario& scenario, const Executable& executable, const Step& step) {
  const ReferenceStep reference = tests::reference_of(scenario, executable.prepared);
  return std::max(largest_error(step.copies.front().gradients, reference.gradients),
                  largest_error(step.copies.front().weights, reference.weights));
}

TEST(StepsOnRanks, ThreeRanksTakePartInARing) {  // rings give means: times three is not exact
  const scenario::Scenario scenario = scenario_of({"gpipe", 1, 3});
  const Executable executable = executable_of(scenario);
  const auto computed = steps_on_ranks(scenario, executable, {});
  ASSERT_TRUE(computed.has_value()) << computed.error().reason;
  ASSERT_EQ(computed->steps.size(), 3U) << computed->fault;
  for (const Step& step : computed->steps) {
    EXPECT_LT(error_of(scenario, executable, step), report::kSameStep);
    EXPECT_LE(step.disagreement, report::kSameStep);
  }
}

/// Without the last rank's first dependency on a receive.
void take_out_a_receive(Executable& executable) {
  std::vector<graph::Program> programs = executable.prepared.graph.programs;
  graph::Program& program = programs.back();
  const auto receive = std::find_if(program.dependencies.begin(), program.dependencies.end(), [&](const auto& edge) {
    return program.operations[edge.first].kind == graph::OperationKind::kReceive;
  });
  ASSERT_NE(receive, program.dependencies.end());
  program.dependencies.erase(receive);
  executable.prepared.graph = graph::freeze(std::move(programs));
  executable.order = issue_order(executable.prepared.graph);
}

TEST(StepsOnRanks, AMissingDependencyIsARaceThatIsSeen) {
  const scenario::Scenario scenario = scenario_of({"gpipe", 2});
  Executable executable = executable_of(scenario);
  take_out_a_receive(executable);
  const auto computed = steps_on_ranks(scenario, executable, {});
  ASSERT_TRUE(computed.has_value()) << computed.error().reason;
  EXPECT_THAT(computed->fault, testing::AllOf(HasSubstr("rank 1: forward"), HasSubstr("no activations received")));
}

/// Passes everything on, after `spoil` has seen what is sent.
class Spoiling final : public cpu::Transport {
 public:
  using Spoil = std::function<void(std::vector<std::byte>&)>;

  Spoiling(std::unique_ptr<cpu::Transport> over, Spoil spoil) : over_(std::move(over)), spoil_(std::move(spoil)) {}

  void send(std::size_t pipe, std::span<const std::byte> content) override { over_->send(pipe, spoiled(content)); }

  void receive(std::size_t pipe, std::span<std::byte> content) override { over_->receive(pipe, content); }

  void exchange(std::size_t out, std::span<const std::byte> sent, std::size_t in,
                std::span<std::byte> received) override {
    over_->exchange(out, spoiled(sent), in, received);
  }

 private:
  std::vector<std::byte> spoiled(std::span<const std::byte> content) {
    std::vector<std::byte> copy(content.begin(), content.end());
    spoil_(copy);
    return copy;
  }

  std::unique_ptr<cpu::Transport> over_;
  Spoil spoil_;
};

/// Rank 0's transport is spoiled.
RankSettings spoil(Spoiling::Spoil how) {
  RankSettings settings;
  settings.executions = 1;
  settings.adapt = [how](int rank, std::unique_ptr<cpu::Transport> transport) -> std::unique_ptr<cpu::Transport> {
    return rank == 0 ? std::make_unique<Spoiling>(std::move(transport), how) : std::move(transport);
  };
  return settings;
}

/// The last float becomes a hundredth larger.
void change_a_float(std::vector<std::byte>& content) {
  float value = 0;
  if (content.size() < sizeof value) {  // an empty slice
    return;
  }
  std::memcpy(&value, content.data() + content.size() - sizeof value, sizeof value);
  value *= 1.01F;
  std::memcpy(content.data() + content.size() - sizeof value, &value, sizeof value);
}

TEST(StepsOnRanks, OneWrongFloatInAMessageIsSeen) {
  const scenario::Scenario scenario = scenario_of({"gpipe", 2});
  const Executable executable = executable_of(scenario);
  const auto computed = steps_on_ranks(scenario, executable, spoil(change_a_float));
  ASSERT_TRUE(computed.has_value()) << computed.error().reason;
  ASSERT_EQ(computed->steps.size(), 1U) << computed->fault;
  EXPECT_GT(error_of(scenario, executable, computed->steps.front()), 10 * report::kSameStep);
}

TEST(StepsOnRanks, OneWrongFloatInARingIsSeen) {
  const scenario::Scenario scenario = scenario_of({"gpipe", 1, 2});
  const Executable executable = executable_of(scenario);
  const auto computed = steps_on_ranks(scenario, executable, spoil(change_a_float));
  ASSERT_TRUE(computed.has_value()) << computed.error().reason;
  ASSERT_EQ(computed->steps.size(), 1U) << computed->fault;
  EXPECT_GT(error_of(scenario, executable, computed->steps.front()), 10 * report::kSameStep);
}

TEST(StepsOnRanks, AKilledRankEndsTheCheckWithItsName) {
  const scenario::Scenario scenario = scenario_of({"gpipe", 2});
  const Executable executable = executable_of(scenario);
  try {
    (void)steps_on_ranks(scenario, executable, spoil([](std::vector<std::byte>&) { raise(SIGKILL); }));
    FAIL() << "rank 0 was killed";
  } catch (const error::EnvironmentError& fault) {
    EXPECT_THAT(fault.what(), testing::AllOf(HasSubstr("rank 0"), HasSubstr("signal 9")));
  }
}

}  // namespace
}  // namespace lamina::validate::numeric
