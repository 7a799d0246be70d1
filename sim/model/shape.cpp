#include "sim/model/shape.hpp"

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::model {
namespace {

std::int64_t divide(std::int64_t amount, int tensor_parallel, std::string_view what, std::string_view key) {
  if (amount % tensor_parallel != 0) {
    error::ScenarioFault fault;
    fault.key = "strategy.tensor_parallel";
    fault.problem =
        fmt::format("The model's {} ({}) cannot be split over {} tensor ranks.", what, key, tensor_parallel);
    fault.read = std::to_string(tensor_parallel);
    fault.allowed = fmt::format("a divisor of {}", amount);
    throw error::ScenarioError(std::move(fault));
  }
  return amount / tensor_parallel;
}

std::int64_t split_key_value_heads(std::int64_t heads, int tensor_parallel) {
  if (heads > 0 && heads < tensor_parallel && tensor_parallel % heads == 0) {
    return 1;  // replicated on tensor_parallel / heads ranks
  }
  return divide(heads, tensor_parallel, "key/value heads", fmt::format("model.key_value_heads: {}", heads));
}

}  // namespace

double Shape::score_elements() const {
  const auto length = static_cast<double>(sequence);
  return static_cast<double>(micro_batch) * static_cast<double>(heads) * length * length;
}

double Shape::resident_elements() const {
  return static_cast<double>(resident_tokens) * static_cast<double>(hidden);
}

double activation_bytes_of(scenario::DataType compute) {
  return compute == scenario::DataType::kFp8 ? 2.0 : scenario::bytes_of(compute);
}

Shape shape_of(const scenario::Model& model, const scenario::Strategy& strategy, bool attention_scores,
               int tensor_parallel, bool sequence_parallel) {
  Shape shape;
  shape.micro_batch = strategy.micro_batch_size;
  shape.sequence = model.sequence_length;
  shape.tokens = shape.micro_batch * shape.sequence;
  shape.resident_tokens = shape.tokens;
  if (sequence_parallel) {
    shape.resident_tokens = shape.micro_batch * divide(model.sequence_length, tensor_parallel, "sequence",
                                                       fmt::format("model.sequence_length: {}", model.sequence_length));
  }
  shape.hidden = model.hidden;
  shape.heads = divide(model.heads, tensor_parallel, "attention heads", fmt::format("model.heads: {}", model.heads));
  shape.key_value_heads = split_key_value_heads(model.key_value_heads, tensor_parallel);
  shape.head_size = model.head_size;
  shape.feed_forward = divide(model.feed_forward, tensor_parallel, "MLP width",
                              fmt::format("model.feed_forward: {}", model.feed_forward));
  shape.vocabulary = (model.vocabulary + tensor_parallel - 1) / tensor_parallel;
  shape.positions = model.learned_positions;
  shape.tensor_split = tensor_parallel > 1;
  shape.gated = model.gated_mlp;
  shape.dropout = !model.gated_mlp;
  shape.biases = model.biases;
  shape.rotary = model.learned_positions == 0;
  shape.tied = model.tied_embeddings;
  shape.scores = attention_scores;
  shape.fused = strategy.fused_attention;
  shape.attention_kernel = strategy.attention_kernel;
  shape.fused_gradients = strategy.fused_gradient_accumulation;
  shape.fused_loss = strategy.fused_cross_entropy;
  shape.logit_metrics = strategy.logit_metrics;
  shape.score_share = model.causal_half ? 0.5 : 1.0;
  const scenario::DataType compute = strategy.precision.compute;
  shape.operand_bytes = scenario::bytes_of(compute);
  shape.activation_bytes = activation_bytes_of(compute);
  shape.weight_gradient_bytes = scenario::bytes_of(strategy.precision.gradients);
  shape.narrow = compute == scenario::DataType::kFp8;
  return shape;
}

}  // namespace lamina::model
