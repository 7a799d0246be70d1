#include "sim/scenario/hugging_face.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "sim/scenario/fault.hpp"
#include "sim/scenario/text_file.hpp"

namespace lamina::scenario {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string_view>;

/// GPT-2's generation: GELU MLP with biases.
constexpr std::array<std::string_view, 8> kGptTypes = {"gpt2", "gpt_neo", "gpt_neox", "gptj",
                                                       "opt",  "bloom",   "codegen",  "gpt_bigcode"};
/// Model types whose configuration class ties the embeddings unless the file says otherwise.
constexpr std::array<std::string_view, 8> kTiedTypes = {"gpt2",  "gpt_neo",     "opt",    "bloom",
                                                        "gemma", "gpt_bigcode", "gemma2", "gemma3_text"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Config {
 public:
  Config(const std::filesystem::path& file, const std::string& text) : file_(file.string()) {
    try {
      json_ = Json::parse(text);
    } catch (const Json::exception& problem) {
      int line = 0;
      int column = 0;
      if (const auto* syntax = dynamic_cast<const Json::parse_error*>(&problem)) {
        const std::string before = text.substr(0, syntax->byte == 0 ? 0 : syntax->byte - 1);
        line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
        column = static_cast<int>(before.size() - (before.rfind('\n') + 1)) + 1;
      }
      scenario::fail({file_, line, column}, "", {"This is not valid JSON."});
    }
    if (!json_.is_object()) {
      fail("", {"A model configuration is a JSON object.", json_.type_name()});
    }
  }

  [[noreturn]] void fail(std::string_view key, const Detail& detail) const {
    scenario::fail({file_, 0, 0}, std::string(key), detail);
  }

  /// The first of several names that is there and not null.
  [[nodiscard]] const Json* find(const Names& names, std::string_view* which = nullptr) const {
    for (const std::string_view name : names) {
      const auto found = json_.find(name);
      if (found != json_.end() && !found->is_null()) {
        if (which != nullptr) {
          *which = name;
        }
        return &*found;
      }
    }
    return nullptr;
  }

  [[nodiscard]] std::optional<std::int64_t> optional_integer(const Names& names) const {
    std::string_view name;
    const Json* value = find(names, &name);
    if (value == nullptr) {
      return std::nullopt;
    }
    constexpr std::int64_t kLargest = 1'000'000'000;
    const bool sound =
        value->is_number_integer() && value->get<std::int64_t>() >= 0 && value->get<std::int64_t>() <= kLargest;
    if (!sound) {
      fail(name, {"The value must be a whole number.", value->dump().substr(0, 80), fmt::format("0 to {}", kLargest)});
    }
    return value->get<std::int64_t>();
  }

  [[nodiscard]] std::int64_t integer(const Names& names) const {
    const std::optional<std::int64_t> value = optional_integer(names);
    if (!value || *value == 0) {
      fail(names.front(), {fmt::format("The key \"{}\" is missing or zero.", names.front()), "",
                           "the configuration of a dense decoder"});
    }
    return *value;
  }

  [[nodiscard]] bool boolean(std::string_view name, bool otherwise) const {
    const Json* value = find({name});
    return value != nullptr && value->is_boolean() ? value->get<bool>() : otherwise;
  }

  [[nodiscard]] std::string text(const Names& names) const {
    const Json* value = find(names);
    return value != nullptr && value->is_string() ? value->get<std::string>() : "";
  }

 private:
  std::string file_;
  Json json_;
};

void refuse_what_is_not_dense(const Config& config) {
  const std::string type = config.text({"model_type"});
  std::string_view key;
  for (const std::string_view name : {"num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts",
                                      "num_experts_per_tok", "moe_intermediate_size", "ffn_config"}) {
    const Json* value = config.find({name}, &key);
    const bool experts = value != nullptr && !(value->is_number() && value->get<double>() <= 1);
    if (experts) {
      config.fail(
          key,
          {fmt::format("This is a mixture of experts (model type \"{}\"); only dense models are supported.", type)});
    }
  }
  if (config.boolean("is_encoder_decoder", false)) {
    config.fail("is_encoder_decoder", {"This is an encoder with a decoder; only decoders are supported."});
  }
  if (config.find({"kv_lora_rank"}) != nullptr) {
    config.fail("kv_lora_rank", {"This model uses latent attention, which is not supported."});
  }
  for (const std::string_view name : {"state_size", "ssm_state_size", "mamba_d_state", "linear_num_value_heads"}) {
    if (config.find({name}) != nullptr) {
      config.fail(name, {fmt::format("This is not a plain transformer (model type \"{}\").", type)});
    }
  }
  if (config.find({"text_config"}) != nullptr && config.find({"num_hidden_layers", "n_layer"}) == nullptr) {
    config.fail("text_config", {"This is a model of several parts; save its \"text_config\" as a file of its own."});
  }
}

/// Without an activation a model that is not of GPT's family is read as its library reads it: SiLU, gated (Llama's
/// default).
bool is_gated(const Config& config, bool gpt) {
  const std::string activation = config.text({"hidden_act", "hidden_activation", "activation_function"});
  const bool silu = activation.empty() || activation == "silu" || activation == "swish";
  const bool gemma = config.text({"model_type"}).starts_with("gemma");
  return !gpt && (silu || gemma);
}

std::int64_t learned_positions(const Config& config, const std::string& type, std::int64_t positions) {
  constexpr std::int64_t kOptOffset = 2;  // OPT's embedding keeps two rows in front
  if (type == "opt") {
    return positions + kOptOffset;
  }
  const bool learned = type == "gpt2" || type == "gpt_neo" || type == "gpt_bigcode";
  return learned || (type.empty() && config.find({"n_embd"}) != nullptr) ? positions : 0;
}

}  // namespace

Tree read_hugging_face(const std::filesystem::path& file) {
  const Config config(file, read_text_file(file, kLargestFile));
  refuse_what_is_not_dense(config);
  const std::string type = config.text({"model_type"});
  const bool gpt = contains(kGptTypes, type) || config.find({"n_embd"}) != nullptr;
  const std::int64_t hidden = config.integer({"hidden_size", "n_embd", "d_model"});
  const std::int64_t heads = config.integer({"num_attention_heads", "n_head", "num_heads"});
  const std::int64_t positions = config.integer({"max_position_embeddings", "n_positions", "n_ctx", "seq_length"});
  const Position position{std::make_shared<const std::string>(file.string()), 0, 0};
  const std::optional<std::int64_t> head_size = config.optional_integer({"head_dim"});
  if (!head_size && hidden % heads != 0) {
    config.fail("hidden_size", {"The width is no multiple of the heads, and there is no \"head_dim\".",
                                fmt::format("{} and {} heads", hidden, heads)});
  }
  Tree model = mapping(position);
  const auto set = [&](std::string_view key, std::string value) { model.set(key, scalar(std::move(value), position)); };
  const auto number = [&](std::string_view key, std::int64_t value) { set(key, fmt::format("{}", value)); };
  const auto flag = [&](std::string_view key, bool value) { set(key, value ? "true" : "false"); };
  set("name", type.empty() ? "hugging-face" : type);
  set("source", fmt::format("Hugging Face configuration {}", file.filename().string()));
  number("layers", config.integer({"num_hidden_layers", "n_layer", "num_layers"}));
  number("hidden", hidden);
  number("sequence_length", positions);
  number("heads", heads);
  number("key_value_heads", config.boolean("multi_query", false)
                                ? 1
                                : config.optional_integer({"num_key_value_heads", "num_kv_heads"}).value_or(heads));
  number("head_size", head_size.value_or(hidden / heads));
  const bool gated = is_gated(config, gpt);
  // Four times the width is GPT's own default; a gated model has no such rule.
  const std::initializer_list<std::string_view> width = {"intermediate_size", "n_inner", "ffn_dim"};
  number("feed_forward", gated ? config.integer(width) : config.optional_integer(width).value_or(4 * hidden));
  flag("gated_mlp", gated);
  number("vocabulary", config.integer({"vocab_size"}));
  flag("tied_embeddings", config.boolean("tie_word_embeddings", contains(kTiedTypes, type)));
  number("learned_positions", learned_positions(config, type, positions));
  flag("biases", gpt || config.boolean("attention_bias", false) || config.boolean("mlp_bias", false));
  return model;
}

}  // namespace lamina::scenario
