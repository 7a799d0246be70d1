#include "sim/schedule_tables/pytorch_csv.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/schedule_tables/checker.hpp"
#include "sim/schedule_tables/csv_reader.hpp"
#include "sim/schedule_tables/lowered_table.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::Action;
using schedules::ActionType;
using schedules::LoweredAction;
using schedules::ScheduleTable;
using schedules::Stage;

constexpr std::size_t kMostRanks = 1'000'000;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

/// A place in a table: of its actions or, if `in_lowered`, of its lowered rows.
struct TablePlace {
  std::size_t rank = 0;
  std::size_t position = 0;
  bool in_lowered = false;
};

[[noreturn]] void fail(error::Location location, std::string problem, std::string read, std::string allowed) {
  throw error::ScenarioError({std::move(location), "", std::move(problem), std::move(read), std::move(allowed), ""});
}

/// The text that a table was read from. Places are found by reading it again, so that valid files pay nothing for them.
class Source {
 public:
  Source(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  [[nodiscard]] const std::string& file() const { return file_; }

  [[nodiscard]] CsvReader reader() const { return {text_, file_}; }

  /// @throws ScenarioError always, at the cell of that place or at the end of its row
  [[noreturn]] void fail_at(const TablePlace& place, std::string problem, std::string allowed) const {
    CsvReader again = reader();
    CsvRow row;
    std::vector<CsvPlace> cells;
    for (std::size_t rank = 0; rank <= place.rank && again.next(row, &cells); ++rank) {
    }
    std::size_t position = 0;
    for (std::size_t i = 0; i < row.actions.size(); ++i) {
      if ((place.in_lowered || is_compute(row.actions[i].type)) && position++ == place.position) {
        fail(again.locate(cells[i].begin), std::move(problem), again.quote(cells[i]), std::move(allowed));
      }
    }
    fail(again.locate(again.end_of_line()), std::move(problem), "", std::move(allowed));
  }

 private:
  std::string_view text_;
  std::string file_;
};

std::optional<Action> compute_action(const LoweredAction& action) {
  switch (action.type) {
    case schedules::LoweredType::kForward:
      return Action{ActionType::kForward, action.stage, action.micro_batch, action.paired_with_next};
    case schedules::LoweredType::kBackward:
      return Action{ActionType::kBackward, action.stage, action.micro_batch, action.paired_with_next};
    case schedules::LoweredType::kInputGradient:
      return Action{ActionType::kInputGradient, action.stage, action.micro_batch, action.paired_with_next};
    case schedules::LoweredType::kWeightGradient:
      return Action{ActionType::kWeightGradient, action.stage, action.micro_batch, action.paired_with_next};
    default:
      return std::nullopt;
  }
}

/// Appends the row to `actions` and, from the first communication of the file on, to `lowered`.
void append_row(const Source& source, const CsvRow& row, ScheduleTable& table) {
  std::vector<Action> actions;
  actions.reserve(row.actions.size());
  for (const LoweredAction& action : row.actions) {
    if (const auto compute = compute_action(action)) {
      actions.push_back(*compute);
    }
  }
  const std::size_t rank = table.actions.size();
  if (actions.empty()) {
    fail({source.file(), row.line, 1}, fmt::format("Rank {} computes nothing.", rank), "",
         "one line for each pipeline rank, each with a compute action (F, B, I or W)");
  }
  const bool has_communication = actions.size() < row.actions.size();
  if (has_communication && table.lowered.empty()) {
    for (const std::vector<Action>& earlier : table.actions) {
      std::vector<LoweredAction>& copy = table.lowered.emplace_back();
      std::transform(earlier.begin(), earlier.end(), std::back_inserter(copy), lowered);
    }
  }
  if (has_communication || !table.lowered.empty()) {
    table.lowered.push_back(row.actions);
  }
  actions.shrink_to_fit();
  table.actions.push_back(std::move(actions));
}

/// Fills `actions` and `lowered`.
ScheduleTable read_rows(const Source& source) {
  ScheduleTable table;
  CsvReader reader = source.reader();
  CsvRow row;
  CsvRow blank;  // the first of the blank lines since the last row
  while (reader.next(row)) {
    if (!row.has_cells) {
      blank.line = blank.line == 0 ? row.line : blank.line;
      continue;
    }
    if (blank.line != 0) {
      fail({source.file(), blank.line, 1}, fmt::format("Rank {} computes nothing: the line is empty.", blank.line - 1),
           "", "one line for each pipeline rank; empty lines only at the end");
    }
    if (table.actions.size() == kMostRanks) {
      fail({source.file(), row.line, 1}, "There are too many pipeline ranks.", fmt::format("more than {}", kMostRanks),
           fmt::format("at most {}", kMostRanks));
    }
    append_row(source, row, table);
  }
  if (table.actions.empty()) {
    fail({source.file(), 0, 0}, "The file holds no action.", "", "one line for each pipeline rank");
  }
  return table;
}

/// Calls `visit(action, place)` for every compute action of the table.
template <class Visit>
void for_each_action(const ScheduleTable& table, const Visit& visit) {
  for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
    for (std::size_t position = 0; position < table.actions[rank].size(); ++position) {
      visit(table.actions[rank][position], TablePlace{rank, position, false});
    }
  }
}

