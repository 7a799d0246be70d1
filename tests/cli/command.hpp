#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/paths.hpp"

/// Runs the `lamina` of this build as a user would, and sees what the user would see.
namespace lamina::cli_test {

struct Invocation {
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  ///< added to, or replacing, the test's own
  std::filesystem::path folder;                    ///< working directory; empty: the source tree
  std::string program = tests::command();
  std::string standard_output;  ///< path that standard output goes to instead of being read ("/dev/full")
  bool closed_output = false;   ///< standard output is not open at all
  bool reader_leaves = false;   ///< the other end of standard output is closed before anything is written
  bool terminal = false;        ///< standard output and standard error are one terminal, read as `out`
  long largest_file = 0;        ///< bytes; 0: no limit
  int signal = 0;               ///< sent after `signal_after`; 0: none
  std::chrono::milliseconds signal_after{0};
  std::chrono::seconds timeout{120};
};

struct Outcome {
  int code = -1;      ///< exit code; -1 when a signal ended the process
  int signal = 0;     ///< that signal
  bool late = false;  ///< the timeout passed and the process was killed
  std::string out;
  std::string err;
};

[[nodiscard]] Outcome run(const Invocation& invocation);

/// `lamina ARGUMENTS...` in the source tree.
[[nodiscard]] Outcome lamina(std::vector<std::string> arguments);

/// A fresh folder that goes away with its content.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  TemporaryFolder(TemporaryFolder&&) = delete;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Writes a file into the folder and returns its path.
  [[nodiscard]] std::string file(const std::string& name, const std::string& content) const;

  /// Names of everything in the folder, hidden files too, sorted.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

/// A valid scenario on eight devices that replays in milliseconds.
[[nodiscard]] std::string small_scenario();

/// The same with one piece of text replaced, which must occur.
[[nodiscard]] std::string small_scenario_with(const std::string& before, const std::string& after);

[[nodiscard]] std::string read_file(const std::filesystem::path& path);

[[nodiscard]] bool is_root();

}  // namespace lamina::cli_test
