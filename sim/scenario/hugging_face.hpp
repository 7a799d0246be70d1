#pragma once

#include <filesystem>

#include "sim/scenario/tree.hpp"

namespace lamina::scenario {

/// Reads the `config.json` of a dense decoder published for Hugging Face transformers into a mapping with the keys of a
/// model definition. Llama-like names (hidden_size, ...), GPT-2's (n_embd, ...) and OPT's are understood. What such a
/// file leaves out takes the defaults of transformers' own configuration classes.
///
/// Sliding windows and soft-capping are not modelled and ignored.
/// @throws ScenarioError: no such file, not JSON, a missing number, a mixture of experts, an encoder, latent attention
/// or a
///   state-space model; EnvironmentError: cannot be read
[[nodiscard]] Tree read_hugging_face(const std::filesystem::path& file);

}  // namespace lamina::scenario
