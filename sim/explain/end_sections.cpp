// What follows the numbers: replay, training, sources.
#include <string>

#include <fmt/format.h>

#include "sim/disturb/disturb.hpp"
#include "sim/explain/sections.hpp"

namespace lamina::explain {
namespace {

constexpr double kSecondsPerDay = 86400;

const char* law_source(scenario::BatchLaw law) {
  return law == scenario::BatchLaw::kKaplan2020 ? "Kaplan et al., arXiv 2001.08361, eq. 1.4" : "arXiv 2106.02679";
}

}  // namespace

void write_disturbances(Writer& writer, const Subject& subject) {
  if (subject.scenario.disturbances.empty()) {
    return;
  }
  writer.section("Disturbances");
  for (const std::string& line : disturb::describe(subject.scenario)) {
    writer.text(line);
  }
  for (const std::string& line : subject.prepared.without_effect) {
    writer.text(line);
  }
}

void write_folding(Writer& writer, const Subject& subject) {
  const auto& prepared = subject.prepared;
  const auto& deployment = prepared.deployment;
  writer.section("Replay");
  writer.number("ranks replayed", fmt::format("{}", deployment.ranks.size()),
                subject.scenario.simulation.fold
                    ? fmt::format("classes of {:g} ranks that do the same at the same time", prepared.whole_ranks)
                    : fmt::format("all {:g}: folding is off", prepared.whole_ranks),
                "colour refinement; equal to the whole replay");
  const bool shared = subject.scenario.simulation.transport == scenario::Transport::kSimgrid;
  writer.number("transport", shared ? "SimGrid" : "no contention",
                shared ? "transfers in flight share links max-min fairly"
                       : "every transfer takes the time it takes alone: queues and shared links are left out, so the "
                         "step is never longer than with SimGrid",
                "simulation.transport");
  double operations = 0;
  for (const auto& rank : deployment.ranks) {
    operations +=
        static_cast<double>(prepared.graph.programs.at(static_cast<std::size_t>(rank.program)).operations.size());
  }
  for (const std::string& reason : prepared.split_reasons) {
    writer.text(reason);
  }
  writer.number("operations replayed", count_of(operations), "operations of their programs");
  writer.number("links replayed", fmt::format("{}", deployment.links.size()),
                fmt::format("of {} in the fabric that some flow crosses", prepared.fabric.links.size()));
}

void write_sources(Writer& writer, const Subject& subject) {
  const auto& scenario = subject.scenario;
  const auto& node = scenario.cluster.node;
  writer.section("Sources");
  writer.entry(scenario.model.name, scenario.model.source);
  writer.entry(node.name, node.source);
  writer.entry(node.accelerator.name, node.accelerator.source);
  writer.entry(node.device_link.name, node.device_link.source);
  writer.entry(node.host_path.name, node.host_path.source);
  writer.entry(scenario.cluster.network.name, scenario.cluster.network.source);
  const auto* algorithm = subject.catalogs.collectives.find(scenario.simulation.collective_algorithm);
  if (algorithm != nullptr) {
    writer.entry(algorithm->info.name, algorithm->info.source);
  }
}

void write_training(Writer& writer, const Subject& subject) {
  if (!subject.scenario.training.has_value()) {
    return;
  }
  const auto& training = *subject.scenario.training;
  const auto& model = subject.scenario.model;
  const auto& work = subject.prepared.work;
  const auto& strategy = subject.scenario.strategy;
  writer.section("Training");
  const double batch = static_cast<double>(strategy.global_batch());
  const double tokens_per_step = batch * static_cast<double>(model.sequence_length);
  const double steps = training.steps > 0 ? training.steps : training.tokens / tokens_per_step;
  writer.number("steps", count_of(steps),
                training.steps > 0
                    ? std::string("as given")
                    : fmt::format("{} tokens / {} per step", count_of(training.tokens), count_of(tokens_per_step)),
                "training");
  if (training.batch_law != scenario::BatchLaw::kNone) {
    const auto sequence = static_cast<double>(model.sequence_length);
    writer.number("critical batch",
                  fmt::format("{:.1f} seq.", model::critical_batch(training.batch_law, work.parameters, sequence)),
                  fmt::format("law of {} parameters; the scenario uses {:g}", count_of(work.parameters), batch),
                  law_source(training.batch_law));
  }
  if (work.peak.value() > 0) {
    const double seconds =
        work.hardware_flops_per_token.value() * tokens_per_step * steps / (work.peak.value() * strategy.ranks());
    writer.number("days at peak", fmt::format("{:.4g}", seconds / kSecondsPerDay),
                  "steps x step at peak on all ranks; lamina run divides by the efficiency it finds");
  }
}

}  // namespace lamina::explain
