#include <algorithm>
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

constexpr std::size_t kLongestReason = 300;
constexpr std::size_t kMostFamilies = 3;
constexpr std::size_t kMostColumns = 2;

constexpr const char* kHead = R"(# Lamina against measured runs

Written by `lamina score --format markdown` ([score.md](score.md)); no number here is typed by hand.

Error is predicted / measured - 1: mean, median and largest are of its size, bias is the mean with its sign. Pairs in order: of
all pairs of rows, those of which Lamina says rightly which one is slower. Errors published by others are theirs, over the rows
that their source names.
)";

/// Text of a table's cell or of a paragraph, in one line.
std::string inline_text(const std::string& text) {
  std::string result;
  for (const char c : report::printable(text)) {
    if (c == '|' || c == '<' || c == '`') {
      result += '\\';
    }
    result += c;
  }
  return result;
}

std::string sentence(const std::string& text) {
  return inline_text(text) + (text.ends_with('.') ? "" : ".");
}

std::string plural(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string rows_text(const Score& score, const FigureScore& figure) {
  const std::int64_t others = score.count(Status::kOutside);
  return fmt::format("{} of {}", figure.errors.rows, static_cast<std::int64_t>(score.rows.size()) - others);
}

/// "8.4 %", and on how many rows where Lamina could not run all of them.
std::string without_text(const FigureScore& without, const FigureScore& with) {
  std::string text = report::percent(without.errors.mean_absolute);
  if (without.errors.rows != with.errors.rows) {
    text += fmt::format(" ({})", plural(without.errors.rows, "row"));
  }
  return text;
}

std::string peers_text(const scenario::Dataset& dataset) {
  std::vector<std::string> parts;
  for (const scenario::Peer& peer : dataset.peers) {
    parts.push_back(fmt::format("{} {}", inline_text(peer.name), report::percent(peer.mean_absolute_error)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// "optimizer x 20.3"
std::string factor_text(const FamilyFit& fit) {
  return fmt::format("{} x {}", fit.family ? sentence_for(*fit.family) : "the whole step",
                     report::three_digits(fit.factor));
}

/// The factor that helps most, and the error with it; of other figures than the step's time nothing.
std::string best_factor_text(const FigureScore& figure) {
  return figure.families.empty() ? ""
                                 : fmt::format("{}: {}", factor_text(figure.families.front()),
                                               report::percent(figure.families.front().mean_absolute));
}

std::string summary_row(const std::vector<Ablation>& ablations, const Score& score, std::size_t dataset,
                        std::size_t index) {
  const FigureScore& figure = score.figures[index];
  const Errors& errors = figure.errors;
  std::string text = fmt::format("| {} | `{}` | {} | {} | {} | {} | {} | {} | {} |", inline_text(score.dataset->name),
                                 figure.name, rows_text(score, figure), report::percent(errors.mean_absolute),
                                 report::percent(errors.median_absolute), report::percent(errors.largest_absolute),
                                 report::percent(errors.bias, true), report::percent(figure.all_pairs.share()),
                                 best_factor_text(figure));
  for (const Ablation& ablation : ablations) {
    text += fmt::format(" {} |", without_text(ablation.scores[dataset].figures[index], figure));
  }
  return text + fmt::format(" {} | {} | {} |\n", index == 0 ? peers_text(*score.dataset) : "",
                            index == 0 ? target_text(score) : "", inline_text(score.dataset->tuned));
}

std::string summary_table(const std::vector<Score>& scores, const std::vector<Ablation>& ablations) {
  std::string names;
  std::string rules;
  for (const Ablation& ablation : ablations) {
    names += fmt::format(" mean error with {} |", inline_text(ablation.change));
    rules += " ---: |";
  }
  std::string text = fmt::format(
      "\n| data set | figure | rows | mean error | median | largest | bias | pairs in order | one factor that would "
      "help most |{} published by others | "
      "target | tuned on these rows |\n"
      "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |{} --- | --- | --- |\n",
      names, rules);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t figure = 0; figure < scores[i].figures.size(); ++figure) {
      text += summary_row(ablations, scores[i], i, figure);
    }
  }
  return text;
}

/// "- 15 rows incomplete: The network between the H100 nodes is not stated."
std::string left_out(const Score& score) {
  std::map<std::pair<Status, std::string>, int> counts;
  for (const ScoredRow& row : score.rows) {
    if (row.status != Status::kScored) {
      ++counts[{row.status, row.status == Status::kOutside ? "" : row.reason}];
    }
  }
  std::string text;
  for (const auto& [key, count] : counts) {
    text += fmt::format("- {} {}{}{}\n", plural(count, "row"), word_for(key.first), key.second.empty() ? "" : ": ",
                        inline_text(report::truncate(key.second, kLongestReason)));
  }
  if (score.does_not_fit > 0) {
    text += fmt::format("- {} of the scored rows would not fit into memory by Lamina's count\n", score.does_not_fit);
  }
  return text;
}

std::string explanation(const FigureScore& figure) {
  std::string text;
  if (!figure.families.empty()) {
    text += "- One factor on one part of the step that would help most:\n";
    for (std::size_t i = 0; i < std::min(kMostFamilies, figure.families.size()); ++i) {
      const FamilyFit& fit = figure.families[i];
      text += fmt::format("  - {} (now {} of the step): mean error {}\n", factor_text(fit), report::percent(fit.share),
                          report::percent(fit.mean_absolute));
    }
  }
  for (const NamedColumn& named : leading_columns(figure, kMostColumns)) {
    std::vector<std::string> parts;
    for (const ErrorGroup& group : named.column->groups) {
      parts.push_back(fmt::format("{}: {}", inline_text(group.label), report::percent(group.median_signed, true)));
    }
    text += fmt::format("- Median error by {}, which explains {} of the spread: {}\n", named.names,
                        report::percent(named.column->explained), fmt::join(parts, "; "));
  }
  return text;
}

std::string worst_rows(const Score& score, const FigureScore& figure, std::size_t index, std::size_t most) {
  if (most == 0 || figure.worst.empty()) {
    return "";
  }
  std::string text = fmt::format(
      "\n| worst rows by `{}`: line | error | predicted | measured | columns |\n| ---: | ---: | ---: | ---: | --- |\n",
      figure.name);
  const std::vector<std::size_t> columns = varying_columns(score);
  for (std::size_t i = 0; i < std::min(most, figure.worst.size()); ++i) {
    const ScoredRow& row = score.rows[static_cast<std::size_t>(figure.worst[i])];
    text += fmt::format("| {} | {} | {} | {} | {} |\n", row.line, report::percent(row.error(index), true),
                        report::three_digits(row.predicted[index]), report::three_digits(row.measured[index]),
                        inline_text(cells_text(score, row, columns)));
  }
  return text;
}

std::string published_and_known(const scenario::Dataset& dataset) {
  std::string text;
  for (const scenario::Peer& peer : dataset.peers) {
    text += fmt::format("- {} published {}: {}\n", inline_text(peer.name), report::percent(peer.mean_absolute_error),
                        inline_text(peer.source));
  }
  text += dataset.causes.empty() ? "- Known causes of the remaining error: none known\n"
                                 : "- Known causes of the remaining error:\n";
  for (const std::string& cause : dataset.causes) {
    text += fmt::format("  - {}\n", sentence(cause));
  }
  return text;
}

std::string chapter(const Score& score, std::size_t most) {
  const scenario::Dataset& dataset = *score.dataset;
  std::string text = fmt::format("\n## {}\n\n", inline_text(dataset.name));
  if (!dataset.summary.empty()) {
    text += sentence(dataset.summary) + "\n";
  }
  text += fmt::format("Source: {}\n\n", sentence(dataset.source));
  text += fmt::format("- {} scored{}\n", plural(score.count(Status::kScored), "row"),
                      dataset.data.empty() ? "" : fmt::format(", of `{}`", report::printable(dataset.data)));
  text += left_out(score);
  const FigureScore& first = score.figures.front();
  if (!dataset.order_within.empty() && first.pairs_within.pairs > 0) {
    text += fmt::format("- {} of {} in order among rows of equal {}\n", report::percent(first.pairs_within.share()),
                        plural(first.pairs_within.pairs, "pair"), fmt::join(dataset.order_within, ", "));
  }
  text += explanation(first) + published_and_known(dataset);
  for (std::size_t i = 0; i < score.figures.size(); ++i) {
    text += worst_rows(score, score.figures[i], i, most);
  }
  return text;
}

}  // namespace

std::string to_markdown(const std::vector<Score>& scores, const std::vector<Ablation>& ablations, std::size_t most) {
  std::string text = kHead + summary_table(scores, ablations);
  for (const Score& score : scores) {
    text += chapter(score, most);
  }
  return text;
}

}  // namespace lamina::score
