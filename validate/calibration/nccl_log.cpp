#include "validate/calibration/nccl_log.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/report/text.hpp"
#include "sim/scenario/fault.hpp"

namespace lamina::validate::calibration {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::size_t kShownColumns = 60;
constexpr double kLargestSize = 1e18;  ///< bytes
constexpr double kLongestTime = 1e12;  ///< microseconds

constexpr std::array<std::string_view, 24> kTypes = {
    "int8",     "char",     "uint8",  "int32",  "int",      "uint32",     "int64",      "uint64",
    "half",     "float16",  "float",  "double", "float32",  "float64",    "bfloat16",   "bf16",
    "fp8_e4m3", "fp8_e5m2", "f8e4m3", "f8e5m2", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2fnuz", "fp8"};

struct Token {
  std::string_view text;
  int column = 0;  ///< from 1
};

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_type(std::string_view text) {
  return std::find(kTypes.begin(), kTypes.end(), text) != kTypes.end();
}

/// A word such as "sum" or "none"; "N/A", "nan" and "inf" are no reductions.
bool is_word(std::string_view text) {
  const bool letters =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return letters && text != "nan" && text != "inf";
}

std::vector<Token> split(std::string_view line, std::size_t from) {
  std::vector<Token> tokens;
  std::size_t start = line.find_first_not_of(kBlanks, from);
  while (start != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, start), line.size());
    tokens.push_back({line.substr(start, end - start), static_cast<int>(start) + 1});
    start = line.find_first_not_of(kBlanks, end);
  }
  return tokens;
}

/// What follows `mark` up to a blank; "" when it does not occur.
std::string_view word_after(std::string_view line, std::string_view mark) {
  const std::size_t found = line.find(mark);
  if (found == std::string_view::npos) {
    return {};
  }
  const std::size_t start = std::min(line.find_first_not_of(kBlanks, found + mark.size()), line.size());
  return line.substr(start, line.find_first_of(kBlanks, start) - start);
}

/// The collectives of all programs named in a line.
std::set<Collective> programs_in(std::string_view line) {
  constexpr std::string_view kEnding = "_perf";
  std::set<Collective> found;
  for (std::size_t at = line.find(kEnding); at != std::string_view::npos; at = line.find(kEnding, at + 1)) {
    std::size_t start = at;
    while (start > 0 && (line[start - 1] == '_' || (line[start - 1] >= 'a' && line[start - 1] <= 'z'))) {
      --start;
    }
    if (const auto collective = collective_of(line.substr(start, at - start))) {
      found.insert(*collective);
    }
  }
  return found;
}

/// What the header of one run says.
struct Run {
  std::set<int> ranks;  ///< of group 0
  std::set<std::string, std::less<>> hosts;
  std::set<std::string, std::less<>> devices;
  int groups = 0;
};

class LogReader {
 public:
  LogReader(std::string_view text, std::string file, std::optional<Collective> collective)
      : text_(text), file_(std::move(file)), collective_(collective) {}

  [[nodiscard]] std::vector<TransferSet> read();

 private:
  [[nodiscard]] bool next_line();
  void read_line();
  void read_comment(std::string_view line);
  void read_rank(const std::vector<Token>& tokens);
  void note_program(std::string_view line);
  void read_row(std::vector<Token> tokens);
  void add_row(const Token& size, const std::vector<Token>& numbers);
  [[nodiscard]] double time_of(const Token& token) const;
  [[nodiscard]] double number_of(const Token& token, double most, const char* allowed) const;
  [[nodiscard]] TransferSet& current_set();
  void finish();
  [[noreturn]] void refuse(int column, std::string problem, std::string_view read, std::string allowed) const;

  std::string_view text_;
  std::string file_;
  std::optional<Collective> collective_;
  std::string_view line_;
  int number_ = 0;
  bool in_table_ = false;
  Run run_;
  std::string tests_version_;
  std::string library_version_;
  std::string date_;
  std::vector<TransferSet> sets_;
  TransferSet* current_ = nullptr;
  std::vector<std::vector<double>> factors_of_;  ///< [set] bus bandwidth / algorithm bandwidth of its rows
  std::vector<int> wrong_rows_;                  ///< [set]
  std::vector<int> wrong_line_;                  ///< [set] the first
};

