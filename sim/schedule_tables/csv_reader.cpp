#include "sim/schedule_tables/csv_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/catalog/catalog.hpp"
#include "sim/schedule_tables/lowered_table.hpp"

namespace lamina::schedule_tables {
namespace {

using schedules::LoweredAction;
using schedules::LoweredType;

constexpr std::string_view kPairType = "OVERLAP_F_B";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kLargestColumn = 2'000'000'000;
constexpr const char* kActionForm = "<stage><type><micro-batch>, for example 0F3 or 2UNSHARD";

constexpr std::array kTypes = {
    LoweredType::kForward,         LoweredType::kBackward,       LoweredType::kInputGradient,
    LoweredType::kWeightGradient,  LoweredType::kUnshard,        LoweredType::kReshard,
    LoweredType::kReduceGradients, LoweredType::kSendForward,    LoweredType::kReceiveForward,
    LoweredType::kSendBackward,    LoweredType::kReceiveBackward};

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const LoweredType type : kTypes) {
    names.emplace_back(name_of(type));
  }
  return names;
}

bool takes_micro_batch(LoweredType type) {
  return type != LoweredType::kUnshard && type != LoweredType::kReshard && type != LoweredType::kReduceGradients;
}

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

bool is_word(char character) {
  return (character >= 'A' && character <= 'Z') || (character >= 'a' && character <= 'z') || character == '_';
}

bool is_printable(char character) {
  return character >= 0x20 && character < 0x7F;
}

bool is_pair(LoweredType first, LoweredType second) {
  const auto is_backward = [](LoweredType type) {
    return type == LoweredType::kBackward || type == LoweredType::kInputGradient;
  };
  return (first == LoweredType::kForward && is_backward(second)) ||
         (is_backward(first) && second == LoweredType::kForward);
}

std::string upper_case(std::string_view word) {
  std::string result(word);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char letter) { return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter; });
  return result;
}

}  // namespace

CsvReader::CsvReader(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {
  if (text_.starts_with(kByteOrderMark)) {
    text_.remove_prefix(kByteOrderMark.size());
  }
}

bool CsvReader::next(CsvRow& row, std::vector<CsvPlace>* places) {
  row.actions.clear();
  row.has_cells = false;
  if (places != nullptr) {
    places->clear();
  }
  if (at_end()) {
    return false;
  }
  start_of_line_ = at_;
  row.line = ++line_;
  while (true) {
    read_cell(row, places);
    if (at_end_of_line()) {
      break;
    }
    row.has_cells = true;
    ++at_;  // the comma
  }
  row.has_cells = row.has_cells || !row.actions.empty();
  end_line();
  return true;
}

void CsvReader::end_line() {
  end_of_line_ = at_;
  if (peek() == '\r') {
    ++at_;
    if (!at_end() && peek() != '\n') {
      fail(at_ - 1, "There is a carriage return without a line feed.", "lines that end in LF or in CR LF");
    }
  }
  if (!at_end()) {
    ++at_;
  }
}

void CsvReader::read_cell(CsvRow& row, std::vector<CsvPlace>* places) {
  skip_spaces();
  start_of_cell_ = at_;
  const bool quoted = peek() == '"';
  if (quoted) {
    row.has_cells = true;
    ++at_;
    skip_spaces();
  }
  if (is_digit(peek())) {
    const std::size_t begin = at_;
    row.actions.push_back(read_action());
    if (places != nullptr) {
      places->push_back({begin, at_});
    }
  } else if (peek() == '(') {
    read_pair(row, places);
  } else if (!at_end_of_line() && peek() != ',' && !(quoted && peek() == '"')) {
    fail_at_start_of_cell();
  }
  expect_end_of_cell(quoted);
}

void CsvReader::expect_end_of_cell(bool quoted) {
  skip_spaces();
  if (quoted) {
    if (peek() != '"') {
      fail(at_, "The quoted cell does not end after its action.", "a double quote");
    }
    ++at_;
    skip_spaces();
  }
  if (!at_end_of_line() && peek() != ',') {
    fail(at_, "There is more text after the action.", "a comma or the end of the line");
  }
}

void CsvReader::read_pair(CsvRow& row, std::vector<CsvPlace>* places) {
  constexpr const char* kForm = "(<action>;<action>)OVERLAP_F_B, for example (0F3;1B2)OVERLAP_F_B";
  std::array<LoweredAction, 2> halves;
  std::array<CsvPlace, 2> half_places;
  for (std::size_t half = 0; half < 2; ++half) {
    ++at_;  // the bracket or the semicolon
    skip_spaces();
    half_places[half].begin = at_;
    halves[half] = read_action();
    half_places[half].end = at_;
    skip_spaces();
    if (at_end() || peek() != (half == 0 ? ';' : ')')) {
      fail(at_, half == 0 ? "A pair has a semicolon after its first action." : "The pair is not closed.", kForm);
    }
  }
  ++at_;
  if (!text_.substr(at_).starts_with(kPairType)) {
    fail(at_, "A pair ends in OVERLAP_F_B.", kForm);
  }
  at_ += kPairType.size();
  if (!is_pair(halves[0].type, halves[1].type)) {
    fail(half_places[0].begin, fmt::format("{} and {} are no pair.", to_string(halves[0]), to_string(halves[1])),
         "one forward (F) and one backward (B or I)");
  }
  halves[0].paired_with_next = true;
  row.actions.insert(row.actions.end(), halves.begin(), halves.end());
  if (places != nullptr) {
    places->insert(places->end(), half_places.begin(), half_places.end());
  }
}

LoweredAction CsvReader::read_action() {
  LoweredAction action;
  if (!is_digit(peek())) {
    fail(at_, "An action starts with its stage number.", kActionForm);
  }
  action.stage = read_number("stage");
  action.type = read_type();
  if (!takes_micro_batch(action.type)) {
    if (is_digit(peek())) {
      fail(at_, fmt::format("{} has no micro-batch number.", name_of(action.type)),
           fmt::format("{}{}", action.stage, name_of(action.type)));
    }
    return action;
  }
  if (!is_digit(peek())) {
    fail(at_, fmt::format("The micro-batch number after {} is missing.", name_of(action.type)), kActionForm);
  }
  action.micro_batch = read_number("micro-batch");
  return action;
}

LoweredType CsvReader::read_type() {
  const std::size_t begin = at_;
  while (!at_end() && is_word(peek())) {
    ++at_;
  }
  const std::string_view word = text_.substr(begin, at_ - begin);
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](LoweredType type) { return name_of(type) == word; });
  if (found == kTypes.end()) {
    at_ = begin;
    fail_at_type(word);
  }
  return *found;
}

