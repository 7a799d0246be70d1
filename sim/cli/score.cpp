#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/number_range.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/signals.hpp"
#include "sim/cli/tools.hpp"
#include "sim/metrics/reference.hpp"
#include "sim/scenario/loader.hpp"
#include "sim/scenario/text_file.hpp"
#include "sim/score/writers.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kHelp = R"(Examples:
  lamina score scenarios/measured/vtrain-multi-node.yaml --data measured
  lamina score runs.yaml --rows "pp > 1" --worst 20
  lamina score runs.yaml --set simulation.cost_model.matrix_efficiency=0.8
  lamina score runs.yaml --format csv -o rows.csv
  lamina score scenarios/measured --data measured --format markdown

A dataset file says how the columns of a table of measured runs become
scenarios, and what was measured (docs/score.md). Every row is simulated and
held against its measurement.

Exit codes: 0 done, 1 some rows failed, 2 command line, 3 dataset invalid,
4 no row can be scored, 5 outside --tolerance, or malformed rows under
--strict, 6 environment.)";

constexpr double kPercent = 100;

struct ScoreOptions {
  std::vector<std::string> inputs;
  std::string data;
  std::vector<std::string> overrides;
  std::vector<std::string> without;
  std::vector<std::string> filters;
  std::string format = "console";
  std::string output;
  bool strict = false;
  int workers = 0;
  std::size_t worst = 10;
  double tolerance_percent = 0;
};

std::vector<scenario::Filter> parse_filters(const std::vector<std::string>& texts) {
  std::vector<scenario::Filter> filters;
  for (const std::string& text : texts) {
    const scenario::Position position{std::make_shared<const std::string>("--rows"), 0, 0};
    filters.push_back(scenario::parse_condition(text, position, "--rows"));
  }
  return filters;
}

score::Score score_file(const std::filesystem::path& file, const ScoreOptions& options,
                        const std::vector<scenario::Override>& overrides, const Tools& tools, ProgressLine& progress) {
  const auto dataset = std::make_shared<const scenario::Dataset>(scenario::read_dataset(
      scenario::read_text_file(file, scenario::kLargestFile), file, tools.plugins, metrics::reference_names()));
  const score::Table table = score::open_table(*dataset, options.data);
  score::PreparedTable prepared = score::prepare(*dataset, table, parse_filters(options.filters));
  for (score::PreparedRow& row : prepared.rows) {
    for (scenario::Change& change : scenario::changes_of(overrides)) {
      row.changes.push_back(std::move(change));
    }
  }
  const scenario::Loader loader(dataset->scenario, file, tools.catalogue, tools.plugins, overrides);
  score::check_dataset(loader, prepared.rows);
  const std::vector<std::string> figures = score::figure_names(*dataset);
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const auto predictions =
      score::predict_all({loader, tools.catalogs, figures}, prepared.rows,
                         options.workers > 0 ? options.workers : cores, [&](std::size_t done, std::size_t all) {
                           progress.show(fmt::format("{}: {} of {} rows", dataset->name, done, all));
                         });
  progress.hide();
  return score::score_of(dataset, table.file, std::move(prepared), predictions);
}

std::vector<score::Score> score_all(const ScoreOptions& options, const std::vector<scenario::Override>& overrides,
                                    const Tools& tools, ProgressLine& progress) {
  std::vector<score::Score> scores;
  for (const std::filesystem::path& file : expand_files(options.inputs)) {
    scores.push_back(score_file(file, options, overrides, tools, progress));
  }
  return scores;
}

/// One for each --without.
std::vector<score::Ablation> ablations_of(const ScoreOptions& options, const std::vector<scenario::Override>& overrides,
                                          const Tools& tools, ProgressLine& progress) {
  std::vector<score::Ablation> ablations;
  for (const scenario::Override& change : parse_overrides(options.without, "--without")) {
    std::vector<scenario::Override> changed = overrides;
    changed.push_back(change);
    ablations.push_back({fmt::format("{}={}", change.key, change.value), score_all(options, changed, tools, progress)});
  }
  return ablations;
}

std::string text_of(const std::vector<score::Score>& scores, const std::vector<score::Ablation>& ablations,
                    const ScoreOptions& options) {
  if (options.format == "json") {
    return score::to_json(scores);
  }
  if (options.format == "csv") {
    return score::to_csv(scores);
  }
  if (options.format == "markdown") {
    return score::to_markdown(scores, ablations, options.worst);
  }
  std::string text;
  for (const score::Score& score : scores) {
    text += (text.empty() ? "" : "\n") + score::to_console(score, options.worst);
  }
  return text;
}

