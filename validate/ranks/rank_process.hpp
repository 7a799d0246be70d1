#pragma once

#include "validate/ranks/launch.hpp"

namespace lamina::validate::ranks {

/// The rest of a process that is a rank: body, last word, and waiting for the coordinator to end it. A failure that
/// comes before the rank could be greeted is told as any other.
[[noreturn]] void be_rank(int rank, int socket, const RankBody& body);

}  // namespace lamina::validate::ranks
