#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/deployment/whole.hpp"

namespace lamina::symmetry {

struct Folding {
  deployment::Deployment folded;
  std::vector<std::int32_t> class_of_rank;  ///< [rank of the whole deployment] -> rank of the folded one
  std::vector<std::int32_t> class_of_link;  ///< [link of the whole deployment] -> link of the folded one, -1 if unused
  std::vector<std::string> reasons;         ///< why classes of one program were split, one line each
};

/// Exact quotient by colour refinement of ranks, paths and links: on an equitable partition max-min fair rates and all
/// start and end times are constant on each class, so one member per class is enough when a link is charged as often as
/// one link of its class is crossed. Cost: near-linear in the number of link uses.
/// @throws InternalError when a collective is in message form
[[nodiscard]] Folding fold(const deployment::Whole& whole);

/// The same for a deployment that is not in flat form.
[[nodiscard]] Folding fold(const deployment::Deployment& whole);

}  // namespace lamina::symmetry
