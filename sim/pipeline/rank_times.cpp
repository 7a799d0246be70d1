#include "sim/pipeline/rank_times.hpp"

#include "sim/lowering/partition.hpp"

namespace lamina::pipeline {
namespace {

double message_seconds(const scenario::Scenario& scenario, const model::WorkModel& work) {
  const scenario::Strategy& strategy = scenario.strategy;
  const bool sliced = (strategy.sequence_parallel || strategy.sliced_sends) && !scenario.model.custom;
  const double bytes = work.message.value() / (sliced ? strategy.tensor_parallel : 1);
  const scenario::DeviceLink& inside = scenario.cluster.node.device_link;
  const scenario::Network& outside = scenario.cluster.network;
  const bool within_node = scenario.cluster.nodes == 1;
  const double bandwidth = within_node ? inside.bandwidth.value() : outside.bandwidth.value() * outside.efficiency;
  const double latency = within_node ? inside.latency.value() : (outside.port_latency + outside.switch_latency).value();
  return latency + (bandwidth > 0 ? bytes / bandwidth : 0);
}

}  // namespace

schedules::RankTimes rank_times(const scenario::Scenario& scenario, const model::WorkModel& work) {
  const scenario::Strategy& strategy = scenario.strategy;
  const double layers = static_cast<double>(lowering::dealt_layers(strategy, work.layers)) / strategy.pipeline_parallel;
  schedules::RankTimes times{0, 0, 0, message_seconds(scenario, work)};
  for (const model::BlockCost& block : work.layer.blocks) {
    const bool recomputed = strategy.recompute != scenario::Recompute::kNone;
    times.forward_s += layers * block.forward.duration.value();
    times.input_gradient_s +=
        layers * (block.input_gradient.duration.value() + (recomputed ? block.recompute.duration.value() : 0));
    times.weight_gradient_s += layers * block.weight_gradient.duration.value();
  }
  if (work.layer.checkpoint.value() > 0) {
    times.kept_for_weight_gradient = work.layer.weight_gradient_operands.value() / work.layer.checkpoint.value();
  }
  return times;
}

}  // namespace lamina::pipeline
