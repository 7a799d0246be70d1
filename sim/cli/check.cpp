#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/load.hpp"
#include "sim/schedule_tables/pytorch_csv.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina check scenarios/quickstart.yaml
  lamina check scenarios/published/layered-modular-2021/
  lamina check my.yaml --set tp=16
  lamina check schedule.csv
  lamina check dualpipe.csv --model-copies 2

A file whose name ends in .csv is a schedule in PyTorch's pipeline format, with
or without communication: every micro-batch must pass every stage forward and
backward, every message must have both its ends, and the rows must not
deadlock. Nothing is replayed, so whether a layout fits into memory is not
checked: that is for lamina run. Exit codes: 0 all valid, 3 a file is invalid,
4 a scenario is valid but cannot run.)";

struct CheckOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> overrides;
  int model_copies = 1;
};

bool is_schedule_file(const std::filesystem::path& file) {
  return file.extension() == ".csv" || file.extension() == ".CSV";
}

/// "4 ranks", "1 rank"
std::string count_of(std::size_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string summary_of(const schedules::ScheduleTable& table) {
  std::size_t actions = 0;
  for (const auto& row : table.actions) {
    actions += row.size();
  }
  std::size_t communication = 0;
  for (const auto& row : table.lowered) {
    communication += row.size();
  }
  std::string text =
      fmt::format("{}, {}, {}, {}", count_of(table.actions.size(), "rank"), count_of(table.stages.size(), "stage"),
                  fmt::format("{} micro-batch{}", table.micro_batches, table.micro_batches == 1 ? "" : "es"),
                  count_of(actions, "compute action"));
  return table.lowered.empty()
             ? fmt::format("{}, compute-only", text)
             : fmt::format("{}, {}, lowered", text, count_of(communication - actions, "communication action"));
}

std::string summary_of(const scenario::Scenario& scenario, const pipeline::Prepared& prepared) {
  return fmt::format("{} on {} x {}, {} ranks, {} operations per replica", scenario.model.name,
                     scenario.cluster.devices(), scenario.cluster.node.accelerator.name, scenario.strategy.ranks(),
                     prepared.graph.size());
}

/// Prints each file's verdict and goes on to the next; the first kind of fault found decides the exit code.
class Checks {
 public:
  Checks(const CheckOptions& options, Session& session)
      : options_(options), overrides_(parse_overrides(options.overrides)), session_(session) {}

  ExitCode of(const std::vector<std::filesystem::path>& files) {
    for (const auto& file : files) {
      try {
        if (is_schedule_file(file)) {
          check_schedule(file);
        } else {
          check_scenario(file);
        }
      } catch (const error::ScenarioError& fault) {
        print_error("error", fault.what(), session_.colour_errors);
        blame(ExitCode::kScenario);
      }
    }
    return verdict_;
  }

 private:
  void check_schedule(const std::filesystem::path& file) {
    const auto table = schedule_tables::load_pytorch_csv(file, options_.model_copies);
    session_.results.write(fmt::format("{}: ok: {}\n", file.string(), summary_of(table)));
  }

  void check_scenario(const std::filesystem::path& file) {
    const auto scenario = load_scenario(file, catalogue_, plugins_, overrides_);
    const auto prepared = pipeline::prepare(scenario, catalogs_);
    if (prepared) {
      session_.results.write(fmt::format("{}: valid: {}\n", file.string(), summary_of(scenario, *prepared)));
    } else {
      print_error("infeasible", fmt::format("{}: {}", file.string(), prepared.error().reason), session_.colour_errors);
      blame(ExitCode::kInfeasible);
    }
  }

  void blame(ExitCode code) { verdict_ = verdict_ == ExitCode::kDone ? code : verdict_; }

  const CheckOptions& options_;
  std::vector<scenario::Override> overrides_;
  Session& session_;
  pipeline::Catalogs catalogs_ = pipeline::builtin_catalogs();
  scenario::Plugins plugins_ = pipeline::plugins_of(catalogs_);
  std::filesystem::path catalogue_ = scenario::find_catalogue();
  ExitCode verdict_ = ExitCode::kDone;
};

ExitCode check(const CheckOptions& options, Session& session) {
  const auto files = expand_files(options.inputs);
  const bool only_schedules = std::all_of(files.begin(), files.end(), is_schedule_file);
  if (only_schedules && !options.overrides.empty()) {
    throw UsageError("--set changes scenarios, and there is none among the files");
  }
  if (options.model_copies != 1 && std::none_of(files.begin(), files.end(), is_schedule_file)) {
    throw UsageError("--model-copies is for schedules (*.csv), and there is none among the files");
  }
  return Checks(options, session).of(files);
}

}  // namespace

Command add_check(CLI::App& root) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* parser = root.add_subcommand("check", "Validate scenarios and schedules without running");
  parser->add_option("FILE", options->inputs, "Scenario files, folders of them, or schedules\n(*.csv)")
      ->required()
      ->type_name("");
  parser->add_option("--set", options->overrides, "Change one key of every scenario; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser->add_option("--model-copies", options->model_copies, "Copies of the model in a schedule: 2 for DualPipe")
      ->type_name("1|2")
      ->check(CLI::Range(1, 2));
  parser->footer(kExamples);
  return {parser, [options](Session& session) { return check(*options, session); }};
}

}  // namespace lamina::cli
