#include "sim/model/attention_time.hpp"

#include <algorithm>
#include <string>

namespace lamina::model {
namespace {

// Fitted to FlashAttention-2 and cuDNN in figures 5 and 6 of arXiv 2407.08608 (H100, 512 to 16384 tokens, heads of 64
// and 128, with and without mask): mean error of the 72 rates 1.5 %, largest 12 %.
constexpr double kLargestHead = 128;    // larger heads are no faster
constexpr double kForwardLoss = 107;    // tokens that the start of a row of tiles takes as long as
constexpr double kBackwardLoss = 280;   // the same
constexpr double kCausalLoss = 263;     // the same of the tiles on the diagonal, which are computed in full
constexpr double kCausalShare = 0.936;  // rows of unequal length leave multiprocessors idle
// Elements of the head that exponents and rescaling take as long as.
constexpr double kHeadLoss = 19;
constexpr double kBackwardHeadLoss = 16;
constexpr double kCudnnHeadLoss = 102;
constexpr double kCudnnBackwardHeadLoss = 30;

// FlashAttention-2 against the first one in Triton (arXiv 2307.08691, section 4.1): 1.3 to 1.5 times as fast forward, 2
// times backward.
constexpr double kTritonForward = 1 / 1.4;
constexpr double kTritonBackward = 1 / 2.0;

double kernel_efficiency(const FusedAttention& attention, const catalog::Parameters& parameters) {
  const bool cudnn = attention.kernel == scenario::AttentionKernel::kCudnn;
  const std::string prefix = cudnn ? "cudnn_" : "";
  const double efficiency =
      parameters.number(prefix + (attention.backward ? "attention_backward_efficiency" : "attention_efficiency"));
  if (attention.kernel == scenario::AttentionKernel::kFlashAttentionTriton) {
    return efficiency * (attention.backward ? kTritonBackward : kTritonForward);
  }
  return efficiency;
}

double head_loss(const FusedAttention& attention) {
  if (attention.kernel == scenario::AttentionKernel::kCudnn) {
    return attention.backward ? kCudnnBackwardHeadLoss : kCudnnHeadLoss;
  }
  return attention.backward ? kBackwardHeadLoss : kHeadLoss;
}

double saturation(double size, double loss) {
  return size / (size + loss);
}

}  // namespace

double attention_time(const Kernel& kernel, FlopsPerSecond peak, const catalog::Parameters& parameters) {
  const FusedAttention& attention = *kernel.attention;
  const double head = std::min(static_cast<double>(kernel.n), kLargestHead);
  const double loss = (attention.backward ? kBackwardLoss : kForwardLoss) + (attention.causal ? kCausalLoss : 0);
  const double small = head_loss(attention);
  const double share = saturation(head, small) / saturation(kLargestHead, small) *
                       saturation(static_cast<double>(kernel.m), loss) * (attention.causal ? kCausalShare : 1);
  return kernel.flops.value() / (peak.value() * kernel_efficiency(attention, parameters) * share);
}

}  // namespace lamina::model
