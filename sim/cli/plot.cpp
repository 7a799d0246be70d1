#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "sim/cli/command.hpp"
#include "sim/cli/number_range.hpp"
#include "sim/cli/output.hpp"
#include "sim/curves/crossings.hpp"
#include "sim/curves/picture.hpp"
#include "sim/curves/table.hpp"
#include "sim/scenario/text_file.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina sweep my.yaml --axis cluster.network.bandwidth=10Gbit/s..400Gbit/s*2
    --axis schedule=layered_modular,interleaved -o out.csv
  lamina plot out.csv --x cluster.network.bandwidth --y step_time_s
    --by strategy.schedule -o out.svg
  lamina plot validated.csv --x rate --y measured_s --y predicted_s --by layout

Rows with equal texts in the --by columns make one curve. What is printed: where
curves cross, that is, on which network one layout overtakes another; and from
where a curve stays within --within percent of its value at the largest x, that
is, which network is enough. With two --y columns (measured, predicted) both
places and their distance.)";

constexpr std::size_t kMostBytes = std::size_t{1} << 28;

struct PlotOptions {
  std::string input;
  curves::Choice choice;
  std::string output;
  std::string title;
  double within_percent = 25;
  double apart_percent = 1;
  int width = 0;
};

void check_columns(const std::vector<std::string>& names, const PlotOptions& options) {
  std::vector<std::string> wanted = options.choice.values;
  wanted.insert(wanted.end(), options.choice.groups.begin(), options.choice.groups.end());
  wanted.push_back(options.choice.x);
  for (const std::string& name : wanted) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw UsageError(fmt::format("{} has no column \"{}\"; it has {}", options.input, name, fmt::join(names, ", ")));
    }
  }
}

void check_size(const curves::Table& table) {
  if (table.columns.size() > curves::kMostColumns) {
    throw UsageError(fmt::format("a picture holds {} columns of values", curves::kMostColumns));
  }
  if (table.groups.size() > curves::kMostGroups) {
    throw UsageError(fmt::format("--by makes {} groups; a picture holds {}", table.groups.size(), curves::kMostGroups));
  }
}

ExitCode plot(const PlotOptions& options, Session& session) {
  if (!options.output.empty()) {
    check_output_file(options.output, {options.input});
    if (std::filesystem::path(options.output).extension() != ".svg") {
      throw UsageError(fmt::format("-o takes the name of an SVG picture, which ends in .svg; got {}", options.output));
    }
  }
  const std::string text = scenario::read_text_file(options.input, kMostBytes);
  scenario::check_text(text, options.input);
  check_columns(curves::column_names(text, options.input), options);
  const curves::Table table = curves::read(text, options.input, options.choice);
  if (!options.output.empty()) {
    check_size(table);
    write_file(options.output, curves::to_svg(table, {options.title, options.width}));
    spdlog::info("wrote {}", options.output);
  }
  constexpr double kPercent = 100;
  session.results.write(curves::findings(table, options.apart_percent / kPercent, options.within_percent / kPercent));
  return ExitCode::kDone;
}

}  // namespace

Command add_plot(CLI::App& root) {
  auto options = std::make_shared<PlotOptions>();
  CLI::App* parser = root.add_subcommand("plot", "Columns of a table as curves, and where they cross");
  parser->add_option("TABLE", options->input, "CSV table, as of sweep -o")->required()->type_name("");
  parser->add_option("--x", options->choice.x, "Column of numbers or quantities")->required()->type_name("COLUMN");
  parser->add_option("--y", options->choice.values, "Column of numbers; repeatable")
      ->required()
      ->type_name("COLUMN")
      ->allow_extra_args(false);
  parser->add_option("--by", options->choice.groups, "A curve for each text of it; repeatable")
      ->type_name("COLUMN")
      ->allow_extra_args(false);
  parser->add_option("-o,--output", options->output, "Picture to write")->type_name("FILE.svg");
  parser->add_option("--title", options->title, "Of the picture")->type_name("TEXT");
  constexpr double kMost = 1e6;
  parser->add_option("--within", options->within_percent, "Percent above the last value (25)")
      ->type_name("PERCENT")
      ->check(number_range(0.0, kMost));
  parser->add_option("--apart", options->apart_percent, "Curves closer than this, in percent, are equal (1)")
      ->type_name("PERCENT")
      ->check(number_range(0.0, kMost));
  constexpr int kNarrowest = 200;
  constexpr int kWidest = 20'000;
  parser->add_option("--width", options->width, "Of the picture (760)")
      ->type_name("PX")
      ->check(number_range(kNarrowest, kWidest));
  parser->footer(kExamples);
  return {parser, [options](Session& session) { return plot(*options, session); }};
}

}  // namespace lamina::cli
