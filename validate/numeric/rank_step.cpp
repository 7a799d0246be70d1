#include "validate/numeric/rank_step.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "validate/numeric/build_device.hpp"
#include "validate/numeric/collectives.hpp"

namespace lamina::validate::numeric {

using graph::OperationKind;
using graph::Phase;

RankStep::RankStep(const World& world, const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                   const ProgramFacts& facts, std::int32_t rank, Exchange& exchange)
    : world_(world),
      program_(graph.programs[static_cast<std::size_t>(deployment.ranks[static_cast<std::size_t>(rank)].program)]),
      deployment_(deployment),
      facts_(facts),
      rank_(rank),
      here_(deployment.ranks[static_cast<std::size_t>(rank)]),
      exchange_(exchange),
      worker_(world, here_.program, here_.data, here_.tensor,
              Device(world.strategy, world.shape, build_units(world, facts, here_.data, here_.tensor))) {}

void RankStep::run(std::uint32_t index) {
  const graph::Operation& operation = program_.operations[index];
  switch (operation.kind) {
    case OperationKind::kCompute:
      compute(operation);
      break;
    case OperationKind::kSend:
      send(operation);
      break;
    case OperationKind::kReceive:
      receive(operation);
      break;
    case OperationKind::kHostCopy:
      copy(index);
      break;
    case OperationKind::kCollective:
      collective(index);
      return;  // weights are dropped when it has ended
  }
  const std::lock_guard lock(mutex_);
  drop_weights(index);
}

void RankStep::drop_weights(std::uint32_t operation) {
  for (const int unit : facts_.drops[operation]) {
    worker_.device().drop(unit);
  }
}

void RankStep::compute(const graph::Operation& operation) {
  switch (operation.phase) {
    case Phase::kForward: {
      const std::lock_guard lock(mutex_);
      worker_.forward(operation);
      return;
    }
    case Phase::kRecompute: {
      const std::lock_guard lock(mutex_);
      worker_.recompute(operation);
      return;
    }
    case Phase::kInputGradient:
    case Phase::kBackward: {
      std::vector<Exponentials> vocabulary;
      if (operation.layer == world_.shape.layers) {
        vocabulary = vocabulary_part(operation);
        if (world_.strategy.tensor_parallel > 1) {
          vocabulary = exchange_.whole_vocabulary(rank_, operation, std::move(vocabulary));
        }
      }
      const std::lock_guard lock(mutex_);
      worker_.backward(operation, vocabulary);
      return;
    }
    case Phase::kWeightGradient: {
      const std::lock_guard lock(mutex_);
      worker_.weight_gradient(operation);
      return;
    }
    case Phase::kUpdate: {
      const int unit = worker_.device().unit_of(operation.stage, operation.layer);
      sum_replicas(unit);
      const float step = rate();
      const std::lock_guard lock(mutex_);
      worker_.device().update(unit, step);
      return;
    }
    default:
      throw error::InternalError("computes what the numeric backend does not know");
  }
}

void RankStep::copy(std::uint32_t index) {
  const graph::Operation& operation = program_.operations[index];
  if (operation.micro_batch >= 0) {
    const std::lock_guard lock(mutex_);
    operation.to_host ? worker_.evict_checkpoint(operation) : worker_.fetch_checkpoint(operation);
    return;
  }
  Device& device = worker_.device();
  const int unit = device.unit_of(operation.stage, operation.layer);
  if (operation.to_host && updates_on_host()) {
    sum_replicas(unit);
  }
  const std::lock_guard lock(mutex_);
  if (operation.to_host) {
    updates_on_host() ? device.copy_gradient_out(unit) : device.copy_state_out(unit);
  } else if (facts_.copies[index] == ProgramFacts::Copy::kState) {
    device.copy_state_in(unit);
  } else {
    device.copy_weights_in(unit);
  }
}

void RankStep::send(const graph::Operation& operation) {
  const bool gradients = program_.channels[operation.channel].gradients;
  Message message{operation.stage, operation.micro_batch, {}};
  {
    const std::lock_guard lock(mutex_);
    message.content = worker_.take_made({operation.stage, operation.micro_batch, gradients});
  }
  if (slices_messages(world_)) {
    keep_slice(message.content.values, static_cast<std::size_t>(here_.tensor),
               static_cast<std::size_t>(world_.strategy.tensor_parallel));
  }
  exchange_.send(here_.channels[operation.channel], std::move(message));
}

void RankStep::receive(const graph::Operation& operation) {
  exchange_.receive(here_.channels[operation.channel],
                    [this, &operation](Message message) { accept_message(operation, std::move(message)); });
}

void RankStep::accept_message(const graph::Operation& operation, Message message) {
  const bool gradients = program_.channels[operation.channel].gradients;
  const auto& stages = world_.table.stages;
  const bool exists = message.stage >= 0 && message.stage < static_cast<int>(stages.size());
  const int next = !exists     ? -1
                   : gradients ? stages[static_cast<std::size_t>(message.stage)].previous
                               : stages[static_cast<std::size_t>(message.stage)].next;
  if (next != operation.stage || message.micro_batch != operation.micro_batch) {
    throw error::InternalError(
        fmt::format("meets the message of stage {}, micro-batch {}", message.stage, message.micro_batch));
  }
  const std::lock_guard lock(mutex_);
  worker_.receive({operation.stage, operation.micro_batch, gradients}, std::move(message.content));
}

void RankStep::collective(std::uint32_t index) {
  const graph::Operation& operation = program_.operations[index];
  if (is_norm(operation)) {
    start_norm();
  }
  std::vector<float> values;
  {
    const std::lock_guard lock(mutex_);
    values = is_norm(operation) ? std::vector<float>{static_cast<float>(*norm_)}
                                : contribution(world_, worker_, operation, gathers_gradients(index));
  }
  const std::int32_t group = here_.groups[static_cast<std::size_t>(operation.group)];
  if (group == -1 || deployment_.groups[static_cast<std::size_t>(group)].size <= 1) {
    accept_collective(index, std::move(values));
    return;
  }
  exchange_.collective({rank_, group, operation.phase, operation.collective}, std::move(values),
                       [this, index](std::vector<float> outcome) { accept_collective(index, std::move(outcome)); });
}

void RankStep::accept_collective(std::uint32_t index, std::vector<float> outcome) {
  const graph::Operation& operation = program_.operations[index];
  const std::lock_guard lock(mutex_);
  if (is_norm(operation)) {
    norm_ = outcome.front();
    ++norms_done_;
  } else {
    accept(world_, worker_, operation, gathers_gradients(index), std::move(outcome));
  }
  drop_weights(index);
}

/// Selective recomputation stands between the gather of an output gradient and the backward that reads it.
bool RankStep::gathers_gradients(std::uint32_t operation) const {
  const Phase next = facts_.computes_next[operation];
  return next == Phase::kBackward || next == Phase::kInputGradient ||
         (next == Phase::kRecompute && world_.strategy.recompute == scenario::Recompute::kSelective);
}

/// A rank's own part of the norm, when the first collective asks for it.
void RankStep::start_norm() {
  {
    const std::lock_guard lock(mutex_);
    if (norm_) {
      return;
    }
  }
  for (int unit = 0; unit < static_cast<int>(worker_.device().units().size()); ++unit) {
    sum_replicas(unit);
  }
  const std::lock_guard lock(mutex_);
  if (!norm_) {
    norm_ = sum_of_squares(world_, worker_);
  }
}

/// The learning rate, less where the norm is above the limit.
float RankStep::rate() {
  const Optimizer optimizer = optimizer_of(world_.strategy);
  if (optimizer.clip == 0) {
    return optimizer.rate;
  }
  {
    const std::lock_guard lock(mutex_);
    if (norms_done_ != facts_.norms) {
      throw error::InternalError("the global norm is not known yet");
    }
  }
  start_norm();
  const std::lock_guard lock(mutex_);
  const auto norm = static_cast<float>(std::sqrt(*norm_));
  return norm > optimizer.clip ? optimizer.rate * (optimizer.clip / norm) : optimizer.rate;
}

/// Under sequence parallelism the tensor ranks hold shares of the gradients of norms and biases; their sum is not part
/// of the graph.
void RankStep::sum_replicas(int unit) {
  if (!world_.strategy.sequence_parallel) {
    return;
  }
  std::vector<float> own;
  {
    std::unique_lock lock(mutex_);
    if (sums_.find(unit) != sums_.end()) {
      summed_.wait(lock, [&] { return sums_[unit]; });
      return;
    }
    own = replicated_gradients(worker_.device(), unit);
    sums_[unit] = false;
  }
  const std::vector<float> sum = exchange_.sum_replicated(rank_, unit, std::move(own));
  {
    const std::lock_guard lock(mutex_);
    set_replicated_gradients(worker_.device(), unit, sum);
    sums_[unit] = true;
  }
  summed_.notify_all();
}

RankResult RankStep::finish() {
  if (updates_on_host()) {
    for (int unit = 0; unit < static_cast<int>(worker_.device().units().size()); ++unit) {
      const float step = rate();
      worker_.device().update_on_host(unit, step);
    }
  }
  worker_.expect_nothing_left();
  return result_of(worker_, norm_.value_or(0));
}

std::vector<Exponentials> RankStep::vocabulary_part(const graph::Operation& operation) {
  const std::lock_guard lock(mutex_);
  return worker_.vocabulary_part(operation);
}

std::vector<float> RankStep::replicated(int unit) {
  const std::lock_guard lock(mutex_);
  return replicated_gradients(worker_.device(), unit);
}

bool RankStep::updates_on_host() const {
  return world_.strategy.offload.state && world_.strategy.offload.update_on == scenario::OffloadUpdate::kHost;
}

std::string name_of(const graph::OperationGraph& graph, const deployment::Deployment& deployment, std::int32_t rank,
                    std::uint32_t operation) {
  const deployment::Rank& at = deployment.ranks[static_cast<std::size_t>(rank)];
  const std::string text = graph::describe(graph, graph.vertex(at.program, operation));
  return fmt::format("{} (data {}, tensor {})", text, at.data, at.tensor);
}

std::vector<ProgramFacts> facts_of(const graph::OperationGraph& graph, const scenario::Strategy& strategy) {
  std::vector<ProgramFacts> facts;
  for (const graph::Program& program : graph.programs) {
    facts.push_back(facts_of(program, strategy.offload.update_on == scenario::OffloadUpdate::kHost));
  }
  return facts;
}

}  // namespace lamina::validate::numeric
