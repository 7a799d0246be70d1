#include "sim/model/activations.hpp"

namespace lamina::model {

std::vector<ActivationTerm> layer_activations(const Shape& shape) {
  const double width = shape.activation_bytes;
  const auto tokens = static_cast<double>(shape.tokens);
  const double resident = shape.resident_elements();
  const double query = tokens * static_cast<double>(shape.query_width());
  const double key = tokens * static_cast<double>(shape.key_value_width());
  const double inner = tokens * static_cast<double>(shape.feed_forward);
  const double scores = shape.score_elements();

  std::vector<ActivationTerm> terms = {
      {"attention_norm input", Bytes(width * resident)},
      {"qkv input", Bytes(width * resident)},
      {"query", Bytes(width * query)},
      {"key and value", Bytes(2 * width * key)},
      {"attention_projection input", Bytes(width * query)},
      {"mlp_norm input", Bytes(width * resident)},
      {"mlp_up input", Bytes(width * resident)},
      {shape.gated ? "swiglu input" : "gelu input", Bytes((shape.gated ? 2 : 1) * width * inner)},
      {"mlp_down input", Bytes(width * inner)},
  };
  if (shape.fused) {
    terms.push_back(
        {"attention statistics", Bytes(kStatisticsBytes * static_cast<double>(shape.tokens * shape.heads))});
  } else {
    terms.push_back({"softmax output", Bytes(width * scores), true});
    if (shape.dropout) {
      terms.push_back({"attention_dropout mask", Bytes(kMaskBytes * scores), true});
      terms.push_back({"attention_dropout output", Bytes(width * scores), true});
    }
  }
  if (shape.dropout) {
    terms.push_back({"attention_residual mask", Bytes(kMaskBytes * resident)});
    terms.push_back({"mlp_residual mask", Bytes(kMaskBytes * resident)});
  }
  return terms;
}

std::vector<ActivationTerm> embedding_activations(const Shape& shape) {
  if (shape.vocabulary == 0 || !shape.dropout) {
    return {};
  }
  return {{"embedding_dropout mask", Bytes(kMaskBytes * shape.resident_elements())}};
}

std::vector<ActivationTerm> head_activations(const Shape& shape) {
  if (shape.vocabulary == 0) {
    return {};
  }
  const double resident = shape.activation_bytes * shape.resident_elements();
  const double logits = static_cast<double>(shape.tokens) * static_cast<double>(shape.vocabulary);
  std::vector<ActivationTerm> terms = {{"final_norm input", Bytes(resident)},
                                       {"logits input", Bytes(resident)},
                                       {"cross_entropy softmax", Bytes(kLossBytes * logits)}};
  if (!shape.fused_loss) {
    terms.push_back({"logits or their gradient", Bytes(shape.activation_bytes * logits)});
  }
  return terms;
}

std::vector<ActivationTerm> layer_weight_gradient_operands(const Shape& shape) {
  const double width = shape.activation_bytes;
  const auto tokens = static_cast<double>(shape.tokens);
  const double resident = shape.resident_elements();
  const double query = tokens * static_cast<double>(shape.query_width());
  const double key = tokens * static_cast<double>(shape.key_value_width());
  const double inner = tokens * static_cast<double>(shape.feed_forward);
  return {
      {"qkv input", Bytes(width * resident)},
      {"qkv output gradient", Bytes(width * (query + 2 * key))},
      {"attention_projection input", Bytes(width * query)},
      {"attention_projection output gradient", Bytes(width * resident)},
      {"mlp_up input", Bytes(width * resident)},
      {"mlp_up output gradient", Bytes((shape.gated ? 2 : 1) * width * inner)},
      {"mlp_down input", Bytes(width * inner)},
      {"mlp_down output gradient", Bytes(width * resident)},
  };
}

std::vector<ActivationTerm> embedding_weight_gradient_operands(const Shape& shape) {
  if (shape.vocabulary == 0) {
    return {};
  }
  return {{"embedding output gradient", Bytes(shape.activation_bytes * shape.resident_elements())}};
}

std::vector<ActivationTerm> head_weight_gradient_operands(const Shape& shape) {
  if (shape.vocabulary == 0) {
    return {};
  }
  const double logits = static_cast<double>(shape.tokens) * static_cast<double>(shape.vocabulary);
  return {{"logits input", Bytes(shape.activation_bytes * shape.resident_elements())},
          {"logits gradient", Bytes(shape.activation_bytes * logits)}};
}

Bytes total(const std::vector<ActivationTerm>& terms, bool with_scores) {
  Bytes sum;
  for (const ActivationTerm& term : terms) {
    if (with_scores || !term.score) {
      sum += term.bytes;
    }
  }
  return sum;
}

}  // namespace lamina::model
