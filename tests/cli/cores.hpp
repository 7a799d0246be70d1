#pragma once

#include <string>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

/// The scenario of two ranks on cores, with a model that takes no time.
namespace lamina::cli_test {

inline std::string two_cores() {
  return (tests::source_folder() / "scenarios/validate/two-cores.yaml").string();
}

/// `command` with the scenario after its first word, the small model, and `more`.
inline std::vector<std::string> on_two_cores(std::vector<std::string> command, const std::vector<std::string>& more) {
  command.insert(command.begin() + 1, two_cores());
  for (const char* change : {"model.hidden=128", "model.head_size=16", "model.feed_forward=512"}) {
    command.insert(command.end(), {"--set", change});
  }
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

/// One step, results as JSON.
inline Outcome run_small_on_cores(const std::vector<std::string>& more) {
  return lamina(on_two_cores({"validate", "--backend", "cpu", "--repeat", "1", "--format", "json"}, more));
}

}  // namespace lamina::cli_test
