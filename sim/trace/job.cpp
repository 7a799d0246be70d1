#include "sim/trace/job.hpp"

#include <fmt/format.h>

namespace lamina::trace {

std::string describe(const Pass& pass) {
  return fmt::format("{} of micro-batch {}, stage {}", pass.backward ? "backward" : "forward", pass.micro_batch,
                     pass.stage);
}

}  // namespace lamina::trace
