#pragma once

#include <string>

#include "validate/ranks/control.hpp"
#include "validate/ranks/remote.hpp"

namespace lamina::validate::ranks {

/// The IPv4 address of this process as the others of its launcher reach it: that of the port which leads to rank 0's
/// machine; on that machine what the others call it. Collective.
/// @throws EnvironmentError when rank 0's machine has no IPv4 address
[[nodiscard]] std::string own_address(const Place& place, Control& control);

}  // namespace lamina::validate::ranks