int CsvReader::read_number(const char* what) {
  const std::size_t begin = at_;
  int value = 0;
  for (; is_digit(peek()); ++at_) {
    value = value * 10 + (peek() - '0');
    if (value > kLargestNumber) {
      fail(begin, fmt::format("The {} number is too large.", what), fmt::format("0 to {}", kLargestNumber));
    }
  }
  return value;
}

void CsvReader::skip_spaces() {
  while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t')) {
    ++at_;
  }
}

char CsvReader::peek() const {
  return at_end() ? '\0' : text_[at_];
}

error::Location CsvReader::locate(std::size_t at) const {
  return {file_, line_, static_cast<int>(std::min<std::size_t>(at - start_of_line_, kLargestColumn)) + 1};
}

CsvPlace CsvReader::cell_place() const {
  const std::size_t end = text_.find_first_of(",\r\n", start_of_cell_);
  return {start_of_cell_, end == std::string_view::npos ? text_.size() : end};
}

std::string CsvReader::quote(CsvPlace place) const {
  constexpr std::size_t kMost = 60;
  const std::string_view whole = text_.substr(place.begin, place.end - place.begin);
  std::string result = "\"";
  for (const char character : whole.substr(0, kMost)) {
    result += is_printable(character) ? std::string(1, character)
                                      : fmt::format("\\x{:02X}", static_cast<unsigned char>(character));
  }
  return result + (whole.size() > kMost ? "...\"" : "\"");
}

void CsvReader::fail(std::size_t at, std::string problem, std::string allowed, std::string nearest) const {
  error::ScenarioFault fault;
  fault.location = locate(at);
  fault.problem = std::move(problem);
  fault.read = quote(cell_place());
  fault.allowed = std::move(allowed);
  fault.nearest = std::move(nearest);
  throw error::ScenarioError(std::move(fault));
}

void CsvReader::fail_at_start_of_cell() const {
  const char first = peek();
  if (at_ == 0 && (text_.starts_with("\xFF\xFE") || text_.starts_with("\xFE\xFF"))) {
    fail(at_, "The file is in UTF-16.", "the same file in ASCII or UTF-8");
  }
  if (!is_printable(first)) {
    fail(at_, fmt::format("This is not text: byte 0x{:02X}.", static_cast<unsigned char>(first)), kActionForm);
  }
  fail(at_, "A cell starts with the stage number of an action, or with the bracket of a pair.",
       fmt::format("{}; or (<action>;<action>)OVERLAP_F_B", kActionForm));
}

void CsvReader::fail_at_type(std::string_view word) const {
  const auto names = type_names();
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  if (word.empty()) {
    fail(at_, "The type of the action is missing after the stage number.", all);
  }
  if (word == "BW") {
    fail(at_, "BW is the whole backward in files of older PyTorch versions, whose B is the input gradient alone.",
         "today's names: B for the whole backward, I for the input gradient (rename every B to I, then BW to B)");
  }
  const CsvPlace place{at_, at_ + word.size()};
  fail(at_, fmt::format("There is no action type {}.", quote(place)), all,
       word.size() > kPairType.size() ? "" : catalog::nearest_name(upper_case(word), names));
}

}  // namespace lamina::schedule_tables
