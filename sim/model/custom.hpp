#pragma once

#include "sim/model/work.hpp"

namespace lamina::model {

/// Durations and bytes that the user measured, as they are: no kernels, no embedding, no head. `scenario.model.custom`
/// must hold a value.
[[nodiscard]] WorkModel custom_work(const scenario::Scenario& scenario);

}  // namespace lamina::model
