#include <map>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "schedules/schedule.hpp"
#include "sim/schedule_tables/checker.hpp"
#include "sim/schedule_tables/lowered_table.hpp"

namespace lamina::schedules {
namespace {

using Key = std::tuple<ActionType, int, int>;  // type, stage, micro-batch

struct Shape {
  int ranks;
  int micro_batches;
  int layers;
};

constexpr Shape kShapes[] = {{1, 1, 1},  {1, 4, 12},  {2, 1, 8},  {2, 5, 8},   {2, 4, 8},  {3, 7, 12},
                             {3, 9, 12}, {4, 4, 16},  {4, 9, 16}, {4, 10, 16}, {4, 8, 16}, {6, 12, 12},
                             {8, 3, 24}, {8, 16, 32}, {4, 5, 12}, {4, 9, 12},  {5, 7, 20}, {5, 12, 30}};

/// Values to try of a whole-number parameter: its default and a few others.
std::set<double> numbers_to_try(const catalog::ParameterSpec& spec) {
  if (spec.kind == catalog::ParameterKind::kBoolean) {
    return {spec.default_value == "true" ? 1.0 : 0.0};
  }
  std::set<double> numbers = {std::stod(spec.default_value)};
  for (const double other : {2.0, 4.0, 5.0, 8.0}) {
    if (spec.kind == catalog::ParameterKind::kInteger && other >= spec.minimum && other <= spec.maximum) {
      numbers.insert(other);
    }
  }
  return numbers;
}

/// Every combination of a plug-in's choices and of `numbers_to_try`.
std::vector<catalog::Parameters> parameter_sets(const std::vector<catalog::ParameterSpec>& specs) {
  std::vector<catalog::Parameters> sets(1);
  for (const catalog::ParameterSpec& spec : specs) {
    std::vector<catalog::Parameters> extended;
    for (const catalog::Parameters& set : sets) {
      if (spec.kind != catalog::ParameterKind::kChoice) {
        for (const double number : numbers_to_try(spec)) {
          extended.push_back(set);
          extended.back().set_number(spec.name, number);
        }
        continue;
      }
      for (const std::string& choice : spec.choices) {
        extended.push_back(set);
        extended.back().set_choice(spec.name, choice);
      }
    }
    sets = extended;
  }
  return sets;
}

class ScheduleContract : public ::testing::TestWithParam<std::string> {
 protected:
  /// Calls `check` for every shape and parameter set that the schedule serves.
  template <class Check>
  void for_each_table(Check check) const {
    const auto catalog = builtin_schedules();
    const auto* entry = catalog.find(GetParam());
    int served = 0;
    for (const Shape& shape : kShapes) {
      for (const catalog::Parameters& parameters : parameter_sets(entry->info.parameters)) {
        const ScheduleRequest request{shape.ranks, shape.micro_batches, shape.layers, parameters};
        const auto table = entry->implementation->table(request);
        if (!table) {
          EXPECT_FALSE(table.error().reason.empty());
          continue;
        }
        ++served;
        SCOPED_TRACE(::testing::Message() << shape.ranks << " ranks, " << shape.micro_batches << " micro-batches, "
                                          << shape.layers << " layers");
        check(request, *table, *entry->implementation);
      }
    }
    EXPECT_GT(served, 0);
  }
};

TEST_P(ScheduleContract, DescribesItself) {
  const auto catalog = builtin_schedules();
  const catalog::PluginInfo& info = catalog.find(GetParam())->info;
  EXPECT_FALSE(info.summary.empty());
  EXPECT_FALSE(info.source.empty());
  for (const catalog::ParameterSpec& spec : info.parameters) {
    EXPECT_FALSE(spec.help.empty()) << spec.name;
    EXPECT_FALSE(spec.default_value.empty()) << spec.name;
  }
}

TEST_P(ScheduleContract, ComputesEveryMicroBatchOfEveryStageOnceOnItsRank) {
  for_each_table([](const ScheduleRequest& request, const ScheduleTable& table, const Schedule&) {
    EXPECT_EQ(table.micro_batches, request.micro_batches);
    EXPECT_EQ(table.actions.size(), static_cast<std::size_t>(request.pipeline_parallel));
    std::map<Key, int> seen;
    for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
      for (const Action& action : table.actions[rank]) {
        ASSERT_LT(static_cast<std::size_t>(action.stage), table.stages.size());
        EXPECT_EQ(table.stages[static_cast<std::size_t>(action.stage)].rank, static_cast<int>(rank));
        ++seen[{action.type, action.stage, action.micro_batch}];
      }
    }
    const auto count = [&seen](ActionType type, int stage, int micro_batch) {
      const auto found = seen.find({type, stage, micro_batch});
      return found == seen.end() ? 0 : found->second;
    };
    std::size_t expected = 0;
    std::map<int, int> passes;  // by model chunk: copies of a chunk share the micro-batches
    for (int stage = 0; stage < static_cast<int>(table.stages.size()); ++stage) {
      const Stage& placed = table.stages[static_cast<std::size_t>(stage)];
      for (int micro_batch = 0; micro_batch < request.micro_batches; ++micro_batch) {
        const int forwards = count(ActionType::kForward, stage, micro_batch);
        const int whole = count(ActionType::kBackward, stage, micro_batch);
        const int split = count(ActionType::kInputGradient, stage, micro_batch);
        EXPECT_LE(forwards, 1);
        EXPECT_EQ(whole + split, forwards);
        EXPECT_EQ(split, count(ActionType::kWeightGradient, stage, micro_batch));
        if (placed.next != -1) {
          EXPECT_EQ(forwards, count(ActionType::kForward, placed.next, micro_batch));
        }
        passes[placed.model_chunk] += forwards;
        expected += static_cast<std::size_t>(forwards + whole + 2 * split);
      }
    }
    for (const auto& [chunk, micro_batches] : passes) {
      EXPECT_EQ(micro_batches, request.micro_batches) << "model chunk " << chunk;
    }
    EXPECT_EQ(seen.size(), expected);
  });
}

TEST_P(ScheduleContract, ChainsStagesFromTheTokensToTheLoss) {
  for_each_table([](const ScheduleRequest& request, const ScheduleTable& table, const Schedule&) {
    EXPECT_GT(table.model_chunks, 0);
    EXPECT_EQ(request.layers % table.model_chunks, 0);
    std::set<int> chunks;
    for (int stage = 0; stage < static_cast<int>(table.stages.size()); ++stage) {
      const Stage& placed = table.stages[static_cast<std::size_t>(stage)];
      chunks.insert(placed.model_chunk);
      EXPECT_EQ(placed.model_chunk == 0, placed.previous == -1);
      EXPECT_EQ(placed.model_chunk == table.model_chunks - 1, placed.next == -1);
      if (placed.next != -1) {
        const Stage& next = table.stages.at(static_cast<std::size_t>(placed.next));
        EXPECT_EQ(next.previous, stage);
        EXPECT_EQ(next.model_chunk, placed.model_chunk + 1);
      }
    }
    EXPECT_EQ(static_cast<int>(chunks.size()), table.model_chunks);
  });
}

TEST_P(ScheduleContract, RunsInOrderWithoutDeadlock) {
  for_each_table([](const ScheduleRequest&, const ScheduleTable& table, const Schedule&) {
    std::set<Key> done;
    const auto ready = [&](const Action& action) {
      const Stage& stage = table.stages[static_cast<std::size_t>(action.stage)];
      const auto has = [&](ActionType type, int of) { return done.contains({type, of, action.micro_batch}); };
      switch (action.type) {
        case ActionType::kForward:
          return stage.previous == -1 || has(ActionType::kForward, stage.previous);
        case ActionType::kWeightGradient:
          return has(ActionType::kInputGradient, action.stage);
        default:
          return has(ActionType::kForward, action.stage) &&
                 (stage.next == -1 || has(ActionType::kBackward, stage.next) ||
                  has(ActionType::kInputGradient, stage.next));
      }
    };
    std::vector<std::size_t> position(table.actions.size(), 0);
    std::size_t left = 0;
    for (const auto& row : table.actions) {
      left += row.size();
    }
    for (bool progress = true; progress && left > 0;) {
      progress = false;
      for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
        const auto& row = table.actions[rank];
        while (position[rank] < row.size() && ready(row[position[rank]])) {
          const Action& action = row[position[rank]++];
          done.insert({action.type, action.stage, action.micro_batch});
          --left;
          progress = true;
        }
      }
    }
    EXPECT_EQ(left, 0U) << "the in-order ranks wait for each other";
  });
}

