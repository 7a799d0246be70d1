#pragma once

#include <functional>
#include <memory>

#include "validate/ranks/control.hpp"
#include "validate/ranks/coordinator.hpp"

namespace lamina::validate::ranks {

/// What a rank does, from its first to its last word. An exception it throws is the reason of its failure.
using RankBody = std::function<void(int rank, Control& control)>;

/// Forks `count` ranks on this machine. They end with this process, whatever ends it. To be called while this process
/// has one thread.
/// @throws EnvironmentError when a process cannot be started
[[nodiscard]] std::unique_ptr<Coordinator> launch(int count, const RankBody& body);

}  // namespace lamina::validate::ranks
