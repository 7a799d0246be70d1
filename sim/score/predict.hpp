#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/score/families.hpp"
#include "sim/score/prepare.hpp"

namespace lamina::score {

/// What Lamina says of one row.
struct Prediction {
  Status status = Status::kScored;
  std::string reason;          ///< why there is none
  std::vector<double> values;  ///< as the dataset's `measured`
  FamilySeconds families{};    ///< of the step; they add up to it
  double step_s = 0;
  double bubble_fraction = 0;  ///< of the makespan
  std::string does_not_fit;    ///< why it would not fit into memory; "": it does
};

/// What predictions need. Refers to its parts.
struct Workbench {
  const scenario::Loader& loader;  ///< of the dataset's scenario
  const pipeline::Catalogs& catalogs;
  const std::vector<std::string>& figures;  ///< names of the dataset's `measured`
};

/// Simulates one row; faults of its values and of Lamina become statuses. SimGrid replays in this process, which may
/// serve one row only.
[[nodiscard]] Prediction predict(const Workbench& bench, const std::vector<scenario::Change>& changes);

/// Finds out whether the dataset itself is at fault: one of the rows to score must make a scenario. Looks at a
/// thousand.
/// @throws ScenarioError, the fault of the first
void check_dataset(const scenario::Loader& loader, const std::vector<PreparedRow>& rows);

/// Simulates every row whose status is kScored in worker processes; the others have none.
/// @param on_progress after each row and now and then: rows done, rows to do
[[nodiscard]] std::vector<std::optional<Prediction>> predict_all(
    const Workbench& bench, const std::vector<PreparedRow>& rows, int workers,
    const std::function<void(std::size_t, std::size_t)>& on_progress);

/// One line of JSON, and back. @throws InternalError for a text that is none
[[nodiscard]] std::string to_line(const Prediction& prediction);
[[nodiscard]] Prediction from_line(const std::string& line);

}  // namespace lamina::score
