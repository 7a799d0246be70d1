#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/loader.hpp"
#include "sim/scenario/sweep_spec.hpp"

/// Many layouts from one scenario: enumerated, evaluated by worker processes, written as one table.
namespace lamina::sweep {

class NameTable;

/// Most combinations that are looked at; conditions leave fewer points.
inline constexpr double kMostCombinations = 10e6;

/// One row of the table before it is evaluated.
struct Point {
  std::int64_t index = 0;
  std::vector<std::string> texts;  ///< per key of the grid; "": as in the file
  std::vector<scenario::Change> changes;
  std::string infeasible;  ///< a computed value that is none; "": all are
};

/// The points of a sweep in a fixed order: the product of its factors, the first one varying slowest, without those
/// that a condition excludes. A condition that cannot be evaluated (division by zero) keeps its point, which tells why.
/// Takes 4 bytes per point and factor. Refers to the loader.
class Grid {
 public:
  /// @throws ScenarioError: too many combinations or points, no point meets the conditions, values that depend on each
  /// other in a circle
  Grid(const scenario::Loader& loader, scenario::SweepSpec spec);
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;
  ~Grid();

  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }

  [[nodiscard]] const scenario::SweepSpec& spec() const { return spec_; }

  [[nodiscard]] std::int64_t size() const;

  /// Combinations before conditions.
  [[nodiscard]] std::int64_t combinations() const { return combinations_; }

  /// @throws InternalError outside 0 to size() - 1
  [[nodiscard]] Point point(std::int64_t index) const;

 private:
  void enumerate();
  void refuse_circles() const;
  [[noreturn]] void refuse(const char* key, const std::string& problem, const std::string& read,
                           const std::string& allowed) const;
  [[noreturn]] void refuse_empty(const std::vector<std::int64_t>& excluded) const;

  const scenario::Loader& loader_;
  scenario::SweepSpec spec_;
  std::vector<std::string> keys_;
  std::int64_t combinations_ = 1;
  std::vector<std::uint32_t> steps_;  ///< [point][factor]
  std::unique_ptr<NameTable> names_;
};

}  // namespace lamina::sweep
