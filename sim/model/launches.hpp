#pragma once

#include "sim/model/kernels.hpp"

namespace lamina::model {

/// Kernels that a training framework without graph capture launches for one kernel of the model: copies between
/// layouts, biases, accumulation into the gradient buffer. Counted in the source of Megatron-LM's
/// ParallelTransformerLayer (megatron/model/transformer.py) and of what PyTorch's autograd runs for it; table in
/// docs/model.md, section 2. Work of the host without a kernel (states of the random-number generators) counts as one.
/// Sets `launches` and `copied` of `kernel`.
void count_launches(Kernel& kernel, Pass pass, const Shape& shape, scenario::Recompute recompute);

}  // namespace lamina::model
