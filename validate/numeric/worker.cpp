#include "validate/numeric/worker.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::validate::numeric {
namespace {

using graph::Phase;
using scenario::Recompute;

const char* content(bool gradients) {
  return gradients ? "output gradient" : "activations";
}

/// @throws InternalError when it is absent
const Matrix& present(const Matrix& matrix, const char* what) {
  if (matrix.absent()) {
    throw error::InternalError(fmt::format("{} not made yet, or dropped", what));
  }
  return matrix;
}

Matrix take(std::map<MessageKey, Matrix>& from, const MessageKey& key, const char* what) {
  const auto found = from.find(key);
  if (found == from.end()) {
    const auto& [stage, micro_batch, gradients] = key;
    throw error::InternalError(
        fmt::format("no {} {} stage {}, micro-batch {}", content(gradients), what, stage, micro_batch));
  }
  Matrix result = std::move(found->second);
  from.erase(found);
  return result;
}

}  // namespace

Worker::Worker(const World& world, int pipeline_rank, int data, int tensor, Device device)
    : world_(world), pipeline_rank_(pipeline_rank), data_(data), tensor_(tensor), device_(std::move(device)) {}

void Worker::forward(const graph::Operation& operation) {
  const int index = unit_of(operation);
  const int blocks = unit(index).part.blocks();
  Saved& kept = saved_[{index, operation.micro_batch}];
  kept.blocks.resize(static_cast<std::size_t>(blocks));
  for (int block = kept.forward_done; block <= operation.block; ++block) {
    run_forward(index, operation.micro_batch, block, Phase::kForward);
  }
}

void Worker::recompute(const graph::Operation& operation) {
  const int index = unit_of(operation);
  Saved& kept = saved(index, operation.micro_batch);
  if (world_.strategy.recompute == Recompute::kSelective) {
    Kept& attention = kept.blocks.front();
    (void)present(attention.first, "queries and keys are");
    recompute_scores(unit(index).part, attention);
    return;
  }
  for (int block = kept.recomputed; block <= operation.block; ++block) {
    run_forward(index, operation.micro_batch, block, Phase::kRecompute);
  }
}

void Worker::run_forward(int index, int micro_batch, int block, Phase phase) {
  const Unit& at = unit(index);
  place_input(index, micro_batch, block);
  Saved& kept = saved(index, micro_batch);
  Kept& here = kept.blocks[static_cast<std::size_t>(block)];
  ++(phase == Phase::kForward ? kept.forward_done : kept.recomputed);
  if (at.part.is_head()) {
    head_forward(at.part, device_.weights(index), head_matrix(index), here);
    kept.exponentials = exponentials(here.first.view());
    return;
  }
  Pending result{index, micro_batch, block, phase, {}};
  result.partial = at.part.is_embedding() ? embed(at.part, device_.weights(index), tokens(index, micro_batch, 0))
                                          : forward_partial(at.part, block, device_.weights(index), here);
  leave_pending(std::move(result), true);
}

/// Sums of one rank need no exchange.
void Worker::leave_pending(Pending pending, bool exchanged) {
  if (pending_) {
    throw error::InternalError("goes on before the tensor group has summed what came before");
  }
  const bool backward = pending.phase == Phase::kBackward || pending.phase == Phase::kInputGradient;
  if (exchanged && world_.strategy.tensor_parallel > 1) {
    pending_ = std::move(pending);
    return;
  }
  Matrix sum = std::move(pending.partial);
  if (backward) {
    finish_backward(pending, std::move(sum));
  } else {
    finish_forward(pending, std::move(sum));
  }
}

void Worker::finish(const graph::Operation& operation, Matrix sum) {
  (void)partial(operation);
  const Pending done = std::move(*pending_);
  pending_.reset();
  if (done.phase == Phase::kBackward || done.phase == Phase::kInputGradient) {
    finish_backward(done, std::move(sum));
  } else {
    finish_forward(done, std::move(sum));
  }
}

