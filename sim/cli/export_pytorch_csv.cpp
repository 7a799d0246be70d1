#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <tl/expected.hpp>

#include "schedules/schedule.hpp"
#include "sim/cli/export.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/output.hpp"
#include "sim/error/error.hpp"
#include "sim/pipeline/schedule_table.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/pipeline/size.hpp"
#include "sim/scenario/load.hpp"
#include "sim/schedule_tables/lowered_table.hpp"
#include "sim/schedule_tables/pytorch_csv.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina export pytorch-csv scenarios/quickstart.yaml
  lamina export pytorch-csv my.yaml --lowered -o table.csv
  lamina export pytorch-csv my.yaml --set strategy.schedule=zero_bubble_v

One line per pipeline rank; each cell is one action, as torch.distributed.
pipelining reads and writes it: 0F3 is stage 0, forward, micro-batch 3; B is the
whole backward, I its input gradient, W its weight gradient. --lowered adds
UNSHARD, RESHARD, REDUCE_GRAD, SEND and RECV where PyTorch's runtime puts them.
The file goes back in as strategy.schedule_file of a scenario. Options of every
command (-q, -v, --color): lamina export --help)";

struct CsvOptions {
  std::string input;
  std::string output;
  std::vector<std::string> overrides;
  bool lowered = false;
  int resident_stages = 0;  ///< 0: as the scenario says
};

tl::expected<std::string, error::Infeasible> table_text(const CsvOptions& options, const scenario::Scenario& scenario,
                                                        const pipeline::Catalogs& catalogs) {
  if (auto fits = pipeline::check_least_size(scenario); !fits) {
    return tl::unexpected(std::move(fits.error()));
  }
  const auto table = pipeline::schedule_table(scenario, catalogs);
  if (!table) {
    return tl::unexpected(table.error());
  }
  if (!options.lowered) {
    return schedule_tables::to_pytorch_csv(*table);
  }
  if (table->lowered.empty()) {
    const int usual = scenario.strategy.sharding.look_ahead_stages;
    const int stages = options.resident_stages > 0 ? options.resident_stages : usual;
    return schedule_tables::to_pytorch_csv(schedule_tables::lowered_rows(*table, stages));
  }
  if (options.resident_stages > 0) {
    throw UsageError("--resident-stages has no meaning here: the scenario's schedule_file has its own communication");
  }
  return schedule_tables::to_pytorch_csv(table->lowered);
}

ExitCode export_table(const CsvOptions& options, Session& session) {
  if (std::filesystem::is_directory(options.input)) {
    throw UsageError(fmt::format("{} is a folder; export takes one scenario file", options.input));
  }
  const std::filesystem::path output(options.output);
  if (!options.output.empty()) {
    check_output_file(output, {options.input});
  }
  const auto catalogs = pipeline::builtin_catalogs();
  const auto scenario = load_scenario(options.input, scenario::find_catalogue(), pipeline::plugins_of(catalogs),
                                      parse_overrides(options.overrides));
  const auto text = table_text(options, scenario, catalogs);
  if (!text) {
    print_error("infeasible", fmt::format("{}: {}", options.input, text.error().reason), session.colour_errors);
    return ExitCode::kInfeasible;
  }
  if (options.output.empty()) {
    session.results.write(*text);
    return ExitCode::kDone;
  }
  write_file(output, *text);
  spdlog::info("wrote {}", output.string());
  return ExitCode::kDone;
}

}  // namespace

Command add_export_pytorch_csv(CLI::App& parent) {
  auto options = std::make_shared<CsvOptions>();
  CLI::App* parser = parent.add_subcommand("pytorch-csv", "The table of actions as PyTorch's pipeline CSV");
  parser->add_option("FILE", options->input, "Scenario file")->required()->type_name("");
  CLI::Option* lowered = parser->add_flag("--lowered", options->lowered, "With communication and sharding");
  parser
      ->add_option("--resident-stages", options->resident_stages,
                   "Stages whose weights are kept or fetched,\nin order of use; default: the scenario's\n"
                   "look_ahead_stages, which is 3 if unset")
      ->type_name("N")
      ->check(CLI::Range(1, 100'000).description(""))
      ->needs(lowered);
  parser->add_option("-o,--output", options->output, "File to write instead of standard output")
      ->type_name("OUT.csv")
      ->check([](const std::string& name) { return name.empty() ? "the name is empty" : ""; });
  parser->add_option("--set", options->overrides, "Change one key of the scenario; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  parser->footer(kExamples);
  return {parser, [options](Session& session) { return export_table(*options, session); }};
}

}  // namespace lamina::cli
