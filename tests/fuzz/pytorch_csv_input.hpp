#pragma once

#include <string>
#include <string_view>

#include "schedules/schedule.hpp"
#include "sim/error/error.hpp"
#include "sim/schedule_tables/lowered_table.hpp"
#include "sim/schedule_tables/pytorch_csv.hpp"

/// What must hold for any bytes given to the reader of PyTorch's pipeline CSV. Used by the fuzzer, and by a unit test
/// on the inputs that the fuzzer found interesting.
namespace lamina::fuzz {

inline bool are_same_actions(const schedules::ScheduleTable& a, const schedules::ScheduleTable& b) {
  return a.model_chunks == b.model_chunks && a.micro_batches == b.micro_batches && a.actions == b.actions;
}

/// A table that was read: what must hold of its written forms.
inline std::string broken_promise(const schedules::ScheduleTable& table, int model_copies) {
  using schedule_tables::read_pytorch_csv;
  using schedule_tables::to_pytorch_csv;
  const std::string text = to_pytorch_csv(table);
  const schedules::ScheduleTable again = read_pytorch_csv(text, "again.csv", model_copies);
  if (!are_same_actions(again, table) || !again.lowered.empty() || to_pytorch_csv(again) != text) {
    return "the compute-only form reads back as another table";
  }
  const bool has_own = !table.lowered.empty();
  const schedules::LoweredRows rows = has_own ? table.lowered : schedule_tables::lowered_rows(table);
  const schedules::ScheduleTable lowered = read_pytorch_csv(to_pytorch_csv(rows), "lowered.csv", model_copies);
  if (!are_same_actions(lowered, table) || lowered.lowered != rows) {
    return has_own ? "the lowered form reads back as another table"
                   : "what PyTorch's passes add reads back differently";
  }
  return "";
}

/// "" when the reader accepts `text` and its written form reads back the same, or refuses it with a ScenarioError in
/// the text; else what is wrong. Any other exception is let through.
inline std::string broken_promise(std::string_view text, int model_copies) {
  schedules::ScheduleTable table;
  try {
    table = schedule_tables::read_pytorch_csv(text, "input.csv", model_copies);
  } catch (const error::ScenarioError& refused) {
    const error::Location& place = refused.fault().location;
    const bool is_in_text = place.line >= 0 && place.column >= 0 &&
                            static_cast<std::size_t>(place.line) <= text.size() + 1 &&
                            static_cast<std::size_t>(place.column) <= text.size() + 1;
    return !is_in_text || place.file != "input.csv" || refused.fault().problem.empty()
               ? "a refusal without place or reason"
               : "";
  }
  try {
    return broken_promise(table, model_copies);
  } catch (const error::ScenarioError& refused) {
    return "what was written is refused: " + std::string(refused.what());
  }
}

}  // namespace lamina::fuzz
