#pragma once

#include <vector>

#include "sim/scenario/schema.hpp"

namespace lamina::scenario {

/// Sections of a dataset file; "dataset file" is the file itself.
[[nodiscard]] const std::vector<Section>& dataset_sections();

[[nodiscard]] const Section& dataset_section(std::string_view name);

}  // namespace lamina::scenario
