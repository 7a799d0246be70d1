#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/report/format.hpp"
#include "sim/report/text.hpp"
#include "sim/score/cells.hpp"
#include "sim/score/writers.hpp"

namespace lamina::score {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kLongestReason = 300;

std::string cut(const std::string& line) {
  return report::truncate(line, kWidth) + "\n";
}

std::string plural(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", report::whole(static_cast<double>(count)), noun, count == 1 ? "" : "s");
}

/// "12 outside, 2 incomplete"
std::string left_out(const Score& score) {
  std::vector<std::string> parts;
  for (int i = 1; i < kStatuses; ++i) {
    const auto status = static_cast<Status>(i);
    if (score.count(status) > 0) {
      parts.push_back(fmt::format("{} {}", score.count(status), word_for(status)));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string head(const Score& score) {
  std::string text = cut(report::printable(score.dataset->name));
  const std::string others = left_out(score);
  text += cut(
      fmt::format("  {} scored{}{}", plural(score.count(Status::kScored), "row"), others.empty() ? "" : "; ", others));
  if (score.does_not_fit > 0) {
    text += cut(fmt::format("  {} of these would not fit into memory, says Lamina", score.does_not_fit));
  }
  return text;
}

std::string pairs_text(const Pairs& pairs) {
  return fmt::format("{} of {}", report::percent(pairs.share()), plural(pairs.pairs, "pair"));
}

std::string figure_text(const Score& score, const FigureScore& figure) {
  const Errors& errors = figure.errors;
  std::string text = cut(fmt::format("  {} ({})", figure.name, plural(errors.rows, "row")));
  if (errors.rows == 0) {
    return text;
  }
  text += cut(fmt::format("    error         mean {}, median {}, largest {}", report::percent(errors.mean_absolute),
                          report::percent(errors.median_absolute), report::percent(errors.largest_absolute)));
  text += cut(fmt::format("    signed        bias {}, median {}", report::percent(errors.bias, true),
                          report::percent(errors.median_signed, true)));
  text += cut(fmt::format("    in order      {}", pairs_text(figure.all_pairs)));
  if (&figure == &score.figures.front() && score.dataset->target) {
    text += cut("    target        " + target_text(score));
  }
  if (figure.pairs_within.pairs > 0 && !score.dataset->order_within.empty()) {
    text += cut(fmt::format("                  {} of equal {}", pairs_text(figure.pairs_within),
                            fmt::join(score.dataset->order_within, ", ")));
  }
  return text;
}

std::string families_text(const FigureScore& figure) {
  if (figure.families.empty()) {
    return "";
  }
  std::string text = "    if one family took so many times as long: share of the step, mean error\n";
  for (const FamilyFit& fit : figure.families) {
    text += cut(fmt::format("      {:<30} x {:<6} {:>7} {:>8}",
                            fit.family ? sentence_for(*fit.family) : "the whole step", report::three_digits(fit.factor),
                            report::percent(fit.share), report::percent(fit.mean_absolute)));
  }
  return text;
}

std::string column_text(const NamedColumn& named) {
  constexpr std::size_t kLabelWidth = 28;
  std::string text =
      cut(fmt::format("      {} ({} of the spread)", named.names, report::percent(named.column->explained)));
  for (const ErrorGroup& group : named.column->groups) {
    text +=
        cut(fmt::format("        {} {:>6} {:>9} {:>8}", report::pad_right(report::printable(group.label), kLabelWidth),
                        group.rows, report::percent(group.median_signed, true), report::percent(group.mean_absolute)));
  }
  return text;
}

/// The columns by whose values the errors differ most.
std::string columns_text(const FigureScore& figure) {
  constexpr std::size_t kMostColumns = 4;
  std::string text;
  for (const NamedColumn& named : leading_columns(figure, kMostColumns)) {
    text += column_text(named);
  }
  return text.empty() ? text : "    errors by column: rows, median signed, mean\n" + text;
}

std::string worst_rows(const Score& score, const FigureScore& figure, std::size_t index, std::size_t most) {
  if (most == 0 || figure.worst.empty()) {
    return "";
  }
  std::string text = "    worst rows: line, error, predicted, measured\n";
  const std::vector<std::size_t> columns = varying_columns(score);
  for (std::size_t i = 0; i < std::min(most, figure.worst.size()); ++i) {
    const ScoredRow& row = score.rows[static_cast<std::size_t>(figure.worst[i])];
    text += cut(fmt::format("    {:>5} {:>8} {:>9} {:>9}", row.line, report::percent(row.error(index), true),
                            report::three_digits(row.predicted[index]), report::three_digits(row.measured[index])));
    text += cut("          " + cells_text(score, row, columns));
  }
  return text;
}

/// Rows that are not scored, by reason; those outside are only counted.
std::string reasons(const Score& score) {
  std::map<std::pair<Status, std::string>, std::vector<int>> lines;
  for (const ScoredRow& row : score.rows) {
    if (row.status != Status::kScored && row.status != Status::kOutside) {
      lines[{row.status, row.reason}].push_back(row.line);
    }
  }
  std::string text;
  constexpr std::size_t kMostLines = 5;
  for (const auto& [key, where] : lines) {
    const std::size_t shown = std::min(where.size(), kMostLines);
    text += cut(fmt::format("  {}: {} (line{} {}{})", word_for(key.first),
                            plural(static_cast<std::int64_t>(where.size()), "row"), where.size() == 1 ? "" : "s",
                            fmt::join(where.begin(), where.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                            where.size() > shown ? ", ..." : ""));
    for (const std::string& line :
         report::wrap(report::truncate(report::printable(key.second), kLongestReason), kWidth - 4)) {
      text += "    " + line + "\n";
    }
  }
  return text;
}

}  // namespace

std::string to_console(const Score& score, std::size_t most) {
  std::string text = head(score);
  for (std::size_t i = 0; i < score.figures.size(); ++i) {
    text += figure_text(score, score.figures[i]);
    text += families_text(score.figures[i]);
    text += columns_text(score.figures[i]);
    text += worst_rows(score, score.figures[i], i, most);
  }
  return text + reasons(score);
}

}  // namespace lamina::score
