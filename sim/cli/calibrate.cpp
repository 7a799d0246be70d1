#include "validate/calibration/calibrate.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "sim/catalog/catalog.hpp"
#include "sim/cli/calibrate_here.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/tools.hpp"
#include "sim/scenario/tree.hpp"
#include "sim/units/parse.hpp"
#include "validate/calibration/write.hpp"

namespace lamina::cli {
namespace {

namespace calibration = validate::calibration;

constexpr const char* kExamples = R"(Examples:
  lamina calibrate --from-nccl-tests one-node.log -o mine.yaml
  lamina calibrate --from-nccl-tests a.log b.log --nics-per-node 8 -o mine.yaml
  lamina calibrate --from-gemm-table gemm.csv --select device=sm_90
  lamina calibrate --from-nccl-tests sweep.csv --collective all_reduce --ranks 8
  lamina calibrate --model gpt3-175b --tensor-parallel 8 -o this.yaml

Other people's measurements become hardware that a scenario can name: a device
link from a log of one node, a network from several, an accelerator with its
cost model from a table of matrix products. Reads what nccl-tests and
rccl-tests print, and CSV tables (docs/calibration.md), also in gzip.

  lamina run my.yaml --set hardware=mine.yaml --set cluster.network=mine

Without --from-... it measures the processor cores of this machine: products,
attention, copies in memory and of files, messages over loopback TCP; needs
the plug-in onednn. The entries are called this-core. --device cuda measures
products, copies and launches on GPU 0 instead; entries this-gpu.

Every fitted constant names the rows that tuned it; residuals, switches of
protocol, rows left out and conditions are in the file, and so are the medians
by size.

Exit codes: 0 done, 2 command line, 3 a log or table is wrong, 6 environment.)";

struct CalibrateOptions {
  std::vector<std::string> transfers;
  std::vector<std::string> products;
  std::vector<std::string> select;
  std::vector<std::string> conditions;
  std::string collective;
  std::string kind = "auto";
  std::string type;
  std::string output_file;
  std::string format = "console";
  calibration::Options fit;
  HereOptions here;
};

/// "KEY=TEXT" each.
std::vector<calibration::Label> labels_of(const std::vector<std::string>& arguments, const char* option) {
  std::vector<calibration::Label> labels;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(fmt::format("{} takes KEY=TEXT, not \"{}\"", option, argument));
    }
    labels.push_back({argument.substr(0, equals), argument.substr(equals + 1)});
  }
  return labels;
}

std::vector<calibration::Label> conditions_of(const std::vector<std::string>& arguments) {
  const std::vector<std::string> known = {"host", "date", "software", "clock", "hardware"};
  std::vector<calibration::Label> conditions = labels_of(arguments, "--condition");
  for (const calibration::Label& condition : conditions) {
    if (std::find(known.begin(), known.end(), condition.key) == known.end()) {
      const std::string nearest = catalog::nearest_name(condition.key, known);
      throw UsageError(fmt::format("there is no condition \"{}\"{}; the conditions are {}", condition.key,
                                   nearest.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", nearest),
                                   fmt::join(known, ", ")));
    }
  }
  return conditions;
}

calibration::Options fit_options(const CalibrateOptions& options) {
  calibration::Options fit = options.fit;
  fit.select = labels_of(options.select, "--select");
  fit.conditions = conditions_of(options.conditions);
  if (!options.collective.empty()) {
    fit.collective = calibration::collective_of(options.collective);
    if (!fit.collective) {
      throw UsageError(fmt::format("there is no collective \"{}\"; the collectives are {}", options.collective,
                                   fmt::join(calibration::collective_names(), ", ")));
    }
  }
  fit.type = options.type.empty() ? std::nullopt : calibration::type_of(options.type);
  fit.link.kind = options.kind == "device_link" ? calibration::LinkKind::kDeviceLink
                  : options.kind == "network"   ? calibration::LinkKind::kNetwork
                                                : calibration::LinkKind::kByNodes;
  if (!fit.peak.empty()) {
    const auto peak = units::parse_flops_per_second(fit.peak);
    if (!peak || peak->value() < 1) {
      throw UsageError(
          fmt::format("--peak takes a rate of work with its unit, for example \"312 TFLOP/s\", not \"{}\"", fit.peak));
    }
  }
  if (!fit.name.empty() && fit.name != calibration::as_name(fit.name)) {
    throw UsageError(fmt::format("--name takes small letters, digits and hyphens, for example \"{}\"",
                                 calibration::as_name(fit.name)));
  }
  return fit;
}

void write_output_file(const CalibrateOptions& options, const calibration::Calibration& result) {
  const bool json = options.output_file.ends_with(".json");
  const std::string content = json ? calibration::to_json(result) : calibration::to_yaml(result);
  if (!json && content.size() > scenario::kLargestHardwareFile) {
    throw UsageError(
        fmt::format("the calibration would be larger than a scenario reads ({} of {} bytes); --select a part",
                    content.size(), scenario::kLargestHardwareFile));
  }
  write_file(options.output_file, content);
  spdlog::info("wrote {}", options.output_file);
}

/// Without files of others, what this machine does.
calibration::Calibration measured_or_read(const CalibrateOptions& options, const calibration::Options& fit,
                                          const Tools& tools) {
  if (!options.transfers.empty() || !options.products.empty()) {
    return calibration::calibrate({options.transfers.begin(), options.transfers.end()},
                                  {options.products.begin(), options.products.end()}, fit,
                                  {tools.catalogue, tools.plugins});
  }
  calibration::Calibration result = calibrate_here(options.here, fit.name, tools);
  for (const calibration::Label& condition : fit.conditions) {
    std::erase_if(result.conditions, [&](const calibration::Label& own) { return own.key == condition.key; });
    result.conditions.push_back(condition);
  }
  return result;
}

