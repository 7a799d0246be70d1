#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/signals.hpp"
#include "sim/draw/replay_chart.hpp"
#include "sim/draw/svg.hpp"
#include "sim/draw/unit_cells.hpp"
#include "sim/error/error.hpp"
#include "sim/pipeline/schedule_table.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/pipeline/size.hpp"
#include "sim/report/format.hpp"
#include "sim/scenario/load.hpp"
#include "sim/schedule_tables/pytorch_csv.hpp"
#include "sim/units/parse.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina draw scenarios/examples/profiled-stages.yaml -o step.svg
  lamina draw scenarios/examples/profiled-stages.yaml --cells -o schedule.svg
  lamina draw gpipe.yaml interleaved.yaml --cells -o both.svg
  lamina draw table.csv -o table.svg      a table of PyTorch's pipelining
  lamina draw big.yaml --ranks 0-15 --until 2s -o start.svg

One row per pipeline rank, micro-batch numbers in the cells. To scale: compute,
and in thin lanes below it messages, restores and reductions as replayed. In
cells: forward, input gradient and weight gradient last one unit per rank,
messages nothing. Several files are drawn below each other on one time scale.)";

/// Beyond these a picture is of no use to anybody, and browsers give up.
constexpr std::size_t kMostRows = 256;
constexpr std::size_t kMostBoxes = 200'000;

struct DrawOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> overrides;
  std::string output;
  bool cells = false;
  int width = 0;
  int model_copies = 1;
  std::string ranks;
  std::string from;
  std::string until;
};

bool is_table(const std::filesystem::path& file) {
  return file.extension() == ".csv";
}

