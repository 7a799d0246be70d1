#include <array>
#include <string>

#include <fmt/format.h>

#include "sim/explain/sections.hpp"

namespace lamina::explain {
namespace {

struct NamedPass {
  model::Pass pass;
  const char* name;
};

constexpr std::array<NamedPass, model::kPasses> kPassNames = {{{model::Pass::kForward, "forward"},
                                                               {model::Pass::kRecompute, "recompute"},
                                                               {model::Pass::kInputGradient, "input gradient"},
                                                               {model::Pass::kWeightGradient, "weight gradient"}}};

std::string formula_of(const model::Kernel& kernel) {
  if (kernel.kind == model::KernelKind::kMemoryBound) {
    return fmt::format("{} read and written", text_of(kernel.bytes));
  }
  const std::string batch = kernel.batch == 1 ? "" : fmt::format("{:g} x ", kernel.batch);
  return fmt::format("{}({} x {}) ({} x {}), {}, {}", batch, kernel.m, kernel.k, kernel.k, kernel.n,
                     text_of(kernel.flops), text_of(kernel.bytes));
}

void write_kernels(Writer& writer, const Subject& subject, const model::PassCost& cost) {
  const auto& simulation = subject.scenario.simulation;
  const auto* cost_model = subject.catalogs.cost_models.find(simulation.cost_model.name);
  if (cost_model == nullptr) {
    return;
  }
  for (const model::Kernel& kernel : cost.kernels) {
    const auto type = kernel.type.value_or(subject.scenario.strategy.precision.compute);
    const Seconds time = cost_model->implementation->time(kernel, subject.scenario.cluster.node.accelerator, type,
                                                          simulation.cost_model.parameters);
    writer.number("    " + kernel.name, text_of(time), formula_of(kernel));
  }
}

void write_layer(Writer& writer, const Subject& subject, const model::LayerCost& layer) {
  for (const model::BlockCost& block : layer.blocks) {
    for (const NamedPass& named : kPassNames) {
      const model::PassCost& cost = block.pass(named.pass);
      if (cost.duration.value() == 0 && cost.flops.value() == 0) {
        continue;
      }
      writer.number(fmt::format("{}, {}", block.name, named.name), text_of(cost.duration),
                    fmt::format("{}, {} touched", text_of(cost.flops), text_of(cost.bytes)));
      write_kernels(writer, subject, cost);
    }
  }
}

}  // namespace

void write_work(Writer& writer, const Subject& subject) {
  const auto& work = subject.prepared.work;
  const auto& strategy = subject.scenario.strategy;
  writer.section(fmt::format("Work of one rank per layer and micro-batch (tensor parallel {}{})",
                             strategy.tensor_parallel, strategy.sequence_parallel ? ", sequence parallel" : ""));
  const auto* cost_model = subject.catalogs.cost_models.find(subject.scenario.simulation.cost_model.name);
  writer.text(fmt::format("kernel times by cost model {}{}", work.cost_model,
                          cost_model == nullptr ? "" : fmt::format(" [{}]", cost_model->info.source)));
  writer.text("a product (m x k) (k x n) takes 2 m k n FLOPs");
  write_layer(writer, subject, work.embedding);
  write_layer(writer, subject, work.layer);
  write_layer(writer, subject, work.head);
  writer.number("optimizer, one layer, unsharded", text_of(work.layer.update),
                fmt::format("{} parameters of this rank", count_of(work.layer.parameters)));
}

}  // namespace lamina::explain
