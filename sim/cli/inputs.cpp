#include "sim/cli/inputs.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "sim/cli/command.hpp"
#include "sim/error/error.hpp"

namespace lamina::cli {
namespace {

std::vector<std::filesystem::path> scenarios_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> result;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    if (entry.path().extension() == ".yaml" && !entry.is_directory(failure)) {
      result.push_back(entry.path());
    }
  }
  if (failure) {
    throw error::EnvironmentError(fmt::format("cannot read folder {}: {}", folder.string(), failure.message()));
  }
  if (result.empty()) {
    throw UsageError(fmt::format("there is no *.yaml file in folder {}", folder.string()));
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

std::vector<std::filesystem::path> expand_files(const std::vector<std::string>& arguments) {
  std::vector<std::filesystem::path> result;
  for (const std::string& argument : arguments) {
    std::error_code failure;
    if (std::filesystem::is_directory(argument, failure)) {
      const auto inside = scenarios_in(argument);
      result.insert(result.end(), inside.begin(), inside.end());
    } else {
      result.emplace_back(argument);  // what is missing or cannot be read says so when it is read
    }
  }
  return result;
}

std::vector<scenario::Override> parse_overrides(const std::vector<std::string>& arguments, const std::string& option) {
  std::vector<scenario::Override> result;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(
          fmt::format("{} takes key=value, for example strategy.micro_batches=64; got \"{}\"", option, argument));
    }
    result.push_back({argument.substr(0, equals), argument.substr(equals + 1), option});
  }
  return result;
}

scenario::Scenario load_scenario(const std::filesystem::path& file, const std::filesystem::path& catalogue,
                                 const scenario::Plugins& plugins, const std::vector<scenario::Override>& overrides) {
  try {
    return scenario::load_file(file, catalogue, plugins, overrides);
  } catch (const error::ScenarioError& problem) {
    error::ScenarioFault fault = problem.fault();
    if (fault.location.file == file.string()) {
      throw;
    }
    fault.problem += fmt::format(" (While reading {}.)", file.string());
    throw error::ScenarioError(std::move(fault));
  }
}

}  // namespace lamina::cli
