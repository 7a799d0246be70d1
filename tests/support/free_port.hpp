#pragma once

namespace lamina::tests {

/// A TCP port of this machine that nobody listens on now.
[[nodiscard]] int free_port();

}  // namespace lamina::tests