void Worker::finish_forward(const Pending& done, Matrix sum) {
  const Unit& at = unit(done.unit);
  Saved& kept = saved(done.unit, done.micro_batch);
  Matrix output;
  if (at.part.is_embedding()) {
    add_positions(at.part, device_.weights(done.unit), sum);
    output = std::move(sum);
  } else {
    output = forward_output(at.part, done.block, device_.weights(done.unit),
                            kept.blocks[static_cast<std::size_t>(done.block)], std::move(sum));
  }
  if (done.block + 1 < at.part.blocks()) {
    kept.blocks[static_cast<std::size_t>(done.block) + 1].input = std::move(output);
    return;
  }
  if (done.phase == Phase::kRecompute) {
    return;
  }
  drop_after_forward(at, kept);
  const bool leaves = world_.table.stages[static_cast<std::size_t>(at.stage)].next >= 0 && at.last_of_stage;
  (leaves ? made_ : flow_)[{at.stage, done.micro_batch, false}] = std::move(output);
}

/// What recomputation makes again is not kept.
void Worker::drop_after_forward(const Unit& at, Saved& kept) const {
  if (at.part.is_embedding() || at.part.is_head()) {
    return;
  }
  if (world_.strategy.recompute == Recompute::kFull) {
    Kept input;
    input.input = std::move(kept.blocks.front().input);
    for (int row = 0; row < input.input.rows; ++row) {  // other ranks' slices of the sequence are gathered again
      if (row < at.part.first_row || row >= at.part.end_row) {
        std::ranges::fill(input.input.row(row), std::numeric_limits<float>::quiet_NaN());
      }
    }
    kept.blocks = {std::move(input), Kept{}};
  } else if (world_.strategy.recompute == Recompute::kSelective && !world_.strategy.fused_attention) {
    kept.blocks.front().probabilities = {};
  }
}

const std::vector<Exponentials>& Worker::vocabulary_part(const graph::Operation& operation) {
  const Saved& kept = saved(unit_of(operation), operation.micro_batch);
  if (kept.exponentials.empty()) {
    throw error::InternalError("the forward is not complete");
  }
  return kept.exponentials;
}

void Worker::backward(const graph::Operation& operation, const std::vector<Exponentials>& vocabulary) {
  const int index = unit_of(operation);
  Saved& kept = saved(index, operation.micro_batch);
  const int blocks = unit(index).part.blocks();
  if (kept.forward_done != blocks) {
    throw error::InternalError("the forward is not complete");
  }
  for (int block = blocks - 1 - kept.backward_done; block >= operation.block; --block) {
    run_backward(index, operation.micro_batch, block, operation.phase, vocabulary);
  }
}

void Worker::run_backward(int index, int micro_batch, int block, Phase phase,
                          const std::vector<Exponentials>& vocabulary) {
  const Unit& at = unit(index);
  place_output_gradient(index, micro_batch, block);
  Saved& kept = saved(index, micro_batch);
  Kept& here = kept.blocks[static_cast<std::size_t>(block)];
  ++kept.backward_done;
  Pending result{index, micro_batch, block, phase, {}};
  if (at.part.is_embedding()) {
    leave_pending(std::move(result), false);
    return;
  }
  (void)present(here.normed, "activations are");
  (void)present(here.first, "activations are");
  if (at.part.is_head()) {
    compute_loss(index, micro_batch, here, vocabulary);
    result.partial = head_backward_partial(head_matrix(index), here);
  } else {
    (void)present(block == 0 ? here.probabilities : here.inner, "activations are");
    result.partial = backward_partial(at.part, block, device_.weights(index), here);
  }
  leave_pending(std::move(result), true);
}

/// The exchange of the vocabulary's parts is not modelled (docs/model.md, 1.2).
void Worker::compute_loss(int index, int micro_batch, Kept& kept, const std::vector<Exponentials>& vocabulary) {
  const Unit& at = unit(index);
  double loss = 0;
  kept.first_gradient =
      cross_entropy_gradient(kept.first.view(), vocabulary, tokens(index, micro_batch, 1), at.part.first_token,
                             static_cast<float>(1 / world_.tokens_per_step()), loss);
  loss_ += loss;
}

