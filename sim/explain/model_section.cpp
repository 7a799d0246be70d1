#include <fmt/format.h>

#include "sim/explain/sections.hpp"
#include "sim/model/parameter_count.hpp"

namespace lamina::explain {
namespace {

void write_shape(Writer& writer, const scenario::Model& model) {
  writer.text(fmt::format(
      "layers L = {}, hidden h = {}, sequence s = {}, heads a = {} (key/value {}), head size d = {}", model.layers,
      model.hidden, model.sequence_length, model.heads, model.key_value_heads, model.head_size));
  writer.text(fmt::format("MLP width f = {}{}, vocabulary V = {}{}{}", model.feed_forward,
                          model.gated_mlp ? " (gated: three matrices)" : "", model.vocabulary,
                          model.vocabulary == 0 ? " (no embedding, head and loss)" : "",
                          model.tied_embeddings ? ", head shares the embedding's matrix" : ""));
}

void write_parameters(Writer& writer, const scenario::Model& model) {
  const auto count = model::parameters_of_model(model);
  writer.number("parameters per layer", count_of(count.layer),
                fmt::format("2 h a d + 2 h a_kv d + {} h f + {}", model.gated_mlp ? 3 : 2,
                            model.biases ? "biases and norms" : "norms"),
                "Narayanan et al., arXiv 2104.04473, eq. 2");
  if (model.vocabulary > 0) {
    writer.number(
        "parameters of the embedding", count_of(count.embedding),
        fmt::format("(V + positions) h = ({} + {}) x {}", model.vocabulary, model.learned_positions, model.hidden));
    writer.number("parameters of the head", count_of(count.head),
                  model.tied_embeddings ? "final norm; matrix tied to the embedding" : "V h + final norm");
  }
}

}  // namespace

void write_model(Writer& writer, const Subject& subject) {
  const scenario::Model& model = subject.scenario.model;
  const scenario::Strategy& strategy = subject.scenario.strategy;
  const auto& work = subject.prepared.work;
  writer.section(fmt::format("Model {}", model.name));
  if (model.custom.has_value()) {
    writer.text(fmt::format("{} layers with durations and sizes as given by the scenario", model.layers));
  } else {
    write_shape(writer, model);
    write_parameters(writer, model);
  }
  writer.number("parameters", count_of(work.parameters),
                model.custom.has_value() ? "layers x parameters of one rank and layer x tensor ranks"
                                         : fmt::format("embedding + {} layers + head", model.layers));
  const double tokens = static_cast<double>(strategy.global_batch()) * static_cast<double>(model.sequence_length);
  writer.number(
      "global batch", fmt::format("{} sequences", strategy.global_batch()),
      fmt::format("b m d = {} x {} x {}", strategy.micro_batch_size, strategy.micro_batches, strategy.data_parallel),
      "strategy");
  writer.number("tokens per step", count_of(tokens),
                fmt::format("{} x {}", strategy.global_batch(), model.sequence_length));
  writer.number("model FLOPs per token", text_of(work.model_flops_per_token),
                "3 x forward: 2 FLOPs per weight and token, scores as configured", "arXiv 2104.04473, appendix");
  writer.number("hardware FLOPs per token", text_of(work.hardware_flops_per_token), "the same and what is recomputed");
  writer.number("hardware FLOPs per step", text_of(work.hardware_flops_per_token * tokens),
                "per token x tokens per step");
  if (work.peak.value() > 0) {
    const double ranks = strategy.ranks();
    writer.number("step at peak on all ranks",
                  text_of(Seconds(work.hardware_flops_per_token.value() * tokens / (work.peak.value() * ranks))),
                  fmt::format("FLOPs per step / ({:g} ranks x {})", ranks, text_of(work.peak)),
                  subject.scenario.cluster.node.accelerator.name);
  }
}

}  // namespace lamina::explain
