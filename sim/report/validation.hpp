#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/report/report.hpp"

/// How far a prediction is from an execution of the same operations: what `lamina validate` answers. Plain numbers;
/// filled by validate/compare.
namespace lamina::report {

/// One kind of operation, over all ranks and repeats. Medians; of operations that take no time in either, none.
struct DurationRow {
  std::string kind;             ///< "forward", "message", "restore" ...
  double bytes = 0;             ///< of one transfer; 0 for compute
  std::int64_t operations = 0;  ///< per step, all ranks
  double predicted_s = 0;
  double measured_s = 0;
  double scenario_s = 0;  ///< by the scenario's own model, where `Validation::scenario_s` is known
};

/// One pipeline rank: its slowest data- and tensor-parallel rank by compute.
struct RankRow {
  int pipeline_rank = 0;
  RoleTimes predicted;
  RoleTimes measured;  ///< of the median repeat
};

struct Validation {
  std::string name;
  std::string file;
  std::string backend;
  int ranks = 0;
  int repeats = 0;
  double measured_s = 0;  ///< step, median of the repeats
  double measured_least_s = 0;
  double measured_most_s = 0;
  double predicted_s = 0;  ///< step by the model
  /// Step as `lamina run` prints it, by the scenario's own cost model and links; 0: not asked (virtual devices).
  double scenario_s = 0;
  bool calibrated = true;       ///< the prediction has measured kernels and links; else the scenario's
  double structural_s = 0;      ///< step by a replay with the kernel durations of the median repeat
  double structural_worst = 0;  ///< largest error of such a replay of any repeat, relative, with its sign
  double predicted_hidden = 0;  ///< share of transfer time that lies beside compute, all ranks
  double measured_hidden = 0;
  double predicted_peak_bytes = 0;  ///< memory of the fullest rank, by the operations' dates
  double measured_peak_bytes = 0;
  std::vector<DurationRow> durations;
  std::vector<RankRow> rank_rows;
  std::int64_t reordered = 0;             ///< operations that a rank began in another order than predicted
  std::vector<std::string> reorderings;   ///< the first of them
  std::vector<std::string> conditions;    ///< of the machine, a sentence each; none for virtual devices
  double calibration_spread = 0;          ///< of equal kernels: interquartile range over median, weighted by time
  std::int64_t involuntary_switches = 0;  ///< cores taken away from ranks, all repeats
  std::vector<std::string> warnings;

  /// Of the model's step, relative to the measured one: 0.05 is 5 % too long.
  [[nodiscard]] double error() const { return predicted_s / measured_s - 1; }

  [[nodiscard]] double scenario_error() const { return scenario_s / measured_s - 1; }

  [[nodiscard]] double structural_error() const { return structural_s / measured_s - 1; }
};

/// Tables of at most 80 columns. `colour`: ANSI escapes.
[[nodiscard]] std::string to_console(const Validation& validation, bool colour);

/// JSON document, schema "lamina.validation/1"; byte-identical for equal documents.
[[nodiscard]] std::string to_json(const Validation& validation);

}  // namespace lamina::report
