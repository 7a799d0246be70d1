#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lamina::catalog {

/// The name in `candidates` for what other tools and papers call `typed` ("1F1B", "zb-h1", "fsdp"), else the nearest
/// one by spelling, else "". For messages: such names are suggested, never taken.
[[nodiscard]] std::string likely_name(std::string_view typed, const std::vector<std::string>& candidates);

/// Names of other tools and what they are here; for tests.
struct Synonym {
  std::string_view typed;  ///< in lower case, without spaces, hyphens and underscores
  std::string_view ours;
};

[[nodiscard]] const std::vector<Synonym>& synonyms();

}  // namespace lamina::catalog
