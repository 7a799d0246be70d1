#pragma once

#include "sim/deployment/whole.hpp"
#include "sim/symmetry/partition.hpp"

namespace lamina::symmetry {

/// Refines `partition` until nothing splits any more, looking again only at what touches something that has just
/// changed its class. For deployments where a difference travels far (a thousand leaves, each loaded a little
/// differently from the one before it): every round of plain refinement costs a pass over everything, here it costs
/// what it changes. Needs the paths of every link, hence more memory. Classes get numbers in no particular order; links
/// of class -1 are left out. Does nothing when two owners share a path.
void refine_by_ripples(const deployment::Whole& whole, Partition& partition);

}  // namespace lamina::symmetry