std::vector<TransferSet> LogReader::read() {
  while (next_line()) {
    read_line();
  }
  finish();
  return std::move(sets_);
}

bool LogReader::next_line() {
  if (text_.empty()) {
    return false;
  }
  const std::size_t end = text_.find('\n');
  line_ = text_.substr(0, end);
  text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
  if (line_.ends_with('\r')) {
    line_.remove_suffix(1);
  }
  ++number_;
  return true;
}

void LogReader::read_line() {
  std::size_t start = 0;
  constexpr std::string_view kTag = "<stdout>:";  // mpirun --tag-output
  if (line_.starts_with('[')) {
    const std::size_t tag = line_.find(kTag);
    start = tag == std::string_view::npos ? 0 : tag + kTag.size();
  }
  start = line_.find_first_not_of(kBlanks, start);
  if (start == std::string_view::npos) {
    return;
  }
  if (line_[start] == '#') {
    read_comment(line_.substr(start));
    return;
  }
  if (line_[start] < '0' || line_[start] > '9') {
    note_program(line_);
    if (const std::string_view version = word_after(line_, "CCL version "); !version.empty()) {
      library_version_ = version;
    }
    return;
  }
  std::vector<Token> tokens = split(line_, start);
  const bool counts = tokens.size() >= 2 && is_digits(tokens[0].text) && is_digits(tokens[1].text);
  if (counts && (in_table_ || (tokens.size() > 2 && is_type(tokens[2].text)))) {
    read_row(std::move(tokens));
  } else if (in_table_ && tokens.size() == 1 && is_digits(tokens[0].text)) {
    read_row(std::move(tokens));
  }
}

void LogReader::read_comment(std::string_view line) {
  const std::vector<Token> tokens =
      split(line, line.find_first_not_of('#') == std::string_view::npos ? line.size() : 1);
  if (tokens.empty()) {
    return;
  }
  if (tokens.front().text == "Rank") {
    read_rank(tokens);
  } else if (tokens.front().text == "nThread") {
    run_ = {};
    current_ = nullptr;
    in_table_ = false;
  } else if (line.find("algbw") != std::string_view::npos) {
    in_table_ = true;
    current_ = nullptr;
  } else if (line.find("Out of bounds") != std::string_view::npos || line.find("Avg bus") != std::string_view::npos) {
    in_table_ = false;
  } else if (const std::string_view version = word_after(line, "-tests version "); !version.empty()) {
    tests_version_ = version;
    if (const std::string_view library = word_after(line, "nccl-library="); !library.empty()) {
      library_version_ = library;
    }
  }
  note_program(line);
}

/// "Rank 3 [Group 0] Pid 1 on HOST device 3 [0x8d] NAME OF GPU"
void LogReader::read_rank(const std::vector<Token>& tokens) {
  const auto after = [&](std::string_view word) -> std::string_view {
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      if (tokens[i].text == word) {
        return tokens[i + 1].text;
      }
    }
    return {};
  };
  const std::string_view rank = after("Rank");
  const std::string_view group = after("Group");
  if (!is_digits(rank) || rank.size() > 9) {
    return;
  }
  run_.hosts.emplace(after("on"));
  const auto bus =
      std::find_if(tokens.begin(), tokens.end(), [](const Token& token) { return token.text.starts_with('['); });
  if (bus != tokens.end() && bus + 1 != tokens.end()) {
    run_.devices.emplace(line_.substr(line_.find((bus + 1)->text, line_.find(bus->text))));
  }
  if (!group.empty() && group != "0") {
    run_.groups = std::max(run_.groups, is_digits(group) && group.size() < 9 ? std::stoi(std::string(group)) + 1 : 2);
    return;
  }
  if (!run_.ranks.insert(std::stoi(std::string(rank))).second) {
    refuse(1, "A rank is listed twice: every process ran alone, since the tests were built without MPI.",
           fmt::format("rank {}", rank), "every rank once");
  }
}

