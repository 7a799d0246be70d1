#pragma once

#include <string>
#include <string_view>

#include "sim/cli/result_stream.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace lamina::cli {

/// Options that every subcommand takes.
struct CommonOptions {
  std::string colour = "auto";
  std::string log_level;  ///< empty: from -q, -v, $LAMINA_LOG
  int verbosity = 0;
  bool quiet = false;
};

void add_common_options(CLI::App& parser, CommonOptions& options);

/// What a command needs of its surroundings. Results go to `results`, everything else to standard error.
struct Session {
  ResultStream results;
  bool colour_results = false;  ///< ANSI escapes in text on standard output
  bool colour_errors = false;   ///< the same for standard error
  bool show_costs = false;      ///< Lamina's own time and memory on standard error
  bool show_progress = false;
};

/// Applies the options: log level and colours ($NO_COLOR, $TERM and terminals are looked at here and nowhere else).
[[nodiscard]] Session open_session(const CommonOptions& options);

/// Text without the control characters that could steer a terminal; line breaks and tabs stay.
[[nodiscard]] std::string printable(std::string_view text);

/// Whether messages on standard error are coloured.
[[nodiscard]] bool colour_errors(const CommonOptions& options);

/// One message on standard error, "error: ..."; the kind in red if coloured. Never throws.
void print_error(std::string_view kind, std::string_view text, bool colour) noexcept;

}  // namespace lamina::cli
