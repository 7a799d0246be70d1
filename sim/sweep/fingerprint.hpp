#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/scenario/sweep_spec.hpp"
#include "sim/sweep/grid.hpp"

namespace lamina::sweep {

/// What a table depends on. Two sweeps of equal fingerprints have equal tables.
struct Fingerprint {
  std::string version;    ///< of the program, given by the caller
  std::string scenario;   ///< hash of the file, of the files that it names, and of the overrides
  std::string points;     ///< hash of the keys and of every point's values
  std::string catalogue;  ///< hash of the catalogue files
  std::string how;        ///< options that change rows
};

/// 16 hexadecimal digits (FNV-1a, 64 bits): against mistakes, not against forgery. A file that cannot be read counts as
/// its name alone.
[[nodiscard]] std::string hash_of(const std::vector<std::string>& texts);
[[nodiscard]] std::string hash_of_files(const std::vector<std::filesystem::path>& files);
[[nodiscard]] std::string hash_of_catalogue(const std::filesystem::path& folder);
[[nodiscard]] std::string hash_of_points(const Grid& grid);

/// Head of a journal, one line of JSON.
[[nodiscard]] std::string journal_head(const Fingerprint& fingerprint);

/// "the scenario file and the axes": what a journal's head has differently; "" when it is none of ours.
[[nodiscard]] std::string difference(const std::string& head, const std::string& other_head);

}  // namespace lamina::sweep