void LogReader::note_program(std::string_view line) {
  const std::set<Collective> programs = programs_in(line);
  if (programs.size() == 1 && collective_ != *programs.begin()) {
    collective_ = *programs.begin();
    current_ = nullptr;
  }
}

void LogReader::read_row(std::vector<Token> tokens) {
  constexpr const char* kRow = "size, count, type, redop and root, then time, algbw, busbw and #wrong once or twice";
  const int end = static_cast<int>(line_.size()) + 1;
  if (tokens.size() < 4 || !is_type(tokens[2].text)) {
    refuse(tokens.size() > 2 ? tokens[2].column : end, "The row is cut short, or a column is unknown.", line_, kRow);
  }
  const auto is_date = [](std::string_view text) { return text.size() == 10 && text[4] == '-' && text[7] == '-'; };
  if (tokens.size() > 2 && is_date(tokens[tokens.size() - 2].text)) {
    date_ = tokens[tokens.size() - 2].text;
    tokens.resize(tokens.size() - 2);
  }
  std::size_t first = 3;
  first += is_word(tokens[3].text) ? 1 : 0;
  std::vector<Token> numbers(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.end());
  if (numbers.size() == 9 || numbers.size() == 5) {
    numbers.erase(numbers.begin());  // the root
  }
  if (numbers.size() != 8 && numbers.size() != 4) {
    refuse(end, "The row is cut short, or a column is unknown.", line_, kRow);
  }
  add_row(tokens[0], numbers);
}

void LogReader::add_row(const Token& size, const std::vector<Token>& numbers) {
  constexpr const char* kRate = "a bandwidth of at least 0 GB/s";
  Transfer transfer;
  transfer.bytes = number_of(size, kLargestSize, "a size in bytes");
  TransferSet& set = current_set();
  const auto index = static_cast<std::size_t>(&set - sets_.data());
  if (transfer.bytes == 0) {
    leave_out(set.left_out, "no bytes", 1);
    return;
  }
  transfer.seconds = time_of(numbers[0]);
  transfer.in_place_seconds = numbers.size() == 8 ? time_of(numbers[4]) : kUnknown;
  for (std::size_t at = 0; at < numbers.size(); at += 4) {
    const bool measured = numbers[at].text != "N/A";
    const double algorithm = measured ? number_of(numbers[at + 1], 1e9, kRate) : 0;
    const double bus = measured ? number_of(numbers[at + 2], 1e9, kRate) : 0;
    if (algorithm >= 1 && bus > 0) {
      factors_of_[index].push_back(bus / algorithm);
    }
    if (is_digits(numbers[at + 3].text) && numbers[at + 3].text.find_first_not_of('0') != std::string_view::npos) {
      wrong_line_[index] = wrong_rows_[index] == 0 ? number_ : wrong_line_[index];
      ++wrong_rows_[index];
    }
  }
  if (std::isnan(transfer.seconds) && std::isnan(transfer.in_place_seconds)) {
    refuse(numbers[0].column, "The row has no time.", numbers[0].text, "a time in microseconds");
  }
  set.transfers.push_back(transfer);
}

double LogReader::time_of(const Token& token) const {
  if (token.text == "N/A") {
    return kUnknown;
  }
  const double microseconds = number_of(token, kLongestTime, "a time in microseconds, more than 0, or N/A");
  if (microseconds <= 0) {
    refuse(token.column, "A time must be more than zero.", token.text, "a time in microseconds, more than 0, or N/A");
  }
  return microseconds * 1e-6;
}

double LogReader::number_of(const Token& token, double most, const char* allowed) const {
  double value = 0;
  const auto [end, status] = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (status != std::errc() || end != token.text.data() + token.text.size() || !std::isfinite(value)) {
    refuse(token.column, "This is not a number.", token.text, allowed);
  }
  if (value < 0 || value > most) {
    refuse(token.column, "The number is out of range.", token.text, allowed);
  }
  return value;
}

