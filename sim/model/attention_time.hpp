#pragma once

#include <array>
#include <string_view>

#include "sim/catalog/parameters.hpp"
#include "sim/model/work.hpp"

namespace lamina::model {

struct AttentionEfficiency {
  std::string_view name;
  std::string_view default_value;
  std::string_view help;
};

/// Parameters of the cost model `calibrated`; the defaults are those of the H100.
inline constexpr std::array kAttentionEfficiencies = {
    AttentionEfficiency{"attention_efficiency", "0.378",
                        "Share of peak that FlashAttention-2 forward reaches on endless sequences of heads of 128."},
    AttentionEfficiency{"attention_backward_efficiency", "0.335", "The same, backward."},
    AttentionEfficiency{"cudnn_attention_efficiency", "0.609", "The same of cuDNN's fused attention, forward."},
    AttentionEfficiency{"cudnn_attention_backward_efficiency", "0.534", "The same of cuDNN's, backward."},
};

/// Seconds of the arithmetic of a fused attention kernel (`kernel.attention`): its FLOPs over the library's share of
/// `peak`, less on short sequences, small heads, and where tiles on the diagonal are computed in full and half masked.
[[nodiscard]] double attention_time(const Kernel& kernel, FlopsPerSecond peak, const catalog::Parameters& parameters);

}  // namespace lamina::model
