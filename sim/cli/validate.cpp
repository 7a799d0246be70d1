#include "validate/validate.hpp"

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/number_range.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/tools.hpp"
#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/report/validation.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina validate my.yaml                        the executor on virtual devices
  lamina validate my.yaml --tolerance 1          exit code 5 beyond 1 %
  lamina validate my.yaml --format json

The graph that "run" replays is executed, operation by operation, and compared
with its replay: the step, the step replayed with the execution's own kernel
durations, every kind of operation, every pipeline rank, the order.

Back ends: virtual (clocks that advance; exact, proves the executor).

Exit codes: 0 done, 2 command line, 3 scenario invalid, 4 cannot run,
5 outside --tolerance, 6 environment.)";

struct ValidateOptions {
  std::string input;
  std::vector<std::string> overrides;
  std::string backend = "virtual";
  std::string format = "console";
  std::string output_folder;
  double tolerance_percent = 0;
  int repeats = 1;
};

ExitCode validate_file(const ValidateOptions& options, Session& session) {
  if (std::filesystem::is_directory(options.input)) {
    throw UsageError(fmt::format("{} is a folder; validate takes one scenario file", options.input));
  }
  const Tools tools;
  const auto scenario = load_scenario(expand_files({options.input}).front(), tools.catalogue, tools.plugins,
                                      parse_overrides(options.overrides));
  if (!options.output_folder.empty()) {
    prepare_output_folder(options.output_folder);
  }
  auto validation = validate::validate_virtual(scenario, tools.catalogs, options.repeats);
  if (!validation) {
    print_error("infeasible", fmt::format("{}: {}", options.input, validation.error().reason), session.colour_errors);
    return ExitCode::kInfeasible;
  }
  validation->file = options.input;
  if (!options.output_folder.empty()) {
    write_files(options.output_folder, {{"validation.json", report::to_json(*validation)},
                                        {"validation.txt", report::to_console(*validation, false)}});
    spdlog::info("wrote {}/validation.json, .txt", options.output_folder);
  }
  session.results.write(options.format == "json" ? report::to_json(*validation)
                                                 : report::to_console(*validation, session.colour_results));
  const double tolerance = options.tolerance_percent / 100;
  if (tolerance > 0 && std::abs(validation->error()) > tolerance) {
    print_error("outside tolerance",
                fmt::format("{}: the predicted step is {:+.3g} % off the measured one, more than {:g} %", options.input,
                            validation->error() * 100, options.tolerance_percent),
                session.colour_errors);
    return ExitCode::kOutsideTolerance;
  }
  return ExitCode::kDone;
}

}  // namespace

Command add_validate(CLI::App& root) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* parser = root.add_subcommand("validate", "Execute a scenario's operations and compare");
  parser->add_option("FILE", options->input, "Scenario file")->required()->type_name("");
  parser->add_option("--backend", options->backend, "virtual")
      ->type_name("NAME")
      ->check(CLI::IsMember({"virtual"}).description(""))
      ->capture_default_str();
  parser->add_option("--repeat", options->repeats, "Executions; medians are reported")
      ->type_name("N")
      ->check(CLI::Range(1, 1000).description(""))
      ->capture_default_str();
  parser->add_option("--tolerance", options->tolerance_percent, "Percent by which the predicted step may be off")
      ->type_name("PERCENT")
      ->check(number_range(1e-9, 1000));
  parser->add_option("--set", options->overrides, "Change one key of the scenario; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser->add_option("--format", options->format, "console or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"console", "json"}).description(""))
      ->capture_default_str();
  parser
      ->add_option("-o,--output", options->output_folder,
                   "Also write validation.json and validation.txt into\n"
                   "this folder")
      ->type_name("DIR");
  parser->footer(kExamples);
  return {parser, [options](Session& session) { return validate_file(*options, session); }};
}

}  // namespace lamina::cli
