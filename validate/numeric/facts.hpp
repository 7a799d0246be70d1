#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/graph/operation_graph.hpp"

namespace lamina::validate::numeric {

/// What a program's operations mean beyond their own fields.
struct ProgramFacts {
  enum class Copy { kNone, kWeights, kState };

  std::vector<std::pair<int, int>> units;   ///< (stage, layer) of what is computed here, ascending
  std::vector<std::vector<int>> drops;      ///< [operation] units whose restored weights it gives back when it ends
  std::vector<Copy> copies;                 ///< [operation] what a copy from the host without micro-batch brings
  std::vector<graph::Phase> computes_next;  ///< [operation] phase of the next compute operation on its stream
  int norms = 0;                            ///< collectives that sum the global norm
};

/// @throws InternalError when memory effects give weights back that are still to be used
[[nodiscard]] ProgramFacts facts_of(const graph::Program& program, bool updates_on_host);

/// A sum over everything that holds a different part of the gradients, not of any layer.
[[nodiscard]] bool is_norm(const graph::Operation& operation);

}  // namespace lamina::validate::numeric