void Worker::finish_backward(const Pending& done, Matrix sum) {
  const Unit& at = unit(done.unit);
  Saved& kept = saved(done.unit, done.micro_batch);
  Kept& here = kept.blocks[static_cast<std::size_t>(done.block)];
  Matrix input_gradient;
  if (at.part.is_head()) {
    input_gradient = head_backward_output(at.part, device_.weights(done.unit), here, std::move(sum));
  } else if (!at.part.is_embedding()) {
    input_gradient = backward_output(at.part, done.block, device_.weights(done.unit), here, std::move(sum));
  }
  if (done.phase == Phase::kBackward) {
    add_gradients(done.unit, done.micro_batch, done.block, here);
    here = {};
  } else {
    here.input = {};
    here.probabilities = {};
    here.first = {};
  }
  if (done.block > 0) {
    kept.blocks[static_cast<std::size_t>(done.block) - 1].output_gradient = std::move(input_gradient);
    return;
  }
  if (done.phase == Phase::kBackward) {
    saved_.erase({done.unit, done.micro_batch});
  }
  if (!at.part.is_embedding()) {
    const bool leaves = world_.table.stages[static_cast<std::size_t>(at.stage)].previous >= 0 && at.first_of_stage;
    (leaves ? made_ : flow_)[{at.stage, done.micro_batch, true}] = std::move(input_gradient);
  }
}

void Worker::weight_gradient(const graph::Operation& operation) {
  const int index = unit_of(operation);
  Saved& kept = saved(index, operation.micro_batch);
  const int blocks = unit(index).part.blocks();
  if (kept.backward_done != blocks) {
    throw error::InternalError("the input gradient is not complete");
  }
  for (int block = blocks - 1; block >= operation.block; --block) {
    add_gradients(index, operation.micro_batch, block, kept.blocks[static_cast<std::size_t>(block)]);
  }
  saved_.erase({index, operation.micro_batch});
}

void Worker::add_gradients(int index, int micro_batch, int block, const Kept& kept) {
  const Unit& at = unit(index);
  const std::span<float> gradient = device_.accumulate(index);
  if (at.part.is_embedding()) {
    add_embedding_gradients(at.part, tokens(index, micro_batch, 0), kept.output_gradient.view(), gradient);
    return;
  }
  if (!at.part.is_head()) {
    add_weight_gradients(at.part, block, kept, gradient);
    return;
  }
  const auto rows = static_cast<std::size_t>(at.part.shape.vocabulary);
  const std::size_t size = rows * static_cast<std::size_t>(at.part.shape.hidden);
  std::span<float> matrix;
  if (at.own_matrix) {
    matrix = gradient.subspan(at.part.parameters[slot::kMatrix].offset, size);
  } else {
    matrix = device_.accumulate(device_.unit_of(device_.units().front().stage, -1)).first(size);
  }
  add_head_gradients(at.part, kept, gradient, {matrix, at.part.shape.vocabulary, at.part.shape.hidden});
}

View Worker::head_matrix(int index) const {
  const Unit& at = unit(index);
  const auto rows = static_cast<std::size_t>(at.part.shape.vocabulary);
  const std::size_t size = rows * static_cast<std::size_t>(at.part.shape.hidden);
  if (at.own_matrix) {
    return {device_.weights(index).subspan(at.part.parameters[slot::kMatrix].offset, size), at.part.shape.vocabulary,
            at.part.shape.hidden};
  }
  const int embedding = device_.unit_of(device_.units().front().stage, -1);
  return {device_.weights(embedding).first(size), at.part.shape.vocabulary, at.part.shape.hidden};
}

void Worker::place_input(int index, int micro_batch, int block) {
  const Unit& at = unit(index);
  Saved& kept = saved_[{index, micro_batch}];
  kept.blocks.resize(static_cast<std::size_t>(at.part.blocks()));
  Matrix& input = kept.blocks[static_cast<std::size_t>(block)].input;
  if (at.part.is_embedding() || !input.absent()) {
    return;
  }
  if (block > 0 || kept.forward_done > 0) {
    throw error::InternalError("the block's input is not made yet, or dropped");
  }
  input = take_input(at, micro_batch, false);
}

void Worker::place_output_gradient(int index, int micro_batch, int block) {
  const Unit& at = unit(index);
  Matrix& gradient = saved(index, micro_batch).blocks[static_cast<std::size_t>(block)].output_gradient;
  if (at.part.is_head() || !gradient.absent()) {
    return;
  }
  if (block + 1 < at.part.blocks()) {
    throw error::InternalError("the block's output gradient is not made yet");
  }
  gradient = take_input(at, micro_batch, true);
}

