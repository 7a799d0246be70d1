#pragma once

#include <stdexcept>
#include <string>

namespace lamina::error {

/// Where in a user's file a fault lies. Lines and columns count from 1; 0 means unknown.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
};

/// The parts of a scenario fault. Empty parts are left out of the message.
struct ScenarioFault {
  Location location;
  std::string key;      ///< path of the key, e.g. "strategy.sharding.level"
  std::string problem;  ///< a complete sentence without the location
  std::string read;     ///< what was read
  std::string allowed;  ///< what is allowed
  std::string nearest;  ///< nearest valid name ("did you mean")
};

/// The user's scenario or data file is wrong: exit code 3. `what()` is fit to print.
class ScenarioError : public std::runtime_error {
 public:
  explicit ScenarioError(ScenarioFault fault);

  [[nodiscard]] const ScenarioFault& fault() const { return fault_; }

 private:
  ScenarioFault fault_;
};

/// The machine lacks something (file permission, disk space, a device, a library): exit code 6.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A broken promise of our own: exit code 1; the message asks for a report.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Why a valid scenario cannot run; an ordinary answer (exit code 4, a row of a sweep), never thrown.
struct Infeasible {
  std::string reason;  ///< a complete sentence with the numbers in it
};

}  // namespace lamina::error
