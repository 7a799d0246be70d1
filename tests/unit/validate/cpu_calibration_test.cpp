#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/two_stages.hpp"
#include "validate/cpu/calibration.hpp"
#include "validate/cpu/calibrator.hpp"
#include "validate/cpu/plan.hpp"

namespace lamina::validate::cpu {
namespace {

/// A list of kernels for each compute operation.
KernelCalls one_list_each(const graph::OperationGraph& graph) {
  KernelCalls calls;
  for (const graph::Program& program : graph.programs) {
    auto& lists = calls.list_of.emplace_back();
    for (const graph::Operation& operation : program.operations) {
      const bool computes = operation.kind == graph::OperationKind::kCompute;
      lists.push_back(computes ? static_cast<std::int32_t>(calls.lists.size()) : KernelCalls::kNone);
      if (computes) {
        calls.lists.emplace_back();
      }
    }
  }
  return calls;
}

class CpuCalibration : public testing::Test {
 protected:
  CpuCalibration() : plan_(*plan_pipes(prepared_.graph, prepared_.deployment)) {
    for (RankCalibration& rank : ranks_) {
      rank.list_samples.assign(calls_.lists.size(), {1.0, 5.0, 2.0, 4.0, 3.0});
    }
    PipeCost cost;
    cost.small_bytes = 1000;
    cost.large_bytes = 1001000;
    cost.alone = {1e-3, 11e-3};
    cost.beside = {3e-3, 33e-3};
    ranks_[1].pipes.push_back(cost);
  }

  [[nodiscard]] Calibrated applied(bool measured_rates, double hidden) const {
    return apply(ranks_, prepared_.deployment, plan_, calls_, measured_rates, hidden, false);
  }

  [[nodiscard]] const deployment::Path& path_of_pipe(const deployment::Deployment& deployment) const {
    return deployment.paths[static_cast<std::size_t>(plan_.pipes[0].path)];
  }

