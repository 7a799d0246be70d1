#pragma once

#include <string>

#include "sim/error/error.hpp"

namespace lamina::sweep {

/// One sentence with the key, without the place: "strategy.tensor_parallel: 5 tensor ranks do not divide the model's 96
/// heads."
[[nodiscard]] std::string short_text(const error::ScenarioFault& fault);

}  // namespace lamina::sweep