/// "0-15" or "3".
void read_ranks(const std::string& text, draw::Window& window) {
  if (text.empty()) {
    return;
  }
  const std::size_t dash = text.find('-');
  const auto first = units::parse_integer(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : units::parse_integer(text.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first) {
    throw UsageError(fmt::format("--ranks takes the first and last pipeline rank, for example 0-15; got \"{}\"", text));
  }
  window.first_rank = static_cast<std::size_t>(*first);
  window.last_rank = static_cast<std::size_t>(*last);
}

/// A time of the chart: with a unit where it is to scale, a number of units in cells.
std::optional<double> read_time(const char* option, const std::string& text, bool cells) {
  if (text.empty()) {
    return std::nullopt;
  }
  if (cells) {
    if (const auto number = units::parse_number(text); number && *number >= 0) {
      return *number;
    }
    throw UsageError(
        fmt::format("{} takes a number of units when cells are drawn, for example 20; got \"{}\"", option, text));
  }
  if (const auto time = units::parse_seconds(text); time && time->value() >= 0) {
    return time->value();
  }
  throw UsageError(fmt::format("{} takes a time, for example 1.5s or 20ms; got \"{}\"", option, text));
}

draw::Window read_window(const DrawOptions& options, bool cells) {
  draw::Window window;
  read_ranks(options.ranks, window);
  window.from = read_time("--from", options.from, cells).value_or(window.from);
  window.until = read_time("--until", options.until, cells).value_or(window.until);
  if (window.until <= window.from) {
    throw UsageError(
        fmt::format("--until {} is not after --from {}", options.until, options.from.empty() ? "0" : options.from));
  }
  return window;
}

/// What the picture is made of; empty when a scenario cannot run (which has been said).
struct Drawing {
  const DrawOptions& options;
  Session& session;
  draw::Window window;
  bool cells = false;
  pipeline::Catalogs catalogs = pipeline::builtin_catalogs();

  void say_infeasible(const std::string& file, const std::string& reason) const {
    print_error("infeasible", fmt::format("{}: {}", file, reason), session.colour_errors);
  }
};

std::optional<draw::Chart> draw_cells(const Drawing& drawing, const std::string& file,
                                      const scenario::Scenario& scenario) {
  if (const auto fits = pipeline::check_least_size(scenario); !fits) {
    drawing.say_infeasible(file, fits.error().reason);
    return std::nullopt;
  }
  const auto table = pipeline::schedule_table(scenario, drawing.catalogs);
  if (!table) {
    drawing.say_infeasible(file, table.error().reason);
    return std::nullopt;
  }
  return draw::unit_cells(*table, drawing.window);
}

void check_boxes(std::size_t boxes) {
  if (boxes > kMostBoxes) {
    throw UsageError(
        fmt::format("the picture would have {} boxes; {} is the limit. Draw a part: --ranks 0-15, or --from and "
                    "--until; or open the trace of \"lamina run -o DIR\" in Perfetto",
                    report::whole(static_cast<double>(boxes)), report::whole(static_cast<double>(kMostBoxes))));
  }
}

/// A replay of a picture that would be refused is not begun. With --from and --until it is: only their part is drawn.
void check_actions(const Drawing& drawing, const schedules::ScheduleTable& table) {
  if (!drawing.options.from.empty() || !drawing.options.until.empty()) {
    return;
  }
  std::size_t actions = 0;
  for (std::size_t rank = 0; rank < table.actions.size(); ++rank) {
    const bool drawn = rank >= drawing.window.first_rank && rank <= drawing.window.last_rank;
    actions += drawn ? table.actions[rank].size() : 0;
  }
  check_boxes(actions);
}

std::optional<draw::Chart> draw_replay(const Drawing& drawing, const std::string& file,
                                       const scenario::Scenario& scenario) {
  if (const auto fits = pipeline::check_least_size(scenario); !fits) {
    drawing.say_infeasible(file, fits.error().reason);
    return std::nullopt;
  }
  if (const auto table = pipeline::schedule_table(scenario, drawing.catalogs)) {
    check_actions(drawing, *table);
  }
  ProgressLine progress(drawing.session.show_progress);
  progress.show(fmt::format("replaying {} ...", std::filesystem::path(file).filename().string()));
  const auto result = pipeline::simulate(scenario, drawing.catalogs);
  progress.hide();
  if (!result) {
    drawing.say_infeasible(file, result.error().reason);
    return std::nullopt;
  }
  draw::Chart chart =
      draw::replay_chart(result->prepared.graph, result->prepared.deployment, result->timeline, drawing.window);
  const scenario::Strategy& strategy = scenario.strategy;
  std::vector<std::string> facts = {
      fmt::format("{} pipeline rank{}", strategy.pipeline_parallel, strategy.pipeline_parallel == 1 ? "" : "s"),
      fmt::format("{} micro-batch{}", strategy.micro_batches, strategy.micro_batches == 1 ? "" : "es")};
  if (chart.shades > 1) {
    facts.push_back(fmt::format("{} stages per rank", chart.shades));
  }
  facts.push_back(fmt::format("step {}", report::seconds(result->report.step_s)));
  facts.push_back(fmt::format("bubble {}", report::percent(result->report.bubble_makespan_fraction)));
  chart.facts.insert(chart.facts.begin(), facts.begin(), facts.end());
  return chart;
}

std::string title_of(const scenario::Scenario& scenario) {
  const std::string& schedule = scenario.strategy.schedule.name;
  return scenario.name.empty() || scenario.name == schedule ? schedule : fmt::format("{}: {}", scenario.name, schedule);
}

std::optional<draw::Chart> draw_file(const Drawing& drawing, const std::string& file) {
  if (is_table(file)) {
    draw::Chart chart =
        draw::unit_cells(schedule_tables::load_pytorch_csv(file, drawing.options.model_copies), drawing.window);
    chart.title = std::filesystem::path(file).stem().string();
    return chart;
  }
  const scenario::Scenario scenario =
      load_scenario(file, scenario::find_catalogue(), pipeline::plugins_of(drawing.catalogs),
                    parse_overrides(drawing.options.overrides));
  auto chart = drawing.cells ? draw_cells(drawing, file, scenario) : draw_replay(drawing, file, scenario);
  if (chart) {
    chart->title = title_of(scenario);
  }
  return chart;
}

void check_content(const draw::Chart& chart, const std::string& file, const draw::Window& window) {
  if (chart.rows.empty()) {
    throw UsageError(fmt::format("{} has no pipeline rank from {} on", file, window.first_rank));
  }
  if (chart.end <= chart.start) {
    throw UsageError(fmt::format("{} has nothing to draw after --from; its last operation ends before", file));
  }
  if (chart.rows.size() > kMostRows) {
    throw UsageError(fmt::format("{} has {} pipeline ranks; a picture holds {}: choose some, for example --ranks 0-15",
                                 file, chart.rows.size(), kMostRows));
  }
}

void check_size(const std::vector<draw::Chart>& charts) {
  std::size_t boxes = 0;
  for (const draw::Chart& chart : charts) {
    boxes += draw::boxes_of(chart);
  }
  check_boxes(boxes);
}

void check_inputs(const DrawOptions& options, bool cells) {
  for (const std::string& input : options.inputs) {
    if (std::filesystem::is_directory(input)) {
      throw UsageError(fmt::format("{} is a folder; draw takes files", input));
    }
    if (is_table(input) && !options.overrides.empty()) {
      throw UsageError(fmt::format("--set changes scenarios; {} is a table", input));
    }
    if (is_table(input) != is_table(options.inputs.front()) && !cells) {
      throw UsageError("a table has no times to draw a scenario beside it to scale; add --cells");
    }
  }
}

ExitCode draw_files(const DrawOptions& options, Session& session) {
  const bool cells = options.cells || is_table(options.inputs.front());
  check_inputs(options, options.cells);
  if (!options.output.empty()) {
    check_output_file(options.output, options.inputs);
    const std::string ending = std::filesystem::path(options.output).extension().string();
    if (ending != ".svg") {
      throw UsageError(fmt::format("-o takes the name of an SVG picture, which ends in .svg; got {}", options.output));
    }
  }
  const Drawing drawing{options, session, read_window(options, cells), cells};
  std::vector<draw::Chart> charts;
  for (const std::string& input : options.inputs) {
    auto chart = draw_file(drawing, input);
    if (!chart) {
      return ExitCode::kInfeasible;
    }
    check_content(*chart, input, drawing.window);
    charts.push_back(std::move(*chart));
  }
  check_size(charts);
  const std::string picture = draw::to_svg(charts, {options.width});
  if (options.output.empty()) {
    session.results.write(picture);
    return ExitCode::kDone;
  }
  write_file(options.output, picture);
  spdlog::info("wrote {}", options.output);
  return ExitCode::kDone;
}

void add_options(CLI::App& parser, DrawOptions& options) {
  parser.add_option("FILE", options.inputs, "Scenario files (.yaml), or PyTorch pipeline\ntables (.csv)")
      ->required()
      ->type_name("");
  parser.add_option("-o,--output", options.output, "Picture to write; otherwise standard output")
      ->type_name("FILE.svg");
  parser.add_flag("--cells", options.cells, "Unit cells instead of replayed times; tables\nalways");
  parser.add_option("--set", options.overrides, "Change one key of every scenario; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  constexpr int kNarrowest = 200;
  constexpr int kWidest = 20'000;
  parser.add_option("--width", options.width, "Of the picture; otherwise as its numbers need")
      ->type_name("PX")
      ->check(CLI::Range(kNarrowest, kWidest).description(""));
  parser.add_option("--ranks", options.ranks, "Pipeline ranks to draw")->type_name("A-B");
  parser.add_option("--from", options.from, "Start of the time to draw; units in cells")->type_name("TIME");
  parser.add_option("--until", options.until, "End of it")->type_name("TIME");
  parser.add_option("--model-copies", options.model_copies, "Chains of stages in a table; DualPipe has 2")
      ->type_name("N")
      ->check(CLI::Range(1, 2).description(""))
      ->capture_default_str();
}

}  // namespace

Command add_draw(CLI::App& root) {
  auto options = std::make_shared<DrawOptions>();
  CLI::App* parser = root.add_subcommand("draw", "Draw a schedule, or the step that it makes, as SVG");
  add_options(*parser, *options);
  parser->footer(kExamples);
  return {parser, [options](Session& session) { return draw_files(*options, session); }};
}

}  // namespace lamina::cli
