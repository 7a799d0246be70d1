#pragma once

#include <string>
#include <vector>

#include "sim/score/score.hpp"

namespace lamina::score {

/// At most 80 columns: the answer, pairs, the `most` worst rows, rows that are not scored.
[[nodiscard]] std::string to_console(const Score& score, std::size_t most);

/// All scores, schema "lamina.score/1" (docs/score.md).
[[nodiscard]] std::string to_json(const std::vector<Score>& scores);

/// One line per row of all tables; columns of several tables are joined by name.
[[nodiscard]] std::string to_csv(const std::vector<Score>& scores);

}  // namespace lamina::score
