#include "sim/scenario/schema_dataset.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/scenario/dataset.hpp"
#include "sim/scenario/schema_keys.hpp"

namespace lamina::scenario {
namespace {

Section file_section() {
  return {
      "dataset file",
      "The file",
      "A mapping with these keys.",
      "",
      {required(between(1, 1, key("schema_version", ValueKind::kInteger, "Version of this format; 1."))),
       required(key("dataset", ValueKind::kSection, "What was measured, by whom, and where the table is.")),
       with_default_text("none", key("columns", ValueKind::kValues,
                                     "Further columns by name, in order; each may use those before it.")),
       required(key("scenario", ValueKind::kSection,
                    "What all rows have in common, as in a [scenario file](scenario.md), where nothing is required. "
                    "`simulation.enforce_memory` is `false` unless it says otherwise.")),
       with_default_text("none", key("keys", ValueKind::kValues,
                                     "Dotted keys of the scenario, each with its value at a row; they are set in "
                                     "this order.")),
       required(key("measured", ValueKind::kValues,
                    "Figures of the JSON report ([report.md](report.md)), such as `step.time_s`, each with the "
                    "measured value in the report's unit. `--tolerance` judges the first one.")),
       with_default_text("every row", key("where", ValueKind::kNameList,
                                          "Conditions (one, or a list) of the rows that belong to the dataset.")),
       with_default_text("none", key("incomplete", ValueKind::kNameList,
                                     "Rows that are listed with a reason instead of being scored."))}};
}

Section dataset_section_table() {
  return {
      "dataset",
      "dataset",
      "Give either `data` or `rows`.",
      "",
      {with_default_text("the file's name without ending", key("name", ValueKind::kText, "What reports call it.")),
       with_default_text("empty", key("summary", ValueKind::kText, "One sentence.")),
       required(key("source", ValueKind::kText, "Who measured, where it was published, licence.")),
       with_default_text("exactly one of data and rows",
                         key("data", ValueKind::kFile,
                             "CSV file with a header line; lines before it that start with `#` are comments. "
                             "Relative to `--data`, else to this file's folder.")),
       with_default_text("exactly one of data and rows",
                         key("rows", ValueKind::kNameList, "The table itself: mappings from columns to values.")),
       with_default("nothing", key("tuned", ValueKind::kText, "Which constants of Lamina were tuned on these rows.")),
       with_default_text("none",
                         not_negative(key("target", ValueKind::kNumber,
                                          "Mean error of the first figure that is wanted, as a fraction; reports say "
                                          "whether it is met."))),
       with_default_text("none", key("peers", ValueKind::kNameList, "Published errors of others on these rows.")),
       with_default_text("none", key("order_within", ValueKind::kNameList,
                                     "Columns: pairs of rows that agree in them are compared apart from all pairs.")),
       with_default_text("none", key("causes", ValueKind::kNameList, "Known causes of the remaining error."))}};
}

Section peer_section() {
  return {"peer",
          "dataset.peers",
          "A list of such mappings.",
          "",
          {required(key("name", ValueKind::kText, "Who.")),
           required(not_negative(key("mean_absolute_error", ValueKind::kNumber, "As a fraction: 0.08 is 8 %."))),
           required(key("source", ValueKind::kText, "Where it is published, and on which of the rows."))}};
}

Section value_section() {
  return {
      "row value",
      "Values at a row",
      "Entries of `columns`, `keys` and `measured`: a constant, an expression `= ...` over columns, one of these "
      "mappings, or a list of them, of which the first counts whose `when` holds. Without one that holds, a key "
      "stays as it is, a column is empty, and a figure was not measured.",
      "",
      {with_default_text("always", key("when", ValueKind::kText, "Condition over columns.")),
       with_default_text("exactly one of value and column", key("value", ValueKind::kText, "A constant, or `= ...`.")),
       with_default_text("exactly one of value and column",
                         key("column", ValueKind::kText, "Column, or expression, whose value is looked up.")),
       with_default_text("required with `column`",
                         key("values", ValueKind::kValues,
                             "Constants by the column's value. A row whose value is missing here is malformed."))}};
}

Section incomplete_section() {
  return {"incomplete",
          "incomplete",
          "A list of such mappings.",
          "",
          {required(key("when", ValueKind::kText, "Condition over columns.")),
           required(key("reason", ValueKind::kText, "What is missing to simulate such a row."))}};
}

}  // namespace

const std::vector<Section>& dataset_sections() {
  static const std::vector<Section> sections = {file_section(), dataset_section_table(), peer_section(),
                                                value_section(), incomplete_section()};
  return sections;
}

const Section& dataset_section(std::string_view name) {
  const auto& sections = dataset_sections();
  const auto found =
      std::find_if(sections.begin(), sections.end(), [&](const Section& section) { return section.name == name; });
  if (found == sections.end()) {
    throw error::InternalError(fmt::format("the schema of datasets has no section \"{}\"", name));
  }
  return *found;
}

}  // namespace lamina::scenario
