#include <charconv>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/schedule_tables/lowered_table.hpp"
#include "sim/schedule_tables/pytorch_csv.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::Action;
using schedules::LoweredAction;

void append(std::string& text, int number) {
  char digits[std::numeric_limits<int>::digits10 + 2];
  text.append(static_cast<char*>(digits), std::to_chars(std::begin(digits), std::end(digits), number).ptr);
}

void append(std::string& text, const LoweredAction& action) {
  append(text, action.stage);
  text += name_of(action.type);
  if (action.micro_batch >= 0) {
    append(text, action.micro_batch);
  }
}

void append(std::string& text, const Action& action) {
  append(text, lowered(action));
}

template <class AnyAction>
void append_row(std::string& text, const std::vector<AnyAction>& row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    text += i == 0 ? "" : ",";
    if (!row[i].paired_with_next) {
      append(text, row[i]);
      continue;
    }
    if (i + 1 == row.size() || row[i + 1].paired_with_next) {
      throw error::InternalError(
          fmt::format("stage {}, micro-batch {} is half of a pair that is not one of two actions", row[i].stage,
                      row[i].micro_batch));
    }
    text += '(';
    append(text, row[i]);
    text += ';';
    append(text, row[++i]);
    text += ")OVERLAP_F_B";
  }
  text += '\n';
}

}  // namespace

std::string to_pytorch_csv(const schedules::ScheduleTable& table) {
  std::string text;
  for (const std::vector<Action>& row : table.actions) {
    append_row(text, row);
  }
  return text;
}

std::string to_pytorch_csv(const schedules::LoweredRows& rows) {
  std::string text;
  for (const std::vector<LoweredAction>& row : rows) {
    append_row(text, row);
  }
  return text;
}

}  // namespace lamina::schedule_tables
