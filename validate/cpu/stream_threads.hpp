#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "sim/graph/operation_graph.hpp"
#include "validate/ranks/control.hpp"

namespace lamina::validate::cpu {

/// The streams of one rank: a thread each, which does its operations in order and waits for others by their events.
class StreamThreads {
 public:
  /// `run` does an operation; called by the stream's thread. Both references outlive it.
  StreamThreads(const graph::Program& program, std::function<void(std::uint32_t)> run, ranks::Control& control);
  ~StreamThreads();
  StreamThreads(const StreamThreads&) = delete;
  StreamThreads& operator=(const StreamThreads&) = delete;

  /// `operation` begins when `before` has ended; both are of this rank.
  void wait(std::uint32_t operation, std::uint32_t before) { waits_[operation].push_back(before); }

  void launch(std::uint32_t operation) { queues_[program_.operations[operation].stream].push_back(operation); }

  /// Starts all streams, and waits until they are done; nothing is launched afterwards. What an operation throws is
  /// told to the coordinator, since other streams may wait for it for ever.
  void finish();

  /// How often the system took the core away from compute streams in the last run.
  [[nodiscard]] std::int64_t involuntary_switches() const { return switches_; }

 private:
  void serve(std::size_t stream);
  void run_queue(std::size_t stream);

  const graph::Program& program_;
  std::function<void(std::uint32_t)> run_;
  ranks::Control& control_;
  std::vector<std::vector<std::uint32_t>> queues_;  ///< [stream]
  std::vector<std::vector<std::uint32_t>> waits_;   ///< [operation]
  std::vector<std::atomic<std::uint32_t>> done_;    ///< [operation] its event
  std::int64_t switches_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t generation_ = 0;
  std::size_t busy_ = 0;
  bool leaving_ = false;
  std::exception_ptr fault_;
  std::vector<std::thread> threads_;
};

}  // namespace lamina::validate::cpu
