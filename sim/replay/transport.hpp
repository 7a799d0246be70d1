#pragma once

#include <cstdint>

/// The clock and the network under the replay: everything that takes time is a timer or a flow.
namespace lamina::replay {

/// What the replay gives to a timer or flow and gets back when it ends.
using Token = std::uint64_t;

class TransportListener {
 public:
  virtual ~TransportListener() = default;
  virtual void timer_ended(Token token) = 0;
  virtual void flow_ended(Token token) = 0;
};

class Transport {
 public:
  using Timer = void*;

  virtual ~Transport() = default;

  /// Seconds since the start.
  [[nodiscard]] virtual double now() const = 0;

  /// Moves `bytes` (> 0) over the links of `path`, sharing them with all other flows.
  virtual void start_flow(std::int32_t path, double bytes, Token token) = 0;

  /// Ends at `date`, not before now(). The handle is valid until the timer ends.
  virtual Timer start_timer(double date, Token token) = 0;
  virtual void cancel_timer(Timer timer) = 0;

  /// Runs until no timer and no flow is left. The listener may start more of them.
  virtual void run(TransportListener& listener) = 0;
};

}  // namespace lamina::replay
