#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/graph/operation_graph.hpp"
#include "validate/numeric/device.hpp"
#include "validate/numeric/world.hpp"

namespace lamina::validate::numeric {

/// What a stage makes for its neighbour, or has got from it: (stage, micro-batch, gradients).
using MessageKey = std::tuple<int, int, bool>;

/// One rank at work: its device and the activations and gradients of the micro-batches on it. Everything is absent
/// until an operation makes it and again after its last use; reading something absent is an InternalError.
class Worker {
 public:
  Worker(const World& world, int pipeline_rank, int data, int tensor, Device device);

  [[nodiscard]] Device& device() { return device_; }

  [[nodiscard]] const Device& device() const { return device_; }

  [[nodiscard]] int tensor() const { return tensor_; }

  // Compute
  void forward(const graph::Operation& operation);
  void recompute(const graph::Operation& operation);
  /// What the head's forward left of this rank's part of the vocabulary.
  /// @throws InternalError before it
  [[nodiscard]] const std::vector<Exponentials>& vocabulary_part(const graph::Operation& operation);
  /// With the weight gradient, or the input gradient only. `vocabulary`: of all tensor ranks, for the head.
  void backward(const graph::Operation& operation, const std::vector<Exponentials>& vocabulary);
  void weight_gradient(const graph::Operation& operation);

  // Tensor group
  /// This rank's share of what the last computation left to be summed.
  [[nodiscard]] Matrix& partial(const graph::Operation& operation);
  /// Goes on with the sum.
  void finish(const graph::Operation& operation, Matrix sum);
  /// The activations (or, with `gradients`, the output gradient) that the block of an operation is about to read.
  [[nodiscard]] Matrix& gathered(const graph::Operation& operation, bool gradients);
  /// A received message of which this rank has its slice only.
  [[nodiscard]] Matrix& received_slice(const graph::Operation& operation);

  // Pipeline
  [[nodiscard]] Matrix take_made(const MessageKey& key);
  void receive(const MessageKey& key, Matrix content);

  // Host
  void evict_checkpoint(const graph::Operation& operation);
  void fetch_checkpoint(const graph::Operation& operation);

  /// Cross entropy of this rank's tokens and part of the vocabulary, summed.
  [[nodiscard]] double loss() const { return loss_; }

  /// @throws InternalError when something is left that nobody has used
  void expect_nothing_left() const;

 private:
  /// What a unit keeps of a micro-batch.
  struct Saved {
    std::vector<Kept> blocks;
    std::vector<Exponentials> exponentials;  ///< head
    int forward_done = 0;                    ///< blocks
    int recomputed = 0;
    int backward_done = 0;  ///< from the last one on
    bool on_host = false;
  };

  /// A partial result that waits for the tensor group.
  struct Pending {
    int unit = 0;
    int micro_batch = 0;
    int block = 0;
    graph::Phase phase = graph::Phase::kForward;
    Matrix partial;
  };

  [[nodiscard]] const Unit& unit(int index) const { return device_.units()[static_cast<std::size_t>(index)]; }

  [[nodiscard]] int unit_of(const graph::Operation& operation) const;
  [[nodiscard]] Saved& saved(int unit, int micro_batch);
  [[nodiscard]] std::vector<std::int32_t> tokens(int unit, int micro_batch, int shift) const;
  [[nodiscard]] View head_matrix(int unit) const;
  void place_input(int unit, int micro_batch, int block);
  void place_output_gradient(int unit, int micro_batch, int block);
  [[nodiscard]] Matrix take_input(const Unit& unit, int micro_batch, bool gradients);
  void run_forward(int unit, int micro_batch, int block, graph::Phase phase);
  void leave_pending(Pending pending, bool exchanged);
  void finish_forward(const Pending& done, Matrix sum);
  void drop_after_forward(const Unit& unit, Saved& kept) const;
  void run_backward(int unit, int micro_batch, int block, graph::Phase phase,
                    const std::vector<Exponentials>& vocabulary);
  void compute_loss(int unit, int micro_batch, Kept& kept, const std::vector<Exponentials>& vocabulary);
  void finish_backward(const Pending& done, Matrix sum);
  void add_gradients(int unit, int micro_batch, int block, const Kept& kept);

  const World& world_;
  int pipeline_rank_;
  int data_;
  int tensor_;
  Device device_;
  std::map<MessageKey, Matrix> flow_;  ///< between units of a stage
  std::map<MessageKey, Matrix> made_;  ///< by a stage, for its neighbour
  std::map<MessageKey, Matrix> received_;
  std::map<std::pair<int, int>, Saved> saved_;  ///< (unit, micro-batch)
  std::optional<Pending> pending_;
  double loss_ = 0;
};

}  // namespace lamina::validate::numeric
