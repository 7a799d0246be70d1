#pragma once

#include <string>

#include "sim/report/ranking.hpp"

namespace lamina::comparison {

/// The winner of a ranking (its entries in order) and why, as one sentence: how much faster than the next and by which
/// parts of the busiest role's time (the largest gain is named, others from a quarter of the gains on, and losses from
/// a quarter of the difference on), at what price in memory, and how much of the difference the network makes. When the
/// next one is less than 1 % behind, also against the best of those that are further behind. Equal ones are called
/// equal, with what distinguishes them. A second sentence names faster layouts that do not fit.
/// @return empty when there are no entries
[[nodiscard]] std::string verdict(const report::Ranking& ranking);

}  // namespace lamina::comparison
