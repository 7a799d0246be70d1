#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/load.hpp"
#include "validate/calibration/link_fit.hpp"
#include "validate/calibration/products.hpp"

/// Files in, calibration out.
namespace lamina::validate::calibration {

struct Options {
  std::vector<Label> select;             ///< only sets whose label of that key has that text
  std::optional<Collective> collective;  ///< only these rows; and what a log means that names none
  int ranks = 0;                         ///< where a file does not say, or says it wrongly; 0: as the file says
  int nodes = 0;
  LinkOptions link;
  std::string name;                        ///< of the entries; empty: from the file
  std::string accelerator;                 ///< catalogue entry to stand on; empty: by the name in the file
  std::string peak;                        ///< of the data type, as a scenario writes it; empty: the accelerator's
  std::optional<scenario::DataType> type;  ///< where a file does not say
  std::vector<Label> conditions;           ///< stated by the caller
};

/// Where accelerators are looked up.
struct Surroundings {
  std::filesystem::path catalogue;
  scenario::Plugins plugins;
};

/// Reads logs and tables of collectives, and tables of matrix products (plain or gzip), and makes one entry of each
/// system in them. A system of a file with several that cannot be fitted (the file does not say its ranks, the
/// catalogue lacks its accelerator) is named in `skipped`; if that leaves none, the reason of the first is the error.
/// @throws ScenarioError as the readers, for a selection that fits nothing, and for a name that the catalogue has
/// already
/// @throws EnvironmentError: a file that cannot be read
[[nodiscard]] Calibration calibrate(const std::vector<std::filesystem::path>& transfer_files,
                                    const std::vector<std::filesystem::path>& product_files, const Options& options,
                                    const Surroundings& surroundings);

}  // namespace lamina::validate::calibration
