#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/catalog/catalog.hpp"
#include "sim/error/error.hpp"

/// Pipeline schedules as tables of actions: which stage computes which micro-batch in which order on each pipeline
/// rank. Communication, sharding, recomputation and memory are added by sim/lowering, the same way for every schedule.
namespace lamina::schedules {

enum class ActionType {
  kForward,         ///< F
  kBackward,        ///< B: input and weight gradient together
  kInputGradient,   ///< I
  kWeightGradient,  ///< W
};

struct Action {
  ActionType type = ActionType::kForward;
  int stage = 0;
  int micro_batch = 0;
  bool paired_with_next = false;  ///< fused forward and backward (DualPipe): issued together with the next action
  bool operator==(const Action&) const = default;
};

/// Where a stage lives and what it is connected to. Stages need not form one chain: DualPipe has two.
struct Stage {
  int rank = 0;         ///< pipeline rank
  int model_chunk = 0;  ///< which part of the model, 0 = first layers; two stages may hold copies of one chunk
  int previous = -1;    ///< stage whose activations it consumes; -1: takes the input tokens
  int next = -1;        ///< stage that consumes its activations; -1: computes the loss
};

/// Types of the lowered form of PyTorch's pipeline CSV (torch.distributed.pipelining, `_ComputationType`).
enum class LoweredType {
  kForward,          ///< F
  kBackward,         ///< B
  kInputGradient,    ///< I
  kWeightGradient,   ///< W
  kUnshard,          ///< UNSHARD: gather the stage's weights
  kReshard,          ///< RESHARD: drop them
  kReduceGradients,  ///< REDUCE_GRAD
  kSendForward,      ///< SEND_F, named by the sending stage
  kReceiveForward,   ///< RECV_F, named by the receiving stage
  kSendBackward,     ///< SEND_B
  kReceiveBackward,  ///< RECV_B
};

/// A compute action or a communication between two of them.
struct LoweredAction {
  LoweredType type = LoweredType::kForward;
  int stage = 0;
  int micro_batch = -1;           ///< -1: UNSHARD, RESHARD, REDUCE_GRAD
  bool paired_with_next = false;  ///< as in Action
  bool operator==(const LoweredAction&) const = default;
};

using LoweredRows = std::vector<std::vector<LoweredAction>>;  ///< [pipeline rank][position], in issue order

struct ScheduleTable {
  int model_chunks = 0;  ///< the model's layers are dealt to this many chunks, as evenly as they divide
  int micro_batches = 0;
  std::vector<Stage> stages;                 ///< by stage number
  std::vector<std::vector<Action>> actions;  ///< [pipeline rank][position], in issue order
  LoweredRows lowered;  ///< as `actions`, with the communication that a file prescribes; empty: Lamina places it
  /// [pipeline rank] Position from which a forward and the backward behind it exchange their messages in one batch, as
  /// Megatron-LM's interleaved schedule does; empty: each action has a batch of its own.
  std::vector<std::size_t> pairs_from;
};

/// What one micro-batch costs on one pipeline rank (all its layers), for schedules that are made to measure.
struct RankTimes {
  double forward_s = 1;
  double input_gradient_s = 1;  ///< with what is recomputed before it
  double weight_gradient_s = 1;
  double message_s = 0;  ///< from one stage to the next, in one piece and alone on the network
  /// Memory from the input gradient to the weight gradient, as a share of the activations that the forward leaves;
  /// above 1 when the forward leaves only the input of a recomputation.
  double kept_for_weight_gradient = 1;
};

struct ScheduleRequest {
  int pipeline_parallel = 1;
  int micro_batches = 1;
  int layers = 1;  ///< transformer layers of the model, and its ends where they count as layers
  catalog::Parameters parameters;
  RankTimes times = {};
};

/// 1. `table` is a pure function of the request.
/// 2. Every stage computes every one of its micro-batches once: one F, and one B or one I followed by one W.
/// 3. Executed in order on each rank, the table never deadlocks.
/// 4. A request that the schedule cannot serve (too few micro-batches, layers that do not divide) is an Infeasible with
/// the
///    numbers in its reason.
class Schedule {
 public:
  virtual ~Schedule() = default;
  [[nodiscard]] virtual tl::expected<ScheduleTable, error::Infeasible> table(const ScheduleRequest& request) const = 0;
};

/// Looping placement: stage s on rank s mod p, chained 0 -> 1 -> ... (one stage per rank when stages == ranks).
[[nodiscard]] std::vector<Stage> looping_placement(int ranks, int stages);

/// Table with the stages of `looping_placement` and no actions yet.
/// @return Infeasible when the request has no rank, micro-batch or chunk, or when its layers do not divide over the
/// chunks
[[nodiscard]] tl::expected<ScheduleTable, error::Infeasible> placed_table(const ScheduleRequest& request,
                                                                          int chunks_per_rank);

/// "0F3", "2B0", "1I4", "1W4": the cell text of PyTorch's pipeline CSV.
[[nodiscard]] std::string to_string(const Action& action);

/// All schedules of this folder (generated from the file list).
[[nodiscard]] catalog::Catalog<Schedule> builtin_schedules();

}  // namespace lamina::schedules
