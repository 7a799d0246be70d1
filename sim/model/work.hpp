#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/catalog/catalog.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/units/launch_time.hpp"
#include "sim/units/quantity.hpp"

/// What one rank computes, moves and keeps, per layer and micro-batch: the contract between the model of work and the
/// schedules' lowering. All sizes are per rank, after tensor (and sequence) parallelism.
namespace lamina::model {

enum class KernelKind { kMatrixProduct, kMemoryBound };

/// What the speed of a fused attention kernel depends on beside its size.
struct FusedAttention {
  scenario::AttentionKernel kernel = scenario::AttentionKernel::kFlashAttention2;
  bool backward = false;
  bool causal = false;  ///< the masked half is skipped
};

/// One kernel launch. A matrix product is `batch` products of m x k by k x n.
struct Kernel {
  std::string name;  ///< "qkv", "attention_scores", "layer_norm", ...
  KernelKind kind = KernelKind::kMatrixProduct;
  double batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t row_lengths = 0;  ///< of the operands in memory, elements, or-ed: the powers of two that divide them all
  Flops flops;
  Bytes bytes;  ///< read and written in device memory
  /// Where it differs from the compute type: attention and logits stay in 16 bits under fp8.
  std::optional<scenario::DataType> type = std::nullopt;
  std::optional<FusedAttention> attention = std::nullopt;  ///< m: sequence, n: head size
  int launches = 1;  ///< kernels that the host really launches for it: copies between layouts, bias additions, ...
  Bytes copied;      ///< read and written by those beside its own
};

enum class Pass { kForward, kRecompute, kInputGradient, kWeightGradient };

inline constexpr int kPasses = 4;

/// From one launch to the next on a host's thread, by what the latter launches; 0: the host is never in the way.
struct LaunchIntervals {
  Seconds kernel;
  Seconds product;     ///< a matrix product or fused attention
  Seconds collective;  ///< or a batch of messages
};

/// Total of one pass through one block. `model_flops` leaves recomputation out (0 in the recompute pass).
struct PassCost {
  Seconds duration;  ///< of the device
  Seconds host;      ///< that the host is busy launching; 0: the cost model knows no host
  Seconds tail;      ///< see units::LaunchTime
  Flops flops;
  Bytes bytes;
  std::vector<Kernel> kernels;  ///< in launch order; empty for a custom model

  [[nodiscard]] units::LaunchTime launch_time() const { return {duration.value(), host.value(), tail.value()}; }
};

/// A block is what runs between two tensor-parallel synchronisation points: attention, MLP, embedding, or head.
struct BlockCost {
  std::string name;
  PassCost forward;
  PassCost recompute;
  PassCost input_gradient;
  PassCost weight_gradient;
  /// Full activation that the tensor group exchanges around the block, bytes; 0: no exchange. Without sequence
  /// parallelism it is all-reduced after the block's forward (and after its input gradient); with it, all-gathered
  /// before and reduce-scattered after. The embedding exchanges its output only, the head its input only.
  Bytes tensor_payload;

  [[nodiscard]] const PassCost& pass(Pass which) const;
};

/// A layer is the unit that schedules deal out: the embedding, one transformer layer, or the head with the loss.
struct LayerCost {
  std::string name;  ///< "embedding", "layer", "head"
  std::vector<BlockCost> blocks;
  double parameters = 0;  ///< of this rank (after tensor parallelism)
  Bytes weight_bytes;     ///< parameters x weight type: what a restore moves in full
  Bytes gradient_bytes;   ///< parameters x gradient type: what a reduction moves in full
  Bytes state_bytes;      ///< optimizer state before sharding
  Bytes checkpoint;   ///< kept from forward to backward per micro-batch (input if recompute is full, else activations)
  Bytes working_set;  ///< activations alive while the layer is computed (forward of full recompute, and backward)
  Bytes weight_gradient_operands;  ///< of these, what stays from the input gradient to the weight gradient
  Seconds update;                  ///< optimizer time of the whole unsharded layer on the device
};

struct WorkModel {
  LayerCost embedding;  ///< no blocks when the model has none
  LayerCost layer;      ///< every transformer layer
  LayerCost head;       ///< no blocks when the model has none
  int layers = 0;       ///< transformer layers of the whole model
  Bytes message;        ///< full activation between stages per micro-batch (before slicing over the tensor group)
  Flops model_flops_per_token;        ///< whole model, forward and backward, no recomputation
  Flops hardware_flops_per_token;     ///< with recomputation
  double parameters = 0;              ///< whole model
  FlopsPerSecond peak;                ///< of the compute type on the accelerator; 0 for a custom model without FLOPs
  LaunchIntervals forward_launches;   ///< of the thread that runs the forward pass, recomputes and exchanges messages
  LaunchIntervals backward_launches;  ///< of the thread that computes gradients
  std::string cost_model;             ///< name and parameters, for the report
};

/// Time of one kernel on one accelerator.
///
/// 1. `time` is finite and >= 0, and does not decrease when FLOPs or bytes grow.
/// 2. It is a pure function of its arguments.
class CostModel {
 public:
  virtual ~CostModel() = default;
  [[nodiscard]] virtual Seconds time(const Kernel& kernel, const scenario::Accelerator& accelerator,
                                     scenario::DataType type, const catalog::Parameters& parameters) const = 0;

  /// Of the host's thread for the forward pass and recomputation, or for gradients.
  [[nodiscard]] virtual LaunchIntervals launch_intervals(bool backward, const catalog::Parameters& parameters) const {
    (void)backward;
    (void)parameters;
    return {};
  }
};

/// "ideal" and "roofline".
[[nodiscard]] catalog::Catalog<CostModel> cost_models();

/// Kernels of a layer pass, per rank and micro-batch, before any cost model (for `explain`, calibration and tests).
[[nodiscard]] WorkModel work_model(const scenario::Scenario& scenario, const catalog::Catalog<CostModel>& cost_models);

/// Critical batch size in sequences. X family: 573 p^(1/3) tokens (arXiv 2106.02679); Kaplan et al. (arXiv 2001.08361):
/// see docs/model.md. NaN for kNone.
[[nodiscard]] double critical_batch(scenario::BatchLaw law, double parameters, double sequence_length);

}  // namespace lamina::model
