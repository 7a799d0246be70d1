#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "sim/explain/members.hpp"
#include "sim/explain/sections.hpp"
#include "sim/lowering/partition.hpp"

namespace lamina::explain {

Cut cut_of(const scenario::Scenario& scenario, const schedules::ScheduleTable& table) {
  Cut cut;
  cut.layers_per_stage = static_cast<double>(lowering::dealt_layers(scenario.strategy, scenario.model.layers)) /
                         std::max(table.model_chunks, 1);
  const auto on_rank_zero = [](const schedules::Stage& stage) { return stage.rank == 0; };
  cut.stages_of_rank = static_cast<int>(std::count_if(table.stages.begin(), table.stages.end(), on_rank_zero));
  const int ranks = static_cast<int>(table.actions.size());
  const int stages = static_cast<int>(table.stages.size());
  cut.looping = stages == table.model_chunks;
  for (int i = 0; i < stages; ++i) {
    const schedules::Stage& stage = table.stages[static_cast<std::size_t>(i)];
    cut.looping = cut.looping && stage.rank == i % ranks && stage.previous == i - 1;
  }
  return cut;
}

namespace {

std::string dealt_text(const scenario::Scenario& scenario) {
  const scenario::Strategy& strategy = scenario.strategy;
  const char* embedding = strategy.embedding_counts_as_layer ? " + embedding" : "";
  const char* head = strategy.head_counts_as_layer ? " + head" : "";
  const bool sum = strategy.embedding_counts_as_layer || strategy.head_counts_as_layer;
  return fmt::format("{}{} layers{}{}{}", sum ? "(" : "", scenario.model.layers, embedding, head, sum ? ")" : "");
}

bool splits_backward(const schedules::ScheduleTable& table) {
  for (const auto& row : table.actions) {
    for (const schedules::Action& action : row) {
      if (action.type == schedules::ActionType::kInputGradient ||
          action.type == schedules::ActionType::kWeightGradient) {
        return true;
      }
    }
  }
  return false;
}

/// The rank gives back all activations before its last backward: rounds that each fill and drain the pipeline.
bool drains_early(const std::vector<schedules::Action>& row) {
  int alive = 0;
  for (std::size_t i = 0; i + 1 < row.size(); ++i) {
    alive += row[i].type == schedules::ActionType::kForward ? 1 : -1;
    if (alive == 0) {
      return true;
    }
  }
  return false;
}

/// Times that the rank's compute moves to another stage: what a restore per use of the weights would cost.
int stage_changes(const std::vector<schedules::Action>& row) {
  int changes = 0;
  for (std::size_t i = 1; i < row.size(); ++i) {
    changes += row[i].stage != row[i - 1].stage ? 1 : 0;
  }
  return changes;
}

std::string first_actions(const std::vector<schedules::Action>& row) {
  constexpr std::size_t kShown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, row.size()); ++i) {
    text += i == 0 ? "" : " ";
    text += schedules::to_string(row[i]);
  }
  return text + (row.size() > kShown ? fmt::format(" ... ({} actions)", row.size()) : "");
}

void write_bubble(Writer& writer, const schedules::ScheduleTable& table, const Cut& cut) {
  const int ranks = static_cast<int>(table.actions.size());
  const int micro_batches = table.micro_batches;
  if (ranks == 1) {
    writer.number("bubble", "0", "one pipeline rank");
    return;
  }
  if (!cut.looping || splits_backward(table) || drains_early(table.actions.front())) {
    writer.text("bubble: no closed form for this schedule; lamina run measures it");
    return;
  }
  const double work = static_cast<double>(micro_batches) * cut.stages_of_rank;
  if (micro_batches >= ranks) {
    writer.number("bubble over compute", fmt::format("{:.4g}", (ranks - 1) / work),
                  fmt::format("(p - 1) / (m K) = ({} - 1) / ({} x {}), equal stages, free messages", ranks,
                              micro_batches, cut.stages_of_rank),
                  "arXiv 2106.02679; arXiv 2104.04473, section 2.2");
  } else {
    const double total = static_cast<double>(cut.stages_of_rank) * ranks + micro_batches - 1;
    writer.number(
        "bubble over compute", fmt::format("{:.4g}", total / work - 1),
        fmt::format("(K p + m - 1) / (m K) - 1 with m = {} < p = {}, K = {}", micro_batches, ranks, cut.stages_of_rank),
        "own derivation");
  }
}

}  // namespace

void write_schedule(Writer& writer, const Subject& subject) {
  const auto& table = subject.prepared.table;
  const auto* entry = subject.catalogs.schedules.find(subject.scenario.strategy.schedule.name);
  writer.section(fmt::format("Schedule {}{}", subject.scenario.strategy.schedule.name,
                             entry == nullptr ? "" : fmt::format(" [{}]", entry->info.source)));
  const Cut cut = cut_of(subject.scenario, table);
  const int ranks = static_cast<int>(table.actions.size());
  writer.number("stages", fmt::format("{}", table.stages.size()),
                fmt::format("{} pipeline rank(s) x K = {} stage(s) each", ranks, cut.stages_of_rank));
  writer.number("layers per stage", fmt::format("{:.4g}", cut.layers_per_stage),
                fmt::format("{} / {} parts of the model", dealt_text(subject.scenario), table.model_chunks));
  const auto& row = table.actions.front();
  writer.number("changes of stage on rank 0", fmt::format("{}", stage_changes(row)),
                "neighbouring actions of different stages; what sharded weights pay for");
  writer.text(fmt::format("rank 0 computes {}", first_actions(row)));
  write_bubble(writer, table, cut);
}

}  // namespace lamina::explain
