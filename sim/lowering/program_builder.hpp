#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/graph/operation_graph.hpp"

namespace lamina::lowering {

using OperationId = std::uint32_t;

inline constexpr OperationId kNoOperation = 0xffffffffU;

/// Collects the operations of one pipeline role. Streams are made when first used; stream 0 is compute.
class ProgramBuilder {
 public:
  ProgramBuilder();

  /// Stream of a kind; `peer` and `gradients` distinguish the pipeline streams.
  [[nodiscard]] std::uint16_t stream(graph::StreamKind kind, int peer = -1, bool gradients = false);

  /// Appends to the operation's stream.
  OperationId add(const graph::Operation& operation) {
    const auto id = static_cast<OperationId>(program_.operations.size());
    program_.operations.push_back(operation);
    if (operation.stream == 0) {
      last_compute_ = id;
      for (const OperationId before : pending_) {
        depend(before, id);
      }
      pending_.clear();
    }
    return id;
  }

  /// `before` may be kNoOperation (nothing to wait for).
  void depend(OperationId before, OperationId after) {
    if (before != kNoOperation && before != after) {
      program_.dependencies.emplace_back(before, after);
    }
  }

  void take(OperationId at, bool at_end, graph::MemoryCategory category, double bytes) {
    if (bytes != 0) {
      program_.memory_effects.push_back({at, at_end, category, bytes});
    }
  }

  void give_back(OperationId at, bool at_end, graph::MemoryCategory category, double bytes) {
    take(at, at_end, category, -bytes);
  }

  void reside(graph::MemoryCategory category, double bytes);

  /// Adds an end of a channel and returns its index.
  std::uint16_t add_channel(const graph::Channel& channel);

  /// Room for what is to come.
  void reserve(std::size_t operations, std::size_t memory_effects, std::size_t dependencies);

  [[nodiscard]] graph::Program& program() { return program_; }

  [[nodiscard]] OperationId last_compute() const { return last_compute_; }

  /// Makes the next operation on the compute stream wait for `before`.
  void hold_compute_for(OperationId before) { pending_.push_back(before); }

 private:
  /// Which stream is which, by index; a program has a handful.
  struct StreamKey {
    graph::StreamKind kind = graph::StreamKind::kCompute;
    int peer = -1;
    bool gradients = false;
    bool operator==(const StreamKey&) const = default;
  };

  graph::Program program_;
  std::vector<StreamKey> streams_;
  OperationId last_compute_ = kNoOperation;
  std::vector<OperationId> pending_;
};

}  // namespace lamina::lowering
