#include "sim/cli/session.hpp"

#include <cstdio>
#include <cstdlib>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "sim/cli/command.hpp"

namespace lamina::cli {
namespace {

constexpr const char* kLogLevels = "trace, debug, info, warn, error or off";

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets variables
  return value == nullptr ? "" : value;
}

/// NO_COLOR (no-color.org): any value but an empty one switches colours off.
bool colours_wanted() {
  return environment("NO_COLOR").empty() && environment("TERM") != "dumb";
}

bool colour_for(const std::string& choice, int descriptor) {
  return choice == "always" || (choice == "auto" && colours_wanted() && ::isatty(descriptor) == 1);
}

spdlog::level::level_enum level_named(const std::string& name) {
  const auto level = spdlog::level::from_str(name);  // "off" for anything unknown
  if (level == spdlog::level::off && name != "off") {
    throw UsageError(fmt::format("there is no log level \"{}\"; use {}", name, kLogLevels));
  }
  return level;
}

spdlog::level::level_enum level_of(const CommonOptions& options) {
  if (!options.log_level.empty()) {
    return level_named(options.log_level);
  }
  if (options.quiet) {
    return spdlog::level::err;
  }
  if (options.verbosity > 0) {
    return options.verbosity == 1 ? spdlog::level::info : spdlog::level::debug;
  }
  const std::string from_environment = environment("LAMINA_LOG");
  return from_environment.empty() ? spdlog::level::warn : level_named(from_environment);
}

void set_up_log(const CommonOptions& options) {
  using Sink = spdlog::sinks::stderr_color_sink_st;
  const auto colour =
      colour_for(options.colour, STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never;
  auto logger = std::make_shared<spdlog::logger>("lamina", std::make_shared<Sink>(colour));
  logger->set_pattern("%^%l%$: %v");
  logger->set_level(level_of(options));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace

void add_common_options(CLI::App& parser, CommonOptions& options) {
  constexpr const char* kGroup = "Messages";
  parser.add_flag("-v,--verbose", options.verbosity, "More on standard error (-vv: still more)")->group(kGroup);
  parser.add_flag("-q,--quiet", options.quiet, "Errors only")->group(kGroup);
  parser.add_option("--log-level", options.log_level, fmt::format("{}\nalso $LAMINA_LOG", kLogLevels))
      ->type_name("LEVEL")
      ->group(kGroup);
  parser.add_option("--color,--colour", options.colour, "auto, always or never; auto heeds $NO_COLOR")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->group(kGroup);
}

bool colour_errors(const CommonOptions& options) {
  return colour_for(options.colour, STDERR_FILENO);
}

Session open_session(const CommonOptions& options) {
  set_up_log(options);
  const bool watched = ::isatty(STDERR_FILENO) == 1 && !options.quiet;
  Session session;
  session.colour_results = colour_for(options.colour, STDOUT_FILENO);
  session.colour_errors = colour_errors(options);
  session.show_costs = watched || spdlog::should_log(spdlog::level::info);
  session.show_progress = watched;
  return session;
}

std::string printable(std::string_view text) {
  std::string result(text);
  for (char& character : result) {
    const auto code = static_cast<unsigned char>(character);
    const bool control = code < 0x20 || code == 0x7f;
    if (control && character != '\n' && character != '\t') {
      character = '?';
    }
  }
  return result;
}

void print_error(std::string_view kind, std::string_view text, bool colour) noexcept {
  try {
    fmt::print(stderr, "{}{}:{} {}\n", colour ? "\033[1;31m" : "", kind, colour ? "\033[0m" : "", printable(text));
  } catch (const std::exception&) {
    std::fputs("error: out of memory\n", stderr);
  }
}

}  // namespace lamina::cli
