#include "sim/scenario/schema_keys.hpp"

namespace lamina::scenario {
namespace {

constexpr double kMostLayers = 100'000;
constexpr double kWidest = 1e9;

KeySpec size(std::string name, std::string help) {
  return between(1, kWidest, key(std::move(name), ValueKind::kInteger, std::move(help)));
}

Section model_section() {
  const std::string shape = "required unless `base`, `hugging_face` or `custom` gives it";
  return {
      "model",
      "model",
      "A name of the catalogue (`lamina list models`), or a mapping: `base:` with changes, `hugging_face:` with "
      "changes, "
      "`custom:` with `layers`, or a whole definition. `x<N>` is the family of arXiv 2106.02679 for any N from 1 to "
      "1000: N layers of width N^2.",
      "base",
      {with_default_text("none", key("base", ValueKind::kText, "Catalogue entry that the other keys change.")),
       with_default_text("none", key("hugging_face", ValueKind::kText,
                                     "Path of a dense model's `config.json`, relative to the scenario. The sequence "
                                     "length is `max_position_embeddings` unless `sequence_length` says otherwise.")),
       with_default_text("none", to("custom", key("custom", ValueKind::kSection,
                                                  "Measured durations and sizes per layer instead of shapes."))),
       with_default_text("from `base`, else `custom` or `inline`",
                         key("name", ValueKind::kText, "What reports call the model.")),
       with_default_text("from `base`", key("source", ValueKind::kText, "Where the numbers come from.")),
       with_default_text("from `base`", key("summary", ValueKind::kText, "One sentence for `lamina list`.")),
       with_default_text("required unless `base` or `hugging_face` gives it",
                         between(1, kMostLayers, key("layers", ValueKind::kInteger, "Transformer layers."))),
       with_default_text(shape, size("hidden", "Width of the model.")),
       with_default_text(shape + "; 1 with `custom`", size("sequence_length", "Tokens of one sequence.")),
       with_default_text(shape, size("heads", "Attention (query) heads.")),
       with_default_text("`heads`", size("key_value_heads", "Heads of keys and values; divides `heads`.")),
       with_default_text("`hidden` / `heads`", size("head_size", "Width of one head.")),
       with_default_text("4 x `hidden`", size("feed_forward", "Width of the MLP.")),
       with_default("false", key("gated_mlp", ValueKind::kBoolean, "Three MLP matrices (SwiGLU) instead of two.")),
       with_default("0", between(0, kWidest,
                                 key("vocabulary", ValueKind::kInteger,
                                     "Tokens of the vocabulary; 0: no embedding, no head, no loss."))),
       with_default("false", key("tied_embeddings", ValueKind::kBoolean, "Input and output embedding share weights.")),
       with_default("0", between(0, kWidest,
                                 key("learned_positions", ValueKind::kInteger,
                                     "Rows of a learned position embedding; 0: none (rotary)."))),
       with_default("true", key("biases", ValueKind::kBoolean, "Linear layers have biases.")),
       with_default("false", key("causal_half", ValueKind::kBoolean,
                                 "Count only the lower triangle of the attention scores."))}};
}

KeySpec duration(std::string name, std::string help) {
  return with_default("0 s", not_negative(key(std::move(name), ValueKind::kSeconds, std::move(help))));
}

KeySpec amount(std::string name, std::string help) {
  return with_default("0 B", not_negative(key(std::move(name), ValueKind::kBytes, std::move(help))));
}

Section custom_section() {
  return {
      "custom",
      "model.custom",
      "Durations and sizes of one layer on one rank, per micro-batch unless it says otherwise, as measured under the "
      "tensor parallelism in use. They are not rescaled.",
      "",
      {required(positive(key("forward", ValueKind::kSeconds, "Forward pass."))),
       with_default_text(
           "as `forward`",
           not_negative(
               key("recompute", ValueKind::kSeconds,
                   "Recomputation before the backward pass; counts only when `strategy.recompute` is `full`."))),
       required(not_negative(key("input_gradient", ValueKind::kSeconds, "Backward pass, gradient of the input."))),
       required(not_negative(key("weight_gradient", ValueKind::kSeconds, "Backward pass, gradient of the weights."))),
       duration("update", "Optimizer, per step."),
       amount("message", "Activations handed to the next stage; 0 B: a pure dependency."),
       amount("parameters", "Half-precision weights: what a restore and a reduction move."),
       amount("state", "Optimizer state before sharding."),
       amount("checkpoint", "Kept from the forward to the backward pass."),
       amount("working_set", "Alive while the layer is computed."),
       amount("tensor_message", "Payload of each tensor-parallel collective, two per layer and pass; 0 B: none."),
       with_default("0 FLOP", not_negative(key("flops", ValueKind::kFlops,
                                               "Of the forward pass, for utilisation figures; 0: not reported.")))}};
}

}  // namespace

std::vector<Section> model_sections() {
  return {model_section(), custom_section()};
}

}  // namespace lamina::scenario
