#pragma once

#include <string>

/// Whether a strategy computes the training step of one device: what `lamina validate --backend numeric` answers. Plain
/// numbers; filled by validate/numeric/check.
namespace lamina::report {

/// Relative to the largest entry of a layer: what float32 sums in another order differ by, with room.
inline constexpr double kSameStep = 1e-5;

/// Errors are relative, the largest over all orders.
struct StepCheck {
  std::string name;
  std::string file;
  std::string schedule;
  int ranks = 0;
  int replicas = 0;  ///< data-parallel ranks that were computed
  int layers = 0;
  int micro_batches = 0;
  std::string transport;  ///< between a process per rank: "shared memory", ...; empty: all ranks in one process
  int orders = 0;         ///< in which the operations were launched, or executions; each must give the same step
  double loss = 0;        ///< of one device
  double loss_error = 0;
  double gradient_error = 0;
  double weight_error = 0;  ///< after the update
  double norm_error = 0;
  double disagreement = 0;  ///< between ranks that hold the same
  std::string fault;        ///< what an operation found missing; empty: nothing

  [[nodiscard]] bool same() const {
    return fault.empty() && loss_error <= kSameStep && gradient_error <= kSameStep && weight_error <= kSameStep &&
           norm_error <= kSameStep && disagreement <= kSameStep;
  }
};

/// At most 80 columns. `colour`: ANSI escapes.
[[nodiscard]] std::string to_console(const StepCheck& check, bool colour);

/// JSON document, schema "lamina.step_check/1"; byte-identical for equal documents.
[[nodiscard]] std::string to_json(const StepCheck& check);

}  // namespace lamina::report
