#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

/// Kernels of our own: what is not a matrix product. Each reads every input and writes every output once (rows that are
/// normed are read a second time, from the cache). Arrays are aligned to 16 bytes; counts are elements.
///
/// All return what the launch returned; they do not wait.
namespace lamina::validate::cuda::kernels {

enum class Element { kFloat, kHalf, kBfloat };

[[nodiscard]] constexpr std::size_t bytes_of(Element element) {
  return element == Element::kFloat ? 4 : 2;
}

/// Evenly spread over (-scale, scale); never all zero.
[[nodiscard]] cudaError_t fill(void* out, std::size_t count, Element element, std::uint32_t seed, float scale,
                               cudaStream_t stream);

/// Random bytes that are small numbers as fp8 (e4m3) and as bf16.
[[nodiscard]] cudaError_t fill_bytes(void* out, std::size_t count, std::uint32_t seed, cudaStream_t stream);

[[nodiscard]] cudaError_t copy(const void* in, void* out, std::size_t count, Element element, cudaStream_t stream);
[[nodiscard]] cudaError_t add(const void* a, const void* b, void* out, std::size_t count, Element element,
                              cudaStream_t stream);

/// x Phi(x), exact form; and dy (Phi(x) + x phi(x)).
[[nodiscard]] cudaError_t gelu(const void* x, void* y, std::size_t count, Element element, cudaStream_t stream);
[[nodiscard]] cudaError_t gelu_gradient(const void* x, const void* dy, void* dx, std::size_t count, Element element,
                                        cudaStream_t stream);

/// gate sigmoid(gate) up.
[[nodiscard]] cudaError_t swiglu(const void* gate, const void* up, void* y, std::size_t count, Element element,
                                 cudaStream_t stream);
[[nodiscard]] cudaError_t swiglu_gradient(const void* gate, const void* up, const void* dy, void* dgate, void* dup,
                                          std::size_t count, Element element, cudaStream_t stream);

/// Keeps nine elements of ten, scaled by 10/9; `mask` has a byte per element. `residual` may be null.
[[nodiscard]] cudaError_t dropout(const void* x, const void* residual, void* y, std::uint8_t* mask, std::size_t count,
                                  std::uint32_t seed, Element element, cudaStream_t stream);
[[nodiscard]] cudaError_t dropout_gradient(const void* dy, const std::uint8_t* mask, void* dx, std::size_t count,
                                           Element element, cudaStream_t stream);

/// Pairs of neighbours in a head of `head` elements (even) are rotated by position / 10000^(2 i / head); rows of
/// `width` elements, `sequence` rows a sequence.
[[nodiscard]] cudaError_t rotary(const void* x, void* y, std::size_t count, int width, int head, int sequence,
                                 Element element, cudaStream_t stream);

/// x / sqrt(mean of x^2 + 1e-5), by rows of `width`; its gradient, plus `residual` unless null; and the gradient of a
/// scale: out[column] += sum over rows of dy x / norm, in float.
[[nodiscard]] cudaError_t norm(const void* x, void* y, std::size_t rows, int width, Element element,
                               cudaStream_t stream);
[[nodiscard]] cudaError_t norm_gradient(const void* x, const void* dy, const void* residual, void* dx, std::size_t rows,
                                        int width, Element element, cudaStream_t stream);
[[nodiscard]] cudaError_t norm_scale_gradient(const void* x, const void* dy, float* out, std::size_t rows, int width,
                                              Element element, cudaStream_t stream);

/// out[column] += sum over rows, in float: the gradient of a bias.
[[nodiscard]] cudaError_t column_sums(const void* dy, float* out, std::size_t rows, int width, Element element,
                                      cudaStream_t stream);

[[nodiscard]] cudaError_t softmax(const void* x, void* y, std::size_t rows, int width, Element element,
                                  cudaStream_t stream);
/// dx = y (dy - sum of y dy).
[[nodiscard]] cudaError_t softmax_gradient(const void* y, const void* dy, void* dx, std::size_t rows, int width,
                                           Element element, cudaStream_t stream);

/// Row i has the label (i 7919) % width. Probabilities in float; their gradient with respect to the logits, of the mean
/// loss over `rows`.
[[nodiscard]] cudaError_t cross_entropy(const void* logits, float* probabilities, std::size_t rows, int width,
                                        Element element, cudaStream_t stream);
[[nodiscard]] cudaError_t cross_entropy_gradient(const float* probabilities, void* gradient, std::size_t rows,
                                                 int width, Element element, cudaStream_t stream);

/// Row i looks up table row (i 7919) % table_rows; the gradient is added there, in float or the element type.
[[nodiscard]] cudaError_t lookup(const void* table, void* out, std::size_t rows, int width, std::size_t table_rows,
                                 Element element, cudaStream_t stream);
[[nodiscard]] cudaError_t lookup_gradient(const void* dy, void* table, std::size_t rows, int width,
                                          std::size_t table_rows, Element element, Element table_element,
                                          cudaStream_t stream);

/// Adam, betas 0.9 and 0.95, rate 1e-4, epsilon 1e-8, bias corrected for `step` (from 1 on). Master weights and moments
/// in float.
struct AdamState {
  float* master = nullptr;
  float* first = nullptr;
  float* second = nullptr;
};

[[nodiscard]] cudaError_t adam(const AdamState& state, const void* gradient, void* weight, std::size_t count, int step,
                               Element gradient_element, Element weight_element, cudaStream_t stream);

/// Heads of attention: `batch` of them, each `sequence` x `head` in q, k, v and o, row by row.
struct Heads {
  int batch = 1;
  int sequence = 0;
  int head = 0;
  bool causal = false;
  float scale = 1;
};

inline constexpr int kLargestHead = 128;

/// softmax(scale q k^T) v by tiles with a running softmax (Milakov and Gimelshein, arXiv 1805.02867), so that scores
/// never reach memory; on plain multiply-adds, not on tensor cores. `statistics` gets the log-sum-exp of every row.
[[nodiscard]] cudaError_t attention(const void* q, const void* k, const void* v, void* o, float* statistics,
                                    const Heads& heads, Element element, cudaStream_t stream);

struct AttentionGradient {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  const void* o = nullptr;
  const void* d_o = nullptr;
  const float* statistics = nullptr;
  float* products = nullptr;  ///< scratch, one per row
  void* dq = nullptr;
  void* dk = nullptr;
  void* dv = nullptr;
};

/// Scores are computed again from q, k and the statistics (arXiv 2205.14135, section 3.1), for dq and for dk and dv.
[[nodiscard]] cudaError_t attention_gradient(const AttentionGradient& arrays, const Heads& heads, Element element,
                                             cudaStream_t stream);

/// One thread that waits: emulated time of a link, of a slow device, of a kernel of which only the duration is known.
[[nodiscard]] cudaError_t hold(double seconds, cudaStream_t stream);
/// Notes the date of the device in `word`; and waits until that date plus `seconds`.
[[nodiscard]] cudaError_t stamp(std::uint64_t* word, cudaStream_t stream);
[[nodiscard]] cudaError_t hold_after(const std::uint64_t* word, double seconds, cudaStream_t stream);

}  // namespace lamina::validate::cuda::kernels
