#include "sim/cli/export.hpp"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>

#include "sim/error/error.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  lamina export pytorch-csv my.yaml -o table.csv
  lamina export chakra my.yaml -o traces/step
  lamina export pytorch-csv --help          more on one format)";

}  // namespace

Command add_export(CLI::App& root) {
  CLI::App* parser = root.add_subcommand("export", "Write a scenario for other tools");
  parser->require_subcommand(1);
  parser->footer(kExamples);
  const std::vector<Command> formats = {add_export_pytorch_csv(*parser), add_export_chakra(*parser)};
  for (const Command& format : formats) {
    format.parser->fallthrough();  // the options of every command are known to `lamina export`
  }
  return {parser, [formats](Session& session) {
            const auto chosen =
                std::find_if(formats.begin(), formats.end(), [](const Command& c) { return c.parser->parsed(); });
            if (chosen == formats.end()) {
              throw error::InternalError("no export format was parsed");
            }
            return chosen->execute(session);
          }};
}

}  // namespace lamina::cli