TransferSet& LogReader::current_set() {
  if (current_ != nullptr) {
    return *current_;
  }
  if (!collective_) {
    refuse(1, "The log does not say which collective this is.", line_,
           "a line with the program's name before the rows (all_reduce_perf), or --collective");
  }
  const int ranks = static_cast<int>(run_.ranks.size());
  const int nodes = static_cast<int>(run_.hosts.size());
  const auto same = [&](const TransferSet& set) {
    return set.collective == *collective_ && set.ranks == ranks && set.nodes == nodes;
  };
  auto found = std::find_if(sets_.begin(), sets_.end(), same);
  if (found == sets_.end()) {
    TransferSet set;
    set.file = file_;
    set.line = number_;
    set.collective = *collective_;
    set.ranks = ranks;
    set.nodes = nodes;
    if (!run_.devices.empty()) {
      set.conditions.push_back({"hardware", fmt::format("{}", fmt::join(run_.devices, ", "))});
      set.labels.push_back({"device", fmt::format("{}", fmt::join(run_.devices, ", "))});
    }
    if (!run_.hosts.empty()) {
      set.conditions.push_back({"host", fmt::format("{}", fmt::join(run_.hosts, ", "))});
    }
    if (run_.groups > 1) {
      set.notes.push_back(fmt::format("{} groups of ranks ran at the same time; the times are of one.", run_.groups));
    }
    sets_.push_back(std::move(set));
    factors_of_.emplace_back();
    wrong_rows_.push_back(0);
    wrong_line_.push_back(0);
    found = sets_.end() - 1;
  }
  current_ = &*found;
  return *current_;
}

void LogReader::finish() {
  if (sets_.empty()) {
    scenario::fail({file_, 0, 0}, "",
                   {.problem = "The log has no row of measurements.",
                    .read = fmt::format("{} lines", number_),
                    .allowed = "what all_reduce_perf and its like print, or a table with named columns"});
  }
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    TransferSet& set = sets_[i];
    const double factor = median_of(factors_of_[i]);
    if (set.ranks == 0) {
      set.ranks = ranks_from_factor(set.collective, factor);
      if (set.ranks > 0) {
        set.notes.push_back(fmt::format("{} ranks: from the ratio of bus to algorithm bandwidth.", set.ranks));
      }
    } else if (set.ranks > 1 && std::abs(factor / bus_factor(set.collective, set.ranks) - 1) > 0.03) {
      set.notes.push_back(
          fmt::format("The log lists {} ranks, but its bus bandwidth is {:.3g} times the algorithm "
                      "bandwidth, not {:.3g}: is the collective right?",
                      set.ranks, factor, bus_factor(set.collective, set.ranks)));
    }
    if (wrong_rows_[i] > 0) {
      set.notes.push_back(
          fmt::format("#wrong is not 0 in {} measurements (first in line {}): the data were wrong, so "
                      "the times may be as well.",
                      wrong_rows_[i], wrong_line_[i]));
    }
    std::string software = tests_version_.empty() ? "" : fmt::format("tests {}", tests_version_);
    software +=
        library_version_.empty() ? "" : fmt::format("{}library {}", software.empty() ? "" : ", ", library_version_);
    if (!software.empty()) {
      set.conditions.push_back({"software", software});
    }
    if (!date_.empty()) {
      set.conditions.push_back({"date", date_});
    }
  }
}

void LogReader::refuse(int column, std::string problem, std::string_view read, std::string allowed) const {
  scenario::fail({file_, number_, column}, "",
                 {.problem = std::move(problem),
                  .read = fmt::format("\"{}\"", report::truncate(report::printable(read), kShownColumns)),
                  .allowed = std::move(allowed)});
}

}  // namespace

std::vector<TransferSet> read_nccl_log(std::string_view text, const std::string& file,
                                       std::optional<Collective> collective) {
  return LogReader(text, file, collective).read();
}

}  // namespace lamina::validate::calibration
