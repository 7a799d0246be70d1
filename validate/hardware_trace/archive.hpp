#pragma once

#include <functional>
#include <string_view>

#include "validate/hardware_trace/byte_source.hpp"

namespace lamina::validate::hardware_trace {

/// Whether the first 512 bytes are the header of a tar archive (POSIX ustar or GNU).
[[nodiscard]] bool is_archive(std::string_view head);

/// Calls `visit` with every regular file of a tar archive (POSIX.1-1988; long names are cut) in its order.
/// @throws ScenarioError for a damaged header, or an archive that ends early
void for_each_member(ByteSource& archive, const std::function<void(ByteSource&)>& visit);

}  // namespace lamina::validate::hardware_trace
