#pragma once

#include <cstdint>
#include <vector>

#include "sim/timeline/timeline.hpp"

/// The graph that the replay consumes, executed: on clocks that advance, on processor cores, on GPUs.
namespace lamina::validate {

/// What one execution of the graph recorded.
struct Execution {
  timeline::Timeline timeline;  ///< spans as in a replay, `end_s`; without flows
  /// [rank][operation] seconds of processor time that a compute operation took; empty where that is not known.
  std::vector<std::vector<double>> processor_s;
  std::int64_t involuntary_switches = 0;  ///< of all ranks: how often the system took a core away
};

/// Queues of operations on devices. Each rank has one queue per stream of its program; a queue runs one operation after
/// the other. Ranks and operations are those of the deployment and the graph that the backend was made for.
///
/// Calls come from one thread, in an order in which everything that an operation waits for has been launched before.
/// They return at once where the device runs on its own.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Ranks whose operations this process issues; all of them where one process drives every device.
  [[nodiscard]] virtual std::vector<std::int32_t> local_ranks() const = 0;

  /// The queue of `operation` does nothing more until `before`, of the same rank, has ended.
  virtual void wait(std::int32_t rank, std::uint32_t operation, std::uint32_t before) = 0;

  /// Puts an operation at the end of its queue. A message starts when both its ends are at the heads of their queues,
  /// a collective when all members of its group are.
  virtual void launch(std::int32_t rank, std::uint32_t operation) = 0;

  /// Waits until all queues are empty, and begins anew.
  /// @return what all ranks recorded
  /// @throws ExecutionError when a rank failed
  [[nodiscard]] virtual Execution finish() = 0;
};

}  // namespace lamina::validate
