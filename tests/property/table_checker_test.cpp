// The checker of schedule tables against an oracle that shares nothing with it: counting, and a simulation that tries
// every rank again and again.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/schedule_tables/checker.hpp"
#include "sim/schedule_tables/lowered_table.hpp"

namespace lamina {
namespace {

using schedules::Action;
using schedules::ActionType;
using schedules::ScheduleTable;
using schedules::Stage;

int draw(std::mt19937& random, int from, int to) {
  return std::uniform_int_distribution<int>(from, to)(random);
}

/// Stages on random ranks, in one chain or two, and rows that are executed at random as their inputs allow: valid by
/// construction.
ScheduleTable random_table(std::mt19937& random) {
  ScheduleTable table;
  const int ranks = draw(random, 1, 4);
  const int copies = draw(random, 1, 2);
  const int per_stage = draw(random, 1, 4);
  table.model_chunks = ranks * draw(random, 1, 3);
  table.micro_batches = copies * per_stage;
  table.actions.resize(static_cast<std::size_t>(ranks));
  for (int stage = 0; stage < copies * table.model_chunks; ++stage) {
    const int chunk = stage % table.model_chunks;
    table.stages.push_back({draw(random, 0, ranks - 1), chunk, chunk == 0 ? -1 : stage - 1,
                            chunk + 1 == table.model_chunks ? -1 : stage + 1});
  }
  // Per micro-batch and stage: 0 nothing done, 1 forward, 2 input gradient, 3 all.
  std::vector<std::vector<int>> done(table.stages.size(), std::vector<int>(static_cast<std::size_t>(per_stage), 0));
  const auto at = [&](int stage, int micro_batch) -> int& {
    return done[static_cast<std::size_t>(stage)][static_cast<std::size_t>(micro_batch)];
  };
  std::size_t left = table.stages.size() * static_cast<std::size_t>(per_stage);
  while (left > 0) {
    const int number = draw(random, 0, static_cast<int>(table.stages.size()) - 1);
    const int micro_batch = draw(random, 0, per_stage - 1);
    const Stage& stage = table.stages[static_cast<std::size_t>(number)];
    std::vector<Action>& row = table.actions[static_cast<std::size_t>(stage.rank)];
    int& state = at(number, micro_batch);
    if (state == 0 && (stage.previous == -1 || at(stage.previous, micro_batch) > 0)) {
      row.push_back({ActionType::kForward, number, micro_batch});
      state = 1;
    } else if (state == 1 && (stage.next == -1 || at(stage.next, micro_batch) > 1)) {
      const bool whole = draw(random, 0, 1) == 0;
      row.push_back({whole ? ActionType::kBackward : ActionType::kInputGradient, number, micro_batch});
      state = whole ? 3 : 2;
      left -= whole ? 1 : 0;
    } else if (state == 2) {
      row.push_back({ActionType::kWeightGradient, number, micro_batch});
      state = 3;
      --left;
    }
  }
  return table;
}

/// A row that is not empty; -1 when there is none.
int some_row(const ScheduleTable& table, std::mt19937& random) {
  std::vector<int> rows;
  for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
    if (!table.actions[rank].empty()) {
      rows.push_back(static_cast<int>(rank));
    }
  }
  return rows.empty() ? -1 : rows[static_cast<std::size_t>(draw(random, 0, static_cast<int>(rows.size()) - 1))];
}

/// One thing that goes wrong in schedule files, or that does no harm.
void mutate(ScheduleTable& table, std::mt19937& random) {
  const int rank = some_row(table, random);
  if (rank == -1) {
    return;
  }
  std::vector<Action>& row = table.actions[static_cast<std::size_t>(rank)];
  const auto pick = [&] { return static_cast<std::size_t>(draw(random, 0, static_cast<int>(row.size()) - 1)); };
  const std::size_t first = pick();
  const std::size_t second = pick();
  switch (draw(random, 0, 8)) {
    case 0:
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(first));
      return;
    case 1: {
      const Action again = row[first];
      row.insert(row.begin() + static_cast<std::ptrdiff_t>(second), again);
      return;
    }
    case 2:
      std::swap(table.actions.front(), table.actions.back());
      return;
    case 3:
      row[first].micro_batch += draw(random, -1, 1);
      return;
    case 4:
      row[first].stage += draw(random, -1, 1);
      return;
    case 5:
      row[first].type = static_cast<ActionType>(draw(random, 0, 3));
      return;
    case 6:
      row[first].paired_with_next = true;
      return;
    default:
      std::swap(row[first], row[second]);
      return;
  }
}

using Key = std::tuple<ActionType, int, int>;

/// Every pass once, on its rank, and nothing else.
bool is_complete(const ScheduleTable& table) {
  std::map<Key, int> count;
  for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
    for (const Action& action : table.actions[rank]) {
      if (action.stage < 0 || action.stage >= static_cast<int>(table.stages.size()) ||
          table.stages[static_cast<std::size_t>(action.stage)].rank != static_cast<int>(rank)) {
        return false;
      }
      ++count[{action.type, action.stage, action.micro_batch}];
    }
  }
  std::size_t expected = 0;
  const int copies = static_cast<int>(table.stages.size()) / table.model_chunks;
  for (int stage = 0; stage < static_cast<int>(table.stages.size()); ++stage) {
    for (int micro_batch = 0; micro_batch < table.micro_batches / copies; ++micro_batch) {
      const auto of = [&](ActionType type) {
        const auto found = count.find({type, stage, micro_batch});
        return found == count.end() ? 0 : found->second;
      };
      const int whole = of(ActionType::kBackward);
      const int input = of(ActionType::kInputGradient);
      const int weight = of(ActionType::kWeightGradient);
      const bool one_backward = (whole == 1 && input == 0 && weight == 0) || (whole == 0 && input == 1 && weight == 1);
      if (of(ActionType::kForward) != 1 || !one_backward) {
        return false;
      }
      expected += whole == 1 ? 2U : 3U;
    }
  }
  std::size_t actions = 0;
  for (const auto& [key, number] : count) {
    actions += static_cast<std::size_t>(number);
  }
  return actions == expected;
}