/// Number of stages; they must be 0, 1, ... without a gap.
std::size_t count_stages(const Source& source, const ScheduleTable& table) {
  std::size_t actions = 0;
  std::size_t stages = 0;
  for_each_action(table, [&](const Action& action, const TablePlace&) {
    ++actions;
    stages = std::max(stages, static_cast<std::size_t>(action.stage) + 1);
  });
  std::vector<bool> is_computed(std::min(stages, actions), false);  // hostile numbers cost no memory
  for_each_action(table, [&](const Action& action, const TablePlace&) {
    if (static_cast<std::size_t>(action.stage) < is_computed.size()) {
      is_computed[static_cast<std::size_t>(action.stage)] = true;
    }
  });
  const auto gap =
      static_cast<std::size_t>(std::find(is_computed.begin(), is_computed.end(), false) - is_computed.begin());
  if (gap == stages) {
    return stages;
  }
  for_each_action(table, [&](const Action& action, const TablePlace& place) {
    if (static_cast<std::size_t>(action.stage) > gap) {
      source.fail_at(place, fmt::format("Stage {} is computed here and stage {} nowhere.", action.stage, gap),
                     "stages numbered 0, 1, 2, ... without a gap");
    }
  });
  throw error::InternalError("a gap between stages without a stage after it");
}

/// Chains the stages to each other and gives each to the rank that computes it first.
void place_stages(const Source& source, int model_copies, ScheduleTable& table) {
  const std::size_t stages = count_stages(source, table);
  const auto copies = static_cast<std::size_t>(model_copies);
  if (stages % copies != 0) {
    fail({source.file(), 0, 0}, fmt::format("{} stages do not divide into {} copies of the model.", stages, copies), "",
         "as many stages in the first half of the numbers as in the second");
  }
  const std::size_t chunks = stages / copies;
  table.model_chunks = static_cast<int>(chunks);
  table.stages.assign(stages, Stage{.rank = -1});
  int micro_batches = 0;
  for_each_action(table, [&](const Action& action, const TablePlace& place) {
    Stage& stage = table.stages[static_cast<std::size_t>(action.stage)];
    stage.rank = stage.rank < 0 ? static_cast<int>(place.rank) : stage.rank;
    micro_batches = std::max(micro_batches, action.micro_batch + 1);
  });
  table.micro_batches = micro_batches * model_copies;
  for (std::size_t i = 0; i < stages; ++i) {
    const std::size_t chunk = i % chunks;
    Stage& stage = table.stages[i];
    stage.model_chunk = static_cast<int>(chunk);
    stage.previous = chunk == 0 ? -1 : static_cast<int>(i) - 1;
    stage.next = chunk + 1 == chunks ? -1 : static_cast<int>(i) + 1;
  }
}

/// Whether the second half of the stages runs the other way through the ranks than the first.
bool runs_opposite(const std::vector<Stage>& stages) {
  const std::size_t chunks = stages.size() / 2;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    if (stages[chunks + chunk].rank != stages[chunks - 1 - chunk].rank) {
      return false;
    }
  }
  return stages.size() % 2 == 0;
}

