#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tl/expected.hpp>

#include "sim/error/error.hpp"
#include "sim/scenario/scenario.hpp"

/// The tiny decoder whose step is computed: tokens, embedding, layers of layer norm, causal attention, layer norm and
/// GELU MLP, final norm, head, mean cross entropy. Weights and tokens are drawn from fixed seeds.
namespace lamina::validate::numeric {

/// Sizes of the model, or of the part of it that a tensor-parallel rank holds.
struct Shape {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int head_size = 0;
  int feed_forward = 0;
  int vocabulary = 0;
  int sequence = 0;  ///< tokens of a sequence
  bool tied = false;

  /// Heads, MLP width and vocabulary divided by `ranks`.
  [[nodiscard]] Shape part(int ranks) const;
};

/// @return Infeasible for models that are not such a decoder
[[nodiscard]] tl::expected<Shape, error::Infeasible> shape_of(const scenario::Scenario& scenario);

/// How a matrix is cut over the tensor group.
enum class Split { kNone, kRows, kColumns };

struct Parameter {
  const char* name = "";
  std::size_t offset = 0;  ///< in the weights of its layer
  int rows = 0;
  int columns = 0;
  Split split = Split::kNone;

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns); }
};

/// Where the matrices of a layer stand in its parameters.
namespace slot {
inline constexpr std::size_t kPerBlock = 6;  ///< attention, then MLP: the six below
inline constexpr std::size_t kGain = 0;
inline constexpr std::size_t kBias = 1;
inline constexpr std::size_t kFirst = 2;  ///< qkv or up
inline constexpr std::size_t kFirstBias = 3;
inline constexpr std::size_t kSecond = 4;  ///< projection or down
inline constexpr std::size_t kSecondBias = 5;
inline constexpr std::size_t kTable = 0;      ///< of the embedding: vocabulary x hidden
inline constexpr std::size_t kPositions = 1;  ///< of the embedding
inline constexpr std::size_t kMatrix = 2;     ///< of the head, behind gain and bias; absent if it uses the table
}  // namespace slot

/// Parameters of a layer (-1: embedding, L: head), one after the other. A head with `own_matrix` holds its projection.
[[nodiscard]] std::vector<Parameter> parameters_of(const Shape& shape, int layer, bool own_matrix);

[[nodiscard]] std::size_t size_of(const std::vector<Parameter>& parameters);

/// [entry of the part] its place in the whole layer: what tensor rank `tensor` of `ranks` holds.
[[nodiscard]] std::vector<std::size_t> places_of_part(const Shape& shape, int layer, bool own_matrix, int tensor,
                                                      int ranks);

/// Weights of a whole layer before the step. A tied head's matrix is the table.
[[nodiscard]] std::vector<float> initial_weights(const Shape& shape, int layer, bool own_matrix);

/// Token `position` (0 .. sequence) of a sequence of the batch; the target of a position is the next token.
[[nodiscard]] std::int32_t token_of(const Shape& shape, int sequence, int position);

/// The update: w -= rate x g, with g scaled down to `clip` where its norm is greater.
struct Optimizer {
  float rate = 10;
  float clip = 0;  ///< 0: never
};

/// The global norm matters only where the scenario waits for it.
[[nodiscard]] Optimizer optimizer_of(const scenario::Strategy& strategy);

}  // namespace lamina::validate::numeric
