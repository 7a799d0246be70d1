#pragma once

#include <string>

#include "validate/calibration/calibration.hpp"

namespace lamina::validate::calibration {

/// A hardware file as scenarios name it (`hardware: FILE`), with everything else under `calibration:`. The same
/// calibration gives the same bytes.
[[nodiscard]] std::string to_yaml(const Calibration& calibration);

/// Schema "lamina.calibration/1": numbers in SI base units, what is unknown as null.
[[nodiscard]] std::string to_json(const Calibration& calibration);

/// For people: constants, residuals and notes of a few entries, one line each of many. 80 columns.
[[nodiscard]] std::string to_console(const Calibration& calibration);

}  // namespace lamina::validate::calibration