void check_copies(const Source& source, const std::vector<Stage>& stages) {
  if (!runs_opposite(stages)) {
    fail({source.file(), 0, 0}, "The two halves of the stages do not run opposite ways through the ranks.", "",
         fmt::format("with model_copies 2, stage {0} + k on the rank of stage {0} - 1 - k", stages.size() / 2));
  }
}

/// Several stages on each rank, dealt round robin.
bool is_round_robin(const ScheduleTable& table) {
  const std::size_t ranks = table.actions.size();
  for (std::size_t stage = 0; stage < table.stages.size(); ++stage) {
    if (static_cast<std::size_t>(table.stages[stage].rank) != stage % ranks) {
      return false;
    }
  }
  return table.stages.size() > ranks;
}

bool has_type(const ScheduleTable& table, ActionType type) {
  return std::any_of(table.actions.begin(), table.actions.end(), [type](const std::vector<Action>& row) {
    return std::any_of(row.begin(), row.end(), [type](const Action& action) { return action.type == type; });
  });
}

/// What may be meant when the table as read has a fault.
std::string advice(const Source& source, const ScheduleTable& table, int model_copies, const std::string& fault) {
  if (has_type(table, ActionType::kWeightGradient) && !has_type(table, ActionType::kInputGradient)) {
    return "W with I, the input gradient; older PyTorch versions wrote it as B (and B as BW)";
  }
  if (is_round_robin(table) && fault.starts_with("The rows deadlock")) {
    return "interleaved schedules need groups of at least as many micro-batches as there are ranks";
  }
  if (model_copies == 1 && runs_opposite(table.stages)) {
    ScheduleTable two = table;
    place_stages(source, 2, two);
    if (!find_fault(two)) {
      return "if these are two copies of the model that run opposite ways (DualPipe): model_copies: 2";
    }
  }
  return "";
}

void check(const Source& source, const ScheduleTable& table, int model_copies) {
  if (auto fault = find_fault(table)) {
    const std::string hint = advice(source, table, model_copies, fault->text);
    source.fail_at({static_cast<std::size_t>(fault->rank), fault->position, false}, std::move(fault->text), hint);
  }
  if (table.lowered.empty()) {
    return;
  }
  if (auto fault = find_lowered_fault(table)) {
    source.fail_at({static_cast<std::size_t>(fault->rank), fault->position, true}, std::move(fault->text), "");
  }
}

std::string read_file(const std::filesystem::path& file) {
  std::error_code status;
  const std::filesystem::file_status found = std::filesystem::status(file, status);
  if (found.type() == std::filesystem::file_type::not_found) {
    fail({file.string(), 0, 0}, "There is no such file.", "", "");
  }
  if (std::filesystem::is_directory(found)) {
    fail({file.string(), 0, 0}, "This is a folder, not a file.", "", "a file");
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"), &std::fclose);
  if (!stream) {
    throw error::EnvironmentError(fmt::format("{}: cannot be opened: {}", file.string(), std::strerror(errno)));
  }
  std::string content;
  std::vector<char> block(std::size_t{1} << 16);
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), stream.get())) {
    content.append(block.data(), count);
    if (content.size() > kMostBytes) {
      fail({file.string(), 0, 0}, "The file is too large.", fmt::format("more than {} bytes", kMostBytes),
           fmt::format("at most {} bytes", kMostBytes));
    }
  }
  if (std::ferror(stream.get()) != 0) {
    throw error::EnvironmentError(fmt::format("{}: cannot be read: {}", file.string(), std::strerror(errno)));
  }
  return content;
}

}  // namespace

ScheduleTable read_pytorch_csv(std::string_view text, const std::string& file, int model_copies) {
  if (model_copies != 1 && model_copies != 2) {
    throw error::InternalError(fmt::format("a schedule with {} copies of the model", model_copies));
  }
  const Source source(text, file);
  ScheduleTable table = read_rows(source);
  place_stages(source, model_copies, table);
  if (model_copies == 2) {
    check_copies(source, table.stages);
  }
  check(source, table, model_copies);
  return table;
}

ScheduleTable load_pytorch_csv(const std::filesystem::path& file, int model_copies) {
  return read_pytorch_csv(read_file(file), file.string(), model_copies);
}

}  // namespace lamina::schedule_tables
