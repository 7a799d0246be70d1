#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/report/report.hpp"

/// Several layouts side by side, best first: what `lamina compare` answers. Plain numbers, as in report.hpp; filled by
/// sim/comparison.
namespace lamina::report {

enum class NeedKind {
  kNotAsked,
  kNone,  ///< sends nothing over the network
  kFound,
  kMoreThanAny,  ///< latency alone costs too much
};

/// Least bandwidth of a network port at which the step is at most 5 % longer than on an ideal network.
struct NetworkNeed {
  NeedKind kind = NeedKind::kNotAsked;
  double bandwidth_bytes_per_s = 0;  ///< kFound
  double ideal_step_s = 0;           ///< on a network without limit and latency
};

/// One layout that was replayed.
struct Entry {
  std::string name;      ///< as the reader knows it: schedule with parameters, scenario, or both
  std::string file;      ///< scenario file, as given
  std::string schedule;  ///< with the parameters asked for: "interleaved:micro_batch_group_size=8"
  Report report;
  NetworkNeed need;
  int rank = 0;          ///< 1: best; equal ones share it
  double behind = 0;     ///< relative to the best: 0.1: a step (or a token and device) takes 10 % longer
  int busiest_role = 0;  ///< pipeline rank that computes longest; its times explain the step
};

/// A layout that cannot run.
struct Refusal {
  std::string name;
  std::string file;
  std::string reason;
};

enum class RankedBy { kStepTime, kTokensPerDevice };

struct Ranking {
  RankedBy by = RankedBy::kStepTime;
  std::vector<Entry> entries;     ///< best first; those that do not fit into memory come last
  std::vector<Refusal> refusals;  ///< in the order of the question
  std::string verdict;            ///< the winner and why; empty without an entry that fits
  std::vector<std::string> warnings;
};

/// The times of an entry's busiest role; those of the critical role when there are no roles.
[[nodiscard]] const RoleTimes& busiest_times(const Entry& entry);

/// Largest figure of any pipeline rank of a report.
[[nodiscard]] double most_activations(const Report& report);
[[nodiscard]] std::int64_t most_messages(const Report& report);
[[nodiscard]] std::int64_t most_restores(const Report& report);

/// Tables of at most 100 columns, the verdict first. `colour`: ANSI escapes.
[[nodiscard]] std::string to_console(const Ranking& ranking, bool colour);

/// JSON document, schema "lamina.comparison/1" (see docs/report.md); byte-identical for equal rankings.
[[nodiscard]] std::string to_json(const Ranking& ranking);

/// One header line and one row per entry and refusal, units in the column names.
[[nodiscard]] std::string to_csv(const Ranking& ranking);

}  // namespace lamina::report
