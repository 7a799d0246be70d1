#pragma once

#include <filesystem>

#include "validate/calibration/calibration.hpp"

namespace lamina::validate::calibration {

/// The calibration of a hardware file as to_yaml wrote it: for models that interpolate its tables, and for comparing
/// two. Writing it again gives the same bytes.
/// @throws ScenarioError with file, line and column: no such file, no `calibration:` of version 1 in it, an entry that
///   describes no hardware of the file, a number that is none, a table whose rows differ in length
/// @throws EnvironmentError: the file cannot be read
[[nodiscard]] Calibration read_calibration(const std::filesystem::path& file);

}  // namespace lamina::validate::calibration
