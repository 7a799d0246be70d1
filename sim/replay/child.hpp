#pragma once

#include <functional>

#include "sim/timeline/timeline.hpp"

namespace lamina::replay {

/// Runs `work` in a forked child and returns what it returns. The child dies with its parent and leaves by _exit; what
/// it writes to stderr is kept aside for the message of its failure.
/// @throws InternalError with the text of the child's exception, or with the signal or code by which it ended without
/// answer
/// @throws EnvironmentError when the process or the pipe cannot be made, or the child ran out of memory
[[nodiscard]] timeline::Timeline run_in_child(const std::function<timeline::Timeline()>& work);

}  // namespace lamina::replay
