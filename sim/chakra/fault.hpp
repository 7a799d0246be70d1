#pragma once

#include <cstdint>
#include <string>

namespace lamina::chakra {

/// @throws ScenarioError about a whole file
[[noreturn]] void refuse_file(const std::string& file, const std::string& problem, const std::string& read = "",
                              const std::string& allowed = "");

/// "node 17 ("sa3")": a name from a file, made safe to print.
[[nodiscard]] std::string node_words(std::uint64_t id, const std::string& name);

}  // namespace lamina::chakra