TEST_P(ScheduleContract, PassesTheChecksOfTables) {
  for_each_table([](const ScheduleRequest&, const ScheduleTable& table, const Schedule&) {
    const auto fault = schedule_tables::find_fault(table);
    EXPECT_FALSE(fault) << fault->text;
  });
}

TEST_P(ScheduleContract, PassesTheChecksOfTablesOnceLoweredAsPyTorchDoes) {
  for_each_table([](const ScheduleRequest&, const ScheduleTable& table, const Schedule&) {
    ScheduleTable lowered = table;
    lowered.lowered = schedule_tables::lowered_rows(table);
    const auto fault = schedule_tables::find_lowered_fault(lowered);
    EXPECT_FALSE(fault) << fault->text;
  });
}

TEST_P(ScheduleContract, IsAPureFunctionOfTheRequest) {
  for_each_table([](const ScheduleRequest& request, const ScheduleTable& table, const Schedule& schedule) {
    const auto again = schedule.table(request);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->actions, table.actions);
    EXPECT_EQ(again->stages.size(), table.stages.size());
  });
}

TEST_P(ScheduleContract, RefusesLayersThatDoNotDivideWithTheNumbers) {
  const auto catalog = builtin_schedules();
  const auto* entry = catalog.find(GetParam());
  for (const catalog::Parameters& parameters : parameter_sets(entry->info.parameters)) {
    const auto table = entry->implementation->table({4, 8, 31, parameters});
    ASSERT_FALSE(table);
    EXPECT_NE(table.error().reason.find('4'), std::string::npos) << table.error().reason;
  }
}

INSTANTIATE_TEST_SUITE_P(AllSchedules, ScheduleContract, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& plugin : builtin_schedules().infos()) {
                             names.push_back(plugin.name);
                           }
                           return names;
                         }()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace lamina::schedules
