#pragma once

#include "validate/cuda/micro.hpp"

namespace lamina::validate::cuda {

/// What `lamina_cuda_measure` does.
[[nodiscard]] MicroResult measure(const MicroRequest& request);

}  // namespace lamina::validate::cuda