/// Malformed rows are told with their line, whatever the format, and once when datasets share a table.
void report_malformed(const std::vector<score::Score>& scores) {
  std::set<std::string> told;
  for (const score::Score& score : scores) {
    for (const score::ScoredRow& row : score.rows) {
      const std::string text = printable(fmt::format("{}:{}: {}", score.table, row.line, row.reason));
      if (row.status == score::Status::kMalformed && told.insert(text).second) {
        spdlog::warn("{}", text);
      }
    }
  }
}

ExitCode verdict(const std::vector<score::Score>& scores, const ScoreOptions& options, const Session& session) {
  const auto total = [&](score::Status status) {
    int sum = 0;
    for (const score::Score& score : scores) {
      sum += score.count(status);
    }
    return sum;
  };
  if (const int failed = total(score::Status::kFailed); failed > 0) {
    print_error("failed", fmt::format("{} rows were not simulated (status \"failed\")", failed), session.colour_errors);
    return ExitCode::kInternal;
  }
  if (total(score::Status::kScored) == 0) {
    print_error("infeasible", "no row can be scored", session.colour_errors);
    return ExitCode::kInfeasible;
  }
  ExitCode code = ExitCode::kDone;
  if (const int malformed = total(score::Status::kMalformed); options.strict && malformed > 0) {
    print_error("strict", fmt::format("malformed rows: {}", malformed), session.colour_errors);
    code = ExitCode::kOutsideTolerance;
  }
  for (const score::Score& score : scores) {
    const double error = score.figures.front().errors.mean_absolute;
    if (options.tolerance_percent > 0 && !(error <= options.tolerance_percent / kPercent)) {
      print_error("outside tolerance",
                  fmt::format("{}: the mean error of {} is {:.3g} %, more than {:g} %", score.dataset->name,
                              score.figures.front().name, error * kPercent, options.tolerance_percent),
                  session.colour_errors);
      code = ExitCode::kOutsideTolerance;
    }
  }
  return code;
}

ExitCode score_files(const ScoreOptions& options, Session& session) {
  if (!options.output.empty()) {
    check_output_file(options.output, options.inputs);
  }
  if (!options.without.empty() && options.format != "markdown") {
    throw UsageError("--without goes with --format markdown");
  }
  const Tools tools;
  const std::vector<scenario::Override> overrides = parse_overrides(options.overrides);
  ProgressLine progress(session.show_progress);
  const std::vector<score::Score> scores = score_all(options, overrides, tools, progress);
  report_malformed(scores);
  const std::string text = text_of(scores, ablations_of(options, overrides, tools, progress), options);
  if (options.output.empty()) {
    session.results.write(text);
  } else {
    write_file(options.output, text);
    spdlog::info("wrote {}", options.output);
  }
  return verdict(scores, options, session);
}

void add_options(CLI::App& parser, ScoreOptions& options) {
  parser.add_option("DATASETS", options.inputs, "Dataset files, or folders of them")->required()->type_name("");
  parser.add_option("--data", options.data, "Folder of the tables; default: the dataset's")->type_name("FOLDER");
  parser.add_option("--set", options.overrides, "Change one key of every row; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser
      .add_option("--without", options.without,
                  "For markdown: a further column with the error\n"
                  "when this key is changed; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser.add_option("--rows", options.filters, "Only rows that meet this condition; repeatable")
      ->type_name("EXPR")
      ->allow_extra_args(false);
  parser.add_option("--format", options.format, "console, json, csv or markdown")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"console", "json", "csv", "markdown"}).description(""))
      ->capture_default_str();
  parser.add_option("-o,--output", options.output, "Write the result into this file")->type_name("FILE");
  parser.add_flag("--strict", options.strict, "Exit code 5 when a row is malformed");
  parser.add_option("--tolerance", options.tolerance_percent, "Percent that the mean error may be; exit code 5")
      ->type_name("PERCENT")
      ->check(number_range(1e-9, 1e6));
  parser.add_option("--worst", options.worst, "Rows to show, the worst first")
      ->type_name("N")
      ->check(CLI::Range(0, 1'000'000).description(""))
      ->capture_default_str();
  parser.add_option("--workers", options.workers, "Processes that work; default: one per core")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
}

}  // namespace

Command add_score(CLI::App& root) {
  auto options = std::make_shared<ScoreOptions>();
  CLI::App* parser = root.add_subcommand("score", "Hold Lamina against tables of measured runs");
  add_options(*parser, *options);
  parser->footer(kHelp);
  return {parser, [options](Session& session) { return score_files(*options, session); }};
}

}  // namespace lamina::cli