  pipeline::Prepared prepared_ = tests::two_stages(1e-2);
  Plan plan_;
  KernelCalls calls_ = one_list_each(prepared_.graph);
  std::vector<RankCalibration> ranks_{2};
};

TEST_F(CpuCalibration, MessagesCostWhatTheyCostAloneOrBesideKernels) {
  // alone: 10 ms for 1 MB and 0.99 ms before; beside kernels three times as much; half of each in between
  for (const auto& [hidden, factor] : {std::pair(0.0, 1.0), std::pair(1.0, 3.0), std::pair(0.5, 2.0)}) {
    const Calibrated calibrated = applied(true, hidden);
    const deployment::Path& path = path_of_pipe(calibrated.deployment);
    EXPECT_NEAR(path.alone_s_per_byte, factor * 10e-9, 1e-15);
    EXPECT_NEAR(path.latency_s, factor * 0.99e-3, 1e-12);
    for (const collectives::LinkUse& use : path.links) {
      EXPECT_NEAR(calibrated.deployment.links[static_cast<std::size_t>(use.link)].bandwidth, use.count * 1e8 / factor,
                  1);
    }
  }
}

TEST_F(CpuCalibration, MessagesAreNotFasterBesideKernelsThanAlone) {
  ranks_[1].pipes[0].beside = {0.5e-3, 5e-3};
  EXPECT_NEAR(path_of_pipe(applied(true, 1).deployment).alone_s_per_byte, 10e-9, 1e-15);
}

TEST_F(CpuCalibration, EmulatedLinksKeepTheirRate) {
  const deployment::Path& before = path_of_pipe(prepared_.deployment);
  const Calibrated calibrated = applied(false, 1);
  const deployment::Path& after = path_of_pipe(calibrated.deployment);
  EXPECT_EQ(after.alone_s_per_byte, before.alone_s_per_byte);
  EXPECT_NEAR(after.latency_s + after.alone_s_per_byte * 1001000, 33e-3, 1e-9);
}

TEST_F(CpuCalibration, KernelsTakeTheMedianOfAllTheirExecutionsAlone) {
  EXPECT_DOUBLE_EQ(applied(true, 0).spread, 2.0 / 3);  // 2 to 4 around 3
  const KernelSamples more(calls_.lists.size(), {0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
  ranks_[0].add_samples(pack_samples(more));
  const Calibrated calibrated = applied(true, 0);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const std::vector<std::int32_t>& lists = calls_.list_of[rank];
    ASSERT_EQ(calibrated.durations[rank].size(), lists.size());
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const double expected = lists[i] == KernelCalls::kNone ? 0 : rank == 0 ? 0.5 : 3.0;
      EXPECT_EQ(calibrated.durations[rank][i], expected);
    }
  }
}

TEST_F(CpuCalibration, WhatKernelsLoseIsTheMeanByTimeOfTransfersSentAndReceived) {
  ranks_[0].busy = {0.1, 3};
  ranks_[1].busy = {0.5, 1};
  ranks_[1].busy_receiving = {0.3, 7};
  EXPECT_DOUBLE_EQ(applied(true, 0).slowdown, 0.2);
  EXPECT_DOUBLE_EQ(applied(true, 0).receiving_slowdown, 0.3);
}

TEST_F(CpuCalibration, ReadsBackWhatItPacked) {
  ranks_[1].engine = "an engine";
  ranks_[1].busy = {0.25, 2};
  ranks_[1].copies.to_host.large_s = 1e-5;
  ranks_[1].memory_bytes = 5e8;
  const RankCalibration back = RankCalibration::unpack(ranks_[1].pack());
  EXPECT_EQ(back.engine, "an engine");
  EXPECT_EQ(back.memory_bytes, 5e8);
  EXPECT_EQ(back.busy.share, 0.25);
  EXPECT_EQ(back.busy.weight_s, 2);
  EXPECT_EQ(back.copies.to_host.large_s, 1e-5);
  EXPECT_EQ(back.list_samples, ranks_[1].list_samples);
  ASSERT_EQ(back.pipes.size(), 1U);
  EXPECT_EQ(back.pipes[0].beside.large_s, 33e-3);
  EXPECT_THROW(RankCalibration::unpack(ranks_[1].pack().substr(0, 40)), error::EnvironmentError);
}

TEST_F(CpuCalibration, TheSlowestExchangeIsAMessageOrAnAllReduce) {
  deployment::Deployment deployment = prepared_.deployment;
  for (deployment::Path& path : deployment.paths) {
    path.latency_s = 1e-3;
    path.alone_s_per_byte = 1e-6;
  }
  double longest = 0;
  for (std::size_t pipe = 0; pipe < plan_.pipes.size(); ++pipe) {  // rings of two: two messages
    longest = std::max(
        longest, (plan_.in_ring(pipe) ? 2 : 1) * (1e-3 + 1e-6 * static_cast<double>(plan_.pipes[pipe].most_bytes)));
  }
  EXPECT_GT(longest, 1e-3);
  EXPECT_DOUBLE_EQ(slowest_exchange(plan_, deployment), longest);
}

TEST(Plan, FindsTheRingOfAPipe) {
  Plan plan;
  plan.pipes.resize(7);  // two channels, a ring of two, a ring of three
  const auto first = plan.rings.emplace(std::pair(4, graph::Phase::kReduce), 2).first;
  const auto second = plan.rings.emplace(std::pair(0, graph::Phase::kRestore), 4).first;
  for (const std::size_t channel : {0U, 1U}) {
    EXPECT_FALSE(plan.in_ring(channel));
  }
  for (const std::size_t pipe : {2U, 3U}) {
    EXPECT_EQ(plan.ring_of(pipe), first);
  }
  for (const std::size_t pipe : {4U, 5U, 6U}) {
    EXPECT_EQ(plan.ring_of(pipe), second);
  }
  deployment::Group group;
  group.size = 3;
  group.members = {8, 5, 9};
  const auto member = ring_member(second, group, 8);
  ASSERT_TRUE(member.has_value());
  EXPECT_EQ(member->index, 0);
  EXPECT_EQ(member->out, 4U);
  EXPECT_EQ(member->in, 6U);  // from the last member
  EXPECT_FALSE(ring_member(second, group, 7).has_value());
}

}  // namespace
}  // namespace lamina::validate::cpu