/// From the unit before, the stage before on this rank, or a message.
Matrix Worker::take_input(const Unit& at, int micro_batch, bool gradients) {
  const bool within = gradients ? !at.last_of_stage : !at.first_of_stage;
  if (within) {
    return take(flow_, {at.stage, micro_batch, gradients}, "within");
  }
  const schedules::Stage& stage = world_.table.stages[static_cast<std::size_t>(at.stage)];
  const int source = gradients ? stage.next : stage.previous;
  if (source < 0) {
    throw error::InternalError(fmt::format("stage {} has no {}", at.stage, content(gradients)));
  }
  if (world_.table.stages[static_cast<std::size_t>(source)].rank == pipeline_rank_) {
    return take(made_, {source, micro_batch, gradients}, "from");
  }
  return take(received_, {at.stage, micro_batch, gradients}, "received for");
}

Matrix& Worker::partial(const graph::Operation& operation) {
  const bool expected = pending_ && pending_->unit == unit_of(operation) &&
                        pending_->micro_batch == operation.micro_batch && pending_->block == operation.block;
  if (!expected) {
    throw error::InternalError("there is nothing to sum here");
  }
  return pending_->partial;
}

Matrix& Worker::gathered(const graph::Operation& operation, bool gradients) {
  const int index = unit_of(operation);
  if (gradients) {
    place_output_gradient(index, operation.micro_batch, operation.block);
  } else {
    place_input(index, operation.micro_batch, operation.block);
  }
  Kept& kept = saved(index, operation.micro_batch).blocks[static_cast<std::size_t>(operation.block)];
  return gradients ? kept.output_gradient : kept.input;
}

Matrix& Worker::received_slice(const graph::Operation& operation) {
  for (const bool gradients : {false, true}) {
    const auto found = received_.find({operation.stage, operation.micro_batch, gradients});
    if (found != received_.end()) {
      return found->second;
    }
  }
  throw error::InternalError(
      fmt::format("nothing was received for stage {}, micro-batch {}", operation.stage, operation.micro_batch));
}

Matrix Worker::take_made(const MessageKey& key) {
  return take(made_, key, "made by");
}

void Worker::receive(const MessageKey& key, Matrix received) {
  received_[key] = std::move(received);
}

void Worker::evict_checkpoint(const graph::Operation& operation) {
  Saved& kept = saved(unit_of(operation), operation.micro_batch);
  if (kept.forward_done != unit(unit_of(operation)).part.blocks()) {
    throw error::InternalError("the forward is not complete");
  }
  kept.on_host = true;
}

void Worker::fetch_checkpoint(const graph::Operation& operation) {
  const auto found = saved_.find({unit_of(operation), operation.micro_batch});
  if (found == saved_.end() || !found->second.on_host) {
    throw error::InternalError("the checkpoint is not on the host");
  }
  found->second.on_host = false;
}

void Worker::expect_nothing_left() const {
  if (!flow_.empty() || !made_.empty() || !received_.empty() || !saved_.empty() || pending_) {
    throw error::InternalError(
        fmt::format("rank (data {}, pipeline {}, tensor {}): {} activations or gradients were made and never used",
                    data_, pipeline_rank_, tensor_, flow_.size() + made_.size() + received_.size() + saved_.size()));
  }
}

int Worker::unit_of(const graph::Operation& operation) const {
  return device_.unit_of(operation.stage, operation.layer);
}

Worker::Saved& Worker::saved(int index, int micro_batch) {
  const auto found = saved_.find({index, micro_batch});
  if (found == saved_.end()) {
    throw error::InternalError("no activations of this micro-batch are kept");
  }
  if (found->second.on_host) {
    throw error::InternalError("the activations of this micro-batch are on the host");
  }
  return found->second;
}

std::vector<std::int32_t> Worker::tokens(int index, int micro_batch, int shift) const {
  std::vector<std::int32_t> result;
  const int of_replica = world_.first_micro_batch[static_cast<std::size_t>(unit(index).stage)] + micro_batch;
  const int first = (data_ * world_.strategy.micro_batches + of_replica) * world_.sequences_per_micro_batch;
  for (int sequence = 0; sequence < world_.sequences_per_micro_batch; ++sequence) {
    for (int position = 0; position < world_.shape.sequence; ++position) {
      result.push_back(token_of(world_.shape, first + sequence, position + shift));
    }
  }
  return result;
}

}  // namespace lamina::validate::numeric
