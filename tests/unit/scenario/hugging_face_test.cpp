#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/scenario_fixture.hpp"

namespace lamina::scenario {
namespace {

using testing::HasSubstr;

Model read(const std::string& json, const std::string& changes = "") {
  const TemporaryFile config("config.json", json);
  const std::string text = "schema_version: 1\nmodel: {hugging_face: config.json" + changes +
                           "}\ncluster: {node: dgx-h100}\nstrategy: {micro_batches: 1}\n";
  return load_text(text, config.folder() / "scenario.yaml", source_catalogue(), test_plugins()).model;
}

error::ScenarioFault fault_in(const std::string& json) {
  return fault_when([&] { static_cast<void>(read(json)); });
}

/// Numbers of the public Llama 3 8B configuration.
constexpr const char* kLlama = R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
  "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
  "max_position_embeddings": 8192, "hidden_act": "silu", "tie_word_embeddings": false, "attention_bias": false})";

TEST(HuggingFace, ReadsALlamaConfiguration) {
  const Model model = read(kLlama);
  EXPECT_EQ(model.name, "llama");
  EXPECT_EQ(model.layers, 32);
  EXPECT_EQ(model.hidden, 4096);
  EXPECT_EQ(model.heads, 32);
  EXPECT_EQ(model.key_value_heads, 8);
  EXPECT_EQ(model.head_size, 128);
  EXPECT_EQ(model.feed_forward, 14336);
  EXPECT_EQ(model.vocabulary, 128256);
  EXPECT_EQ(model.sequence_length, 8192);
  EXPECT_TRUE(model.gated_mlp);
  EXPECT_FALSE(model.tied_embeddings || model.biases);
  EXPECT_EQ(model.learned_positions, 0);
  EXPECT_THAT(model.source, HasSubstr("config.json"));
}

TEST(HuggingFace, WithoutAnActivationALlamaIsGatedAndNeedsItsWidth) {
  std::string without = kLlama;
  without.erase(without.find("\"hidden_act\": \"silu\", "), std::string("\"hidden_act\": \"silu\", ").size());
  EXPECT_TRUE(read(without).gated_mlp);
  without.erase(without.find("\"intermediate_size\": 14336,"), std::string("\"intermediate_size\": 14336,").size());
  EXPECT_THAT(fault_in(without).key + fault_in(without).problem, HasSubstr("intermediate_size"));
}

TEST(HuggingFace, ReadsGpt2Names) {
  // The public GPT-2 (124 M) configuration has these numbers; the MLP is left out and four times the width.
  const Model model = read(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
    "vocab_size": 50257, "n_inner": null, "activation_function": "gelu_new"})");
  EXPECT_EQ(model.layers, 12);
  EXPECT_EQ(model.hidden, 768);
  EXPECT_EQ(model.key_value_heads, 12);
  EXPECT_EQ(model.feed_forward, 3072);
  EXPECT_EQ(model.sequence_length, 1024);
  EXPECT_EQ(model.learned_positions, 1024);
  EXPECT_TRUE(model.biases && model.tied_embeddings);
  EXPECT_FALSE(model.gated_mlp);
}

TEST(HuggingFace, ReadsOptAndItsTwoExtraPositions) {
  const Model model =
      read(R"({"model_type": "opt", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32,
    "ffn_dim": 8192, "max_position_embeddings": 2048, "vocab_size": 50272})");
  EXPECT_EQ(model.feed_forward, 8192);
  EXPECT_EQ(model.learned_positions, 2050);
  EXPECT_TRUE(model.biases && model.tied_embeddings);
}

TEST(HuggingFace, KeepsAHeadSizeOfItsOwn) {
  // Gemma 7B: 16 heads of 256 at a width of 3072.
  const Model model = read(R"({"model_type": "gemma", "hidden_size": 3072, "intermediate_size": 24576, "head_dim": 256,
    "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 256000,
    "max_position_embeddings": 8192, "hidden_act": "gelu_pytorch_tanh"})");
  EXPECT_EQ(model.head_size, 256);
  EXPECT_TRUE(model.gated_mlp && model.tied_embeddings);
}

TEST(HuggingFace, CanBeChangedLikeAnyBase) {
  EXPECT_EQ(read(kLlama, ", sequence_length: 4096").sequence_length, 4096);
  EXPECT_EQ(read(kLlama, ", name: mine").name, "mine");
}

TEST(HuggingFace, RefusesWhatIsNotADenseDecoder) {
  EXPECT_THAT(fault_in(R"({"model_type": "mixtral", "num_local_experts": 8})").problem,
              HasSubstr("mixture of experts"));
  EXPECT_THAT(fault_in(R"({"model_type": "deepseek_v3", "n_routed_experts": 256})").problem,
              HasSubstr("mixture of experts"));
  EXPECT_THAT(fault_in(R"({"model_type": "qwen3_moe", "num_experts": 128})").problem, HasSubstr("mixture of experts"));
  EXPECT_THAT(fault_in(R"({"model_type": "t5", "is_encoder_decoder": true})").problem, HasSubstr("encoder"));
  EXPECT_THAT(fault_in(R"({"model_type": "x", "kv_lora_rank": 512})").problem, HasSubstr("latent attention"));
  EXPECT_THAT(fault_in(R"({"model_type": "mamba", "state_size": 16})").problem, HasSubstr("not a plain transformer"));
  EXPECT_THAT(fault_in(R"({"model_type": "gemma3", "text_config": {}})").problem, HasSubstr("several parts"));
}

TEST(HuggingFace, RefusesFaultyFiles) {
  const auto syntax = fault_in("{\n  \"hidden_size\": 3,,\n}");
  EXPECT_THAT(syntax.problem, HasSubstr("not valid JSON"));
  EXPECT_THAT(syntax.location.file, HasSubstr("config.json"));
  EXPECT_EQ(syntax.location.line, 2);
  EXPECT_THAT(fault_in("[]").problem, HasSubstr("JSON object"));
  EXPECT_THAT(fault_in("").problem, HasSubstr("not valid JSON"));
  EXPECT_THAT(fault_in("{}").problem, HasSubstr("missing or zero"));
  EXPECT_EQ(fault_in("{}").key, "hidden_size");
  EXPECT_THAT(fault_in(R"({"hidden_size": "big"})").problem, HasSubstr("whole number"));
  EXPECT_THAT(fault_in(R"({"hidden_size": -4})").problem, HasSubstr("whole number"));
  EXPECT_THAT(fault_in(R"({"hidden_size": 1e99})").problem, HasSubstr("whole number"));
  EXPECT_THAT(fault_in(R"({"hidden_size": 100, "num_attention_heads": 3, "max_position_embeddings": 8})").problem,
              HasSubstr("no multiple of the heads"));
  EXPECT_THAT(fault_in(std::string(100'000, '[')).problem, HasSubstr("not valid JSON"));
  EXPECT_THAT(fault_of(with_line(2, "model: {hugging_face: nowhere.json}")).problem, HasSubstr("no such file"));
}

}  // namespace
}  // namespace lamina::scenario
