#include <algorithm>

#include "sim/report/csv_fields.hpp"
#include "sim/report/json_values.hpp"
#include "sim/score/writers.hpp"
#include "sim/units/parse.hpp"

namespace lamina::score {
namespace {

using report::Json;

Json cell_value(const std::string& cell) {
  if (cell.empty()) {
    return Json(nullptr);
  }
  const auto integer = units::parse_integer(cell);
  const auto number = units::parse_number(cell);
  return integer ? Json(*integer) : number ? Json(*number) : Json(cell);
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json by_family(const FamilySeconds& seconds) {
  Json result = Json::object();
  for (int i = 0; i < kFamilies; ++i) {
    result[std::string(word_for(static_cast<Family>(i)))] = report::number(seconds[static_cast<std::size_t>(i)]);
  }
  return result;
}

Json pairs_document(const Pairs& pairs) {
  return {{"pairs", pairs.pairs}, {"in_order", pairs.in_order}, {"share", report::number(pairs.share())}};
}

Json families_document(const std::vector<FamilyFit>& fits) {
  Json result = Json::array();
  for (const FamilyFit& fit : fits) {
    result.push_back({{"family", fit.family ? Json(word_for(*fit.family)) : Json("whole_step")},
                      {"share", report::number(fit.share)},
                      {"factor", report::number(fit.factor)},
                      {"mean_absolute_error", report::number(fit.mean_absolute)}});
  }
  return result;
}

Json columns_document(const std::vector<ColumnErrors>& columns) {
  Json result = Json::array();
  for (const ColumnErrors& column : columns) {
    Json groups = Json::array();
    for (const ErrorGroup& group : column.groups) {
      groups.push_back({{"values", group.label},
                        {"rows", group.rows},
                        {"median_error", report::number(group.median_signed)},
                        {"mean_absolute_error", report::number(group.mean_absolute)}});
    }
    result.push_back({{"column", column.column}, {"explained", report::number(column.explained)}, {"groups", groups}});
  }
  return result;
}

Json figure_document(const FigureScore& figure) {
  return {{"figure", figure.name},
          {"rows", figure.errors.rows},
          {"mean_absolute_error", report::number(figure.errors.mean_absolute)},
          {"median_absolute_error", report::number(figure.errors.median_absolute)},
          {"largest_absolute_error", report::number(figure.errors.largest_absolute)},
          {"bias", report::number(figure.errors.bias)},
          {"median_error", report::number(figure.errors.median_signed)},
          {"pairs", pairs_document(figure.all_pairs)},
          {"pairs_within", pairs_document(figure.pairs_within)},
          {"families", families_document(figure.families)},
          {"columns", columns_document(figure.columns)}};
}

Json row_document(const Score& score, const ScoredRow& row) {
  Json document = {{"line", row.line}, {"status", word_for(row.status)}, {"reason", text_or_null(row.reason)}};
  Json& cells = document["columns"] = Json::object();
  for (std::size_t i = 0; i < score.columns.size(); ++i) {
    cells[score.columns[i]] = cell_value(row.cells[i]);
  }
  Json& figures = document["figures"] = Json::object();
  for (std::size_t i = 0; i < score.figures.size(); ++i) {
    figures[score.figures[i].name] = {{"measured", report::number(row.measured[i])},
                                      {"predicted", report::number(row.predicted[i])},
                                      {"error", report::number(row.error(i))}};
  }
  const bool scored = row.status == Status::kScored;
  document["step_time_s"] = scored ? report::number(row.step_s) : Json(nullptr);
  document["families_s"] = scored ? by_family(row.families) : Json(nullptr);
  document["bubble_makespan_fraction"] = scored ? report::number(row.bubble_fraction) : Json(nullptr);
  document["does_not_fit"] = text_or_null(row.does_not_fit);
  return document;
}

Json score_document(const Score& score) {
  const scenario::Dataset& dataset = *score.dataset;
  Json document = {{"name", dataset.name},
                   {"summary", text_or_null(dataset.summary)},
                   {"source", dataset.source},
                   {"tuned", dataset.tuned},
                   {"target_mean_absolute_error", dataset.target ? report::number(*dataset.target) : Json(nullptr)},
                   {"data", text_or_null(dataset.data)}};
  for (int i = 0; i < kStatuses; ++i) {
    document["counts"][std::string(word_for(static_cast<Status>(i)))] = score.counts[static_cast<std::size_t>(i)];
  }
  document["does_not_fit"] = score.does_not_fit;
  document["order_within"] = dataset.order_within;
  document["figures"] = Json::array();
  for (const FigureScore& figure : score.figures) {
    document["figures"].push_back(figure_document(figure));
  }
  document["peers"] = Json::array();
  for (const scenario::Peer& peer : dataset.peers) {
    document["peers"].push_back(
        {{"name", peer.name}, {"mean_absolute_error", peer.mean_absolute_error}, {"source", peer.source}});
  }
  document["causes"] = dataset.causes;
  document["rows"] = Json::array();
  for (const ScoredRow& row : score.rows) {
    document["rows"].push_back(row_document(score, row));
  }
  return document;
}

/// Each name once, in the order of first use.
template <class Names>
std::vector<std::string> united(const std::vector<Score>& scores, Names names_of) {
  std::vector<std::string> result;
  for (const Score& score : scores) {
    for (const std::string& name : names_of(score)) {
      if (std::find(result.begin(), result.end(), name) == result.end()) {
        result.push_back(name);
      }
    }
  }
  return result;
}

std::vector<std::string> names_of_figures(const Score& score) {
  return figure_names(*score.dataset);
}

report::Row csv_row(const Score& score, const ScoredRow& row, const std::vector<std::string>& columns,
                    const std::vector<std::string>& figures) {
  report::Row fields = {{"dataset", report::csv_text(score.dataset->name)},
                        {"line", std::to_string(row.line)},
                        {"status", std::string(word_for(row.status))},
                        {"reason", report::csv_text(row.reason)}};
  for (const std::string& column : columns) {
    const auto found = std::find(score.columns.begin(), score.columns.end(), column);
    fields.push_back({report::csv_text(column),
                      found == score.columns.end()
                          ? ""
                          : report::csv_text(row.cells[static_cast<std::size_t>(found - score.columns.begin())])});
  }
  const std::vector<std::string> own = names_of_figures(score);
  for (const std::string& figure : figures) {
    const auto found = std::find(own.begin(), own.end(), figure);
    const auto index = static_cast<std::size_t>(found - own.begin());
    const bool has = found != own.end();
    fields.push_back({figure + ".measured", has ? report::field(row.measured[index]) : ""});
    fields.push_back({figure + ".predicted", has ? report::field(row.predicted[index]) : ""});
    fields.push_back({figure + ".error", has ? report::field(row.error(index)) : ""});
  }
  const bool scored = row.status == Status::kScored;
  fields.push_back({"predicted_step_time_s", scored ? report::field(row.step_s) : ""});
  for (int i = 0; i < kFamilies; ++i) {
    fields.push_back({std::string(word_for(static_cast<Family>(i))) + "_s",
                      scored ? report::field(row.families[static_cast<std::size_t>(i)]) : ""});
  }
  fields.push_back({"bubble_makespan_fraction", scored ? report::field(row.bubble_fraction) : ""});
  fields.push_back({"does_not_fit", report::csv_text(row.does_not_fit)});
  return fields;
}

}  // namespace

std::string to_json(const std::vector<Score>& scores) {
  Json root = {{"schema", "lamina.score/1"}};
  root["datasets"] = Json::array();
  for (const Score& score : scores) {
    root["datasets"].push_back(score_document(score));
  }
  return report::document(root);
}

std::string to_csv(const std::vector<Score>& scores) {
  const auto columns = united(scores, [](const Score& score) { return score.columns; });
  const auto figures = united(scores, names_of_figures);
  std::string text;
  for (const Score& score : scores) {
    for (const ScoredRow& row : score.rows) {
      const report::Row fields = csv_row(score, row, columns, figures);
      if (text.empty()) {
        report::append_line(text, fields, &report::Column::name);
      }
      report::append_line(text, fields, &report::Column::value);
    }
  }
  return text;
}

}  // namespace lamina::score
