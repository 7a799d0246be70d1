#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::catalog {

enum class ParameterKind { kInteger, kNumber, kBoolean, kChoice, kSeconds, kBytesPerSecond, kFile };

/// One named setting of a plug-in (schedule, topology, cost model), declared beside the code that reads it. The
/// scenario loader checks keys and values against it and docs/scenario.md is generated from it.
struct ParameterSpec {
  std::string name;
  ParameterKind kind = ParameterKind::kInteger;
  std::string default_value;         ///< as written in a scenario; empty: required
  std::vector<std::string> choices;  ///< kChoice only
  double minimum = 0;                ///< inclusive; kInteger, kNumber and quantities (in SI base units)
  double maximum = 1e300;            ///< inclusive
  std::string help;                  ///< one sentence
};

/// Checked values of a plug-in's parameters. Numbers are in SI base units; booleans are 0 or 1. A kFile is read as a
/// choice: the path, relative ones taken from the scenario's folder.
/// Reading a name that was not declared is an InternalError.
class Parameters {
 public:
  void set_number(std::string name, double value);
  void set_choice(std::string name, std::string value);

  [[nodiscard]] int integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] const std::string& choice(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;

  [[nodiscard]] const std::map<std::string, double, std::less<>>& numbers() const { return numbers_; }

  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& choices() const { return choices_; }

 private:
  std::map<std::string, double, std::less<>> numbers_;
  std::map<std::string, std::string, std::less<>> choices_;
};

/// What a user sees of a plug-in (`lamina list`, error messages, documentation).
struct PluginInfo {
  std::string name;     ///< the file stem: the name in scenarios and reports
  std::string summary;  ///< one sentence
  std::string source;   ///< paper, section, or public code
  std::vector<ParameterSpec> parameters;
};

}  // namespace lamina::catalog
