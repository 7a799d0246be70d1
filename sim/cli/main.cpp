#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include "sim/catalog/catalog.hpp"
#include "sim/cli/command.hpp"
#include "sim/cli/exit_code.hpp"
#include "sim/cli/session.hpp"
#include "sim/cli/signals.hpp"
#include "sim/error/error.hpp"
#include "sim/fabric/large_pages.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kDescription =
    "Lamina: how fast, on what network and in how much memory does this training\n"
    "layout of a large language model run, and why?";

constexpr const char* kExamples = R"(Examples:
  lamina run scenarios/quickstart.yaml      one training step, with the reasons
  lamina run scenarios/quickstart.yaml --format json
  lamina compare my.yaml                    which schedule, and why?
  lamina requirements my.yaml               how much network does it need?
  lamina sweep my.yaml --axis tp=1,2,4,8    many layouts, one table
  lamina score runs.yaml                    how far from measured runs?
  lamina check my.yaml                      is it valid?
  lamina explain my.yaml                    every derived number and its formula
  lamina draw my.yaml -o step.svg           a picture of the step
  lamina export pytorch-csv my.yaml         its schedule, for PyTorch
  lamina list schedules                     what scenarios can name
  lamina trace replay trace.csv.gz          a real job, held against a schedule
  lamina calibrate --from-nccl-tests x.log  measured links for your scenarios
  lamina run --help                         more on one command)";

/// The last of the commands that the command line names: "export pytorch-csv" is two.
const CLI::App& innermost(const CLI::App& root) {
  const CLI::App* parser = &root;
  for (auto chosen = parser->get_subcommands(); !chosen.empty(); chosen = parser->get_subcommands()) {
    parser = chosen.front();
  }
  return *parser;
}

/// Text for a command line that the parser refused.
std::string parse_problem(const CLI::ParseError& problem, const CLI::App& root) {
  const CLI::App& parser = innermost(root);
  std::vector<std::string> names;
  for (const CLI::App* command : parser.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  if (names.empty()) {
    return problem.what();
  }
  const std::vector<std::string> rest = parser.remaining();
  if (rest.empty()) {
    return fmt::format("a command is missing; the commands are {}", fmt::join(names, ", "));
  }
  const std::string nearest = catalog::nearest_name(rest.front(), names);
  return fmt::format("there is no {} \"{}\"{}; the commands are {}", rest.front()[0] == '-' ? "option" : "command",
                     rest.front(), nearest.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", nearest),
                     fmt::join(names, ", "));
}

ExitCode refuse(const CLI::ParseError& problem, const CLI::App& root, const CommonOptions& options) {
  print_error("error", parse_problem(problem, root), colour_errors(options));
  std::string words;
  for (auto chosen = root.get_subcommands(); !chosen.empty(); chosen = chosen.front()->get_subcommands()) {
    words += chosen.front()->get_name() + " ";
  }
  fmt::print(stderr, "Run \"lamina {}--help\" for help.\n", words);
  return ExitCode::kCommandLine;
}

ExitCode execute(int argument_count, char** arguments, CommonOptions& common) {
  CLI::App root(kDescription, "lamina");
  root.footer(kExamples);
  root.set_version_flag("--version", "lamina " LAMINA_VERSION);
  root.require_subcommand(1);
  add_common_options(root, common);
  const std::vector<Command> commands = {
      add_run(root),   add_check(root), add_compare(root),  add_requirements(root), add_explain(root),
      add_draw(root),  add_plot(root),  add_export(root),   add_list(root),         add_trace(root),
      add_sweep(root), add_score(root), add_validate(root), add_calibrate(root)};
  for (const Command& command : commands) {
    add_common_options(*command.parser, common);
  }
  try {
    root.parse(argument_count, arguments);
  } catch (const CLI::CallForHelp&) {
    ResultStream().write(root.help());
    return ExitCode::kDone;
  } catch (const CLI::CallForVersion& version) {
    ResultStream().write(std::string(version.what()) + '\n');
    return ExitCode::kDone;
  } catch (const CLI::ParseError& problem) {
    return refuse(problem, root, common);
  }
  const auto chosen =
      std::find_if(commands.begin(), commands.end(), [](const Command& c) { return c.parser->parsed(); });
  if (chosen == commands.end()) {
    throw error::InternalError("no command was parsed");
  }
  Session session = open_session(common);
  return chosen->execute(session);
}

ExitCode guarded(int argument_count, char** arguments) {
  CommonOptions common;
  const auto fail = [&common](ExitCode code, const char* kind, const char* text) {
    print_error(kind, text, colour_errors(common));
    return code;
  };
  try {
    install_signal_handlers();
    return execute(argument_count, arguments, common);
  } catch (const UsageError& fault) {
    return fail(ExitCode::kCommandLine, "error", fault.what());
  } catch (const error::ScenarioError& fault) {
    return fail(ExitCode::kScenario, "error", fault.what());
  } catch (const error::EnvironmentError& fault) {
    return fail(ExitCode::kEnvironment, "error", fault.what());
  } catch (const std::bad_alloc&) {
    return fail(ExitCode::kEnvironment, "error", "out of memory");
  } catch (const std::exception& fault) {
    (void)fail(ExitCode::kInternal, "internal error", fault.what());
  } catch (...) {
    (void)fail(ExitCode::kInternal, "internal error", "unknown exception");
  }
  return fail(ExitCode::kInternal, "note",
              "this is a fault of Lamina, not of your scenario; please report it together with the scenario file");
}

/// Memory that one layout gave back serves the next: taking it from the system again, page by page, would cost several
/// times the work that is done in it. Only the command may say so, since it is the whole process.
void keep_memory() {
  constexpr int kMegabyte = 1 << 20;
  (void)mallopt(M_MMAP_THRESHOLD, 32 * kMegabyte);
  (void)mallopt(M_TRIM_THRESHOLD, 512 * kMegabyte);
  // The heap takes address space, not memory, for what is coming, and asks for large pages there: a replay touches tens
  // of megabytes once, in a process that is made for it.
  (void)mallopt(M_TOP_PAD, 256 * kMegabyte);
  auto* const begin = static_cast<char*>(sbrk(0));
  void* volatile grown = std::malloc(kMegabyte);  // volatile: or the compiler leaves both calls out
  std::free(grown);
  fabric::ask_for_large_pages(begin, static_cast<std::size_t>(static_cast<char*>(sbrk(0)) - begin));
}

}  // namespace
}  // namespace lamina::cli

int main(int argc, char** argv) {
  lamina::cli::keep_memory();
  return static_cast<int>(lamina::cli::guarded(argc, argv));
}