/// Options that say how to read other people's measurements mean nothing here, and the other way round.
void check_source(const CLI::App& parser, bool here) {
  const std::vector<std::string> of_files = {"--select", "--collective", "--ranks",       "--nodes", "--nics-per-node",
                                             "--as",     "--in-place",   "--accelerator", "--peak",  "--dtype"};
  const std::vector<std::string> of_here = {"--model", "--tensor-parallel", "--seconds", "--scratch", "--device"};
  for (const std::string& option : here ? of_files : of_here) {
    if (parser.count(option) > 0) {
      throw UsageError(here ? fmt::format("{} needs measurements: --from-nccl-tests LOG, --from-gemm-table CSV", option)
                            : fmt::format("{} is about measuring here: without --from-...", option));
    }
  }
}

ExitCode calibrate(const CalibrateOptions& options, Session& session) {
  const calibration::Options fit = fit_options(options);
  if (!options.output_file.empty()) {
    if (!options.output_file.ends_with(".yaml") && !options.output_file.ends_with(".json")) {
      throw UsageError(fmt::format("-o takes a file that ends in .yaml or .json, not \"{}\"", options.output_file));
    }
    std::vector<std::string> inputs = options.transfers;
    inputs.insert(inputs.end(), options.products.begin(), options.products.end());
    check_output_file(options.output_file, inputs);
  }
  const Tools tools;
  const calibration::Calibration result = measured_or_read(options, fit, tools);
  if (!options.output_file.empty()) {
    write_output_file(options, result);
  }
  session.results.write(options.format == "yaml"   ? calibration::to_yaml(result)
                        : options.format == "json" ? calibration::to_json(result)
                                                   : calibration::to_console(result));
  return ExitCode::kDone;
}

void add_sources(CLI::App& parser, CalibrateOptions& options) {
  parser
      .add_option("--from-nccl-tests", options.transfers,
                  "Logs of nccl-tests or rccl-tests, or CSV tables of\n"
                  "collectives")
      ->type_name("LOG");
  parser.add_option("--from-gemm-table", options.products, "CSV tables of matrix products")->type_name("CSV");
  parser
      .add_option("--select", options.select,
                  "Only the rows of one system, as in device=sm_90;\n"
                  "repeatable")
      ->type_name("KEY=TEXT")
      ->allow_extra_args(false);
  parser
      .add_option("--condition", options.conditions,
                  "Noted in the file: host, date, software, clock or\n"
                  "hardware; repeatable")
      ->type_name("KEY=TEXT")
      ->allow_extra_args(false);
}

void add_link_options(CLI::App& parser, CalibrateOptions& options) {
  parser
      .add_option("--collective", options.collective,
                  "Only this one; also what a log means that names\n"
                  "none: all_reduce, ...")
      ->type_name("NAME");
  parser.add_option("--ranks", options.fit.ranks, "Ranks, where a log does not say")
      ->type_name("N")
      ->check(CLI::Range(2, 10'000'000).description(""));
  parser.add_option("--nodes", options.fit.nodes, "Nodes, where a log does not say")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000'000).description(""));
  parser
      .add_option("--nics-per-node", options.fit.link.nics_per_node,
                  "Ports that a node uses: a network's bandwidth is\n"
                  "of one port, without this of a node")
      ->type_name("N")
      ->check(CLI::Range(1, 1024).description(""));
  parser
      .add_option("--as", options.kind,
                  "auto, device_link or network; auto: by the number\n"
                  "of nodes")
      ->type_name("KIND")
      ->check(CLI::IsMember({"auto", "device_link", "network"}).description(""))
      ->capture_default_str();
  parser.add_flag("--in-place", options.fit.link.in_place, "Times in place instead of out of place");
}

void add_product_options(CLI::App& parser, CalibrateOptions& options) {
  parser
      .add_option("--accelerator", options.fit.accelerator,
                  "Entry of the catalogue that the products ran on;\n"
                  "default: by the name in the table")
      ->type_name("NAME");
  parser.add_option("--peak", options.fit.peak, "Peak rate of the data type, as in \"312 TFLOP/s\"")->type_name("RATE");
  parser.add_option("--dtype", options.type, "fp32, tf32, fp16, bf16 or fp8, where a table does\nnot say")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"fp32", "tf32", "fp16", "bf16", "fp8"}).description(""));
}

}  // namespace

Command add_calibrate(CLI::App& root) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* parser = root.add_subcommand("calibrate", "Make hardware from measurements");
  add_sources(*parser, *options);
  add_link_options(*parser, *options);
  add_product_options(*parser, *options);
  add_here_options(*parser, options->here);
  parser->add_option("--name", options->fit.name, "Name of the entries; default: the file's")->type_name("NAME");
  parser->add_option("--format", options->format, "console, yaml or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"console", "yaml", "json"}).description(""))
      ->capture_default_str();
  parser
      ->add_option("-o,--output", options->output_file,
                   "Also write the hardware file, *.yaml, or all of it\n"
                   "as *.json")
      ->type_name("FILE");
  parser->footer(kExamples);
  return {parser, [options, parser](Session& session) {
            check_source(*parser, options->transfers.empty() && options->products.empty());
            return calibrate(*options, session);
          }};
}

}  // namespace lamina::cli