/// The actions that a step takes at once: one, or a pair; none for a pair of one or of three.
std::vector<Action> step_at(const std::vector<Action>& row, std::size_t position) {
  if (!row[position].paired_with_next) {
    return {row[position]};
  }
  if (position + 1 == row.size() || row[position + 1].paired_with_next) {
    return {};
  }
  return {row[position], row[position + 1]};
}

bool is_ready(const ScheduleTable& table, const Action& action, const std::set<Key>& done) {
  const Stage& stage = table.stages[static_cast<std::size_t>(action.stage)];
  const auto has = [&](ActionType type, int of) { return done.contains({type, of, action.micro_batch}); };
  const auto has_backward = [&](int of) {
    return has(ActionType::kBackward, of) || has(ActionType::kInputGradient, of);
  };
  switch (action.type) {
    case ActionType::kForward:
      return stage.previous == -1 || has(ActionType::kForward, stage.previous);
    case ActionType::kWeightGradient:
      return has(ActionType::kInputGradient, action.stage);
    default:
      return has(ActionType::kForward, action.stage) && (stage.next == -1 || has_backward(stage.next));
  }
}

/// Tries every rank until none gets on.
bool runs_to_its_end(const ScheduleTable& table) {
  std::set<Key> done;
  std::vector<std::size_t> position(table.actions.size(), 0);
  for (bool progress = true; progress;) {
    progress = false;
    for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
      const std::vector<Action>& row = table.actions[rank];
      if (position[rank] == row.size()) {
        continue;
      }
      const std::vector<Action> step = step_at(row, position[rank]);
      const bool ready = !step.empty() && std::all_of(step.begin(), step.end(), [&](const Action& action) {
        return is_ready(table, action, done);
      });
      if (ready) {
        for (const Action& action : step) {
          done.insert({action.type, action.stage, action.micro_batch});
        }
        position[rank] += step.size();
        progress = true;
      }
    }
  }
  for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
    if (position[rank] < table.actions[rank].size()) {
      return false;
    }
  }
  return true;
}

std::string text_of(const ScheduleTable& table) {
  std::string text;
  for (const std::vector<Action>& row : table.actions) {
    for (const Action& action : row) {
      text += fmt::format("{}{} ", action.paired_with_next ? "(" : "", to_string(action));
    }
    text += '\n';
  }
  return text;
}

TEST(TableChecks, AgreeWithCountingAndSimulatingOnMutatedTables) {
  std::mt19937 random(20260214);
  int valid = 0;
  int incomplete = 0;
  int stuck = 0;
  for (int i = 0; i < 20'000; ++i) {
    ScheduleTable table = random_table(random);
    for (int mutations = draw(random, 0, 3); mutations > 0; --mutations) {
      mutate(table, random);
    }
    const bool complete = is_complete(table);
    const bool runs = complete && runs_to_its_end(table);
    valid += runs ? 1 : 0;
    incomplete += complete ? 0 : 1;
    stuck += complete && !runs ? 1 : 0;
    const auto fault = schedule_tables::find_fault(table);
    ASSERT_EQ(!fault, runs) << (fault ? fault->text : "passed") << '\n' << text_of(table);
    if (fault) {
      ASSERT_GE(fault->rank, 0);
      ASSERT_LT(static_cast<std::size_t>(fault->rank), table.actions.size());
      ASSERT_LE(fault->position, table.actions[static_cast<std::size_t>(fault->rank)].size());
      ASSERT_FALSE(fault->text.empty());
      if (complete) {
        continue;
      }
      ASSERT_EQ(fault->text.find("deadlock"), std::string::npos) << fault->text << '\n' << text_of(table);
    }
  }
  EXPECT_GT(valid, 1000);
  EXPECT_GT(incomplete, 1000);
  EXPECT_GT(stuck, 1000);
}

/// PyTorch's lowering of any valid table passes, and nothing in it but a RESHARD may be left out or done twice.
TEST(TableChecks, NoticeEveryCommunicationThatIsLostOrRepeated) {
  std::mt19937 random(20260215);
  for (int i = 0; i < 3000; ++i) {
    ScheduleTable table = random_table(random);
    table.lowered = schedule_tables::lowered_rows(table, draw(random, 1, 3));
    const auto none = schedule_tables::find_lowered_fault(table);
    ASSERT_FALSE(none) << none->text << '\n' << text_of(table);
    const int rank = some_row(table, random);
    auto& row = table.lowered[static_cast<std::size_t>(rank)];
    const auto at = row.begin() + draw(random, 0, static_cast<int>(row.size()) - 1);
    const schedules::LoweredAction action = *at;
    const bool repeat = draw(random, 0, 1) == 0;
    if (repeat) {
      row.insert(at, action);
    } else if (action.type == schedules::LoweredType::kReshard ||
               (action.type == schedules::LoweredType::kReduceGradients && table.stages.size() == 1)) {
      continue;  // a table without any reduction is one that leaves them to us
    } else {
      row.erase(at);
    }
    const auto fault = schedule_tables::find_lowered_fault(table);
    ASSERT_TRUE(fault) << (repeat ? "twice: " : "lost: ") << schedule_tables::to_string(action) << " of rank " << rank
                       << '\n'
                       << text_of(table);
    ASSERT_LE(fault->position, table.lowered[static_cast<std::size_t>(fault->rank)].size());
  }
}

}  // namespace
}  // namespace lamina
