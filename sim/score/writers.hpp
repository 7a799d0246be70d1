#pragma once

#include <string>
#include <vector>

#include "sim/score/score.hpp"

namespace lamina::score {

/// At most 80 columns: the answer, pairs, the `most` worst rows, rows that are not scored.
[[nodiscard]] std::string to_console(const Score& score, std::size_t most);

/// All scores, schema "lamina.score/1" (docs/score.md).
[[nodiscard]] std::string to_json(const std::vector<Score>& scores);

/// The same datasets with one key changed in every row.
struct Ablation {
  std::string change;  ///< "simulation.cost_model=ideal"
  std::vector<Score> scores;
};

/// A ledger (docs/score.md): a table of all datasets, with a column for each ablation, then what is known of each
/// dataset and its `most` worst rows. Says nothing of the time or of the machine.
/// @param ablations scores of as many datasets, in the same order
[[nodiscard]] std::string to_markdown(const std::vector<Score>& scores, const std::vector<Ablation>& ablations,
                                      std::size_t most);

/// One line per row of all tables; columns of several tables are joined by name.
[[nodiscard]] std::string to_csv(const std::vector<Score>& scores);

}  // namespace lamina::score
