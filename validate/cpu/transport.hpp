#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "validate/ranks/control.hpp"

namespace lamina::validate::cpu {

/// One direction between two ranks: a channel of the deployment, or an edge of a group's ring for one kind of traffic.
/// One message at a time.
struct Pipe {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t path = -1;  ///< of the deployment; -1: none, whose pace is not kept
  std::size_t most_bytes = 0;
};

/// Blocking messages by rendezvous: a transfer starts when both ends are there, as NCCL's do. Each pipe is used by one
/// thread at a time at either end, different pipes by different threads at once.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual void send(std::size_t pipe, std::span<const std::byte> content) = 0;
  virtual void receive(std::size_t pipe, std::span<std::byte> content) = 0;

  /// Both at once, as a step of a ring needs it.
  virtual void exchange(std::size_t out, std::span<const std::byte> sent, std::size_t in,
                        std::span<std::byte> received) = 0;
};

/// Memory that all ranks of this machine share, made before they are forked. Messages pass through a slot per pipe, at
/// the pace of the deployment's links: a link is reserved in pieces, first come first served, so that two messages on
/// it share it; latency is slept. No privileges, nothing left behind.
class SharedMemory {
 public:
  /// Pieces of a message that reserve a link: short enough for others to get in between, long enough to sleep.
  static constexpr double kPieceSeconds = 2e-3;

  /// Both must outlive it.
  /// @throws EnvironmentError when there is not so much memory
  SharedMemory(const std::vector<Pipe>& pipes, const deployment::Deployment& deployment);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] std::unique_ptr<Transport> attach();

  /// Sleeps as long as `bytes` take on a path, less what has passed since `start_s`.
  void pace(std::int32_t path, double bytes, double start_s);

 private:
  friend class SharedTransport;
  struct Slot;
  struct LinkState;

  [[nodiscard]] Slot& slot(std::size_t pipe) const;
  [[nodiscard]] std::byte* data(std::size_t pipe) const;

  const std::vector<Pipe>& pipes_;
  const deployment::Deployment& deployment_;
  std::vector<std::size_t> offsets_;  ///< [pipe]
  std::size_t size_ = 0;
  std::byte* memory_ = nullptr;
};

/// TCP: a connection per pipe. Collective: every rank calls it.
/// @param address where this rank listens, as the others reach it
/// @throws EnvironmentError with address and reason
[[nodiscard]] std::unique_ptr<Transport> connect_sockets(const std::vector<Pipe>& pipes, int rank,
                                                         const std::string& address, ranks::Control& control);

}  // namespace lamina::validate::cpu
