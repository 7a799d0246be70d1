#pragma once

#include <cstdint>
#include <vector>

/// What happened when: the common result of a replay and of an execution on hardware.
namespace lamina::timeline {

/// Seconds from the start of the step. For messages and collectives `start` is when the last participant arrived, so that
/// end - start is transfer time and the waiting before it is not.
struct Span {
  double start = 0;
  double end = 0;
};

/// One flow over the links of a path, at constant average rate.
struct Flow {
  std::int32_t path = -1;  ///< of the deployment
  double start = 0;        ///< after latency
  double end = 0;
  double bytes = 0;
};

struct Timeline {
  std::vector<std::vector<Span>> spans;  ///< [deployment rank][operation of its program]
  std::vector<Flow> flows;               ///< in order of their ends
  double end_s = 0;                      ///< last end of any operation
  std::int64_t activities = 0;           ///< operations replayed and flows simulated
};

}  // namespace lamina::timeline
