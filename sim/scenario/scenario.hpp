#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/catalog/parameters.hpp"
#include "sim/scenario/disturbance.hpp"
#include "sim/units/quantity.hpp"

/// Plain values that a scenario file resolves to. Everything is checked: positive where it must be, units applied,
/// catalogue references replaced by their content. No field is "unset" unless it is a std::optional.
namespace lamina::scenario {

enum class DataType { kFp32, kTf32, kFp16, kBf16, kFp8 };

/// Bytes of one element.
[[nodiscard]] double bytes_of(DataType type);

/// Durations and sizes that a user has who profiled his own stages (`model: custom`); all per layer, per rank and
/// micro-batch, as measured under the tensor parallelism in use. Lamina does not rescale them.
struct CustomModel {
  Seconds forward;
  Seconds recompute;  ///< 0 unless recompute is full
  Seconds input_gradient;
  Seconds weight_gradient;
  Seconds update;        ///< optimizer, per layer and step
  Bytes message;         ///< activations handed to the next stage, per micro-batch and rank; 0: a pure dependency
  Bytes parameters;      ///< half-precision weights of one layer and rank (restores move this, reductions the same)
  Bytes state;           ///< optimizer state of one layer and rank, before sharding
  Bytes checkpoint;      ///< kept from forward to backward, per layer and micro-batch
  Bytes working_set;     ///< alive while one layer of one micro-batch is computed
  Bytes tensor_message;  ///< payload of each tensor-parallel collective (two per layer and pass); 0: none
  Flops flops;           ///< forward, per layer and micro-batch, for utilisation figures; 0: not reported
};

/// A dense decoder (GPT or Llama style). Shapes are of the whole model, before any partition.
struct Model {
  std::string name;
  std::string source;
  int layers = 0;
  std::int64_t hidden = 0;           ///< h
  std::int64_t sequence_length = 0;  ///< s, tokens
  std::int64_t heads = 0;            ///< a, query heads
  std::int64_t key_value_heads = 0;  ///< grouped-query attention; = heads otherwise
  std::int64_t head_size = 0;
  std::int64_t feed_forward = 0;  ///< width of the MLP
  bool gated_mlp = false;         ///< three MLP matrices (SwiGLU) instead of two
  std::int64_t vocabulary = 0;    ///< 0: no embedding, no head, no loss (the X family's analysis)
  bool tied_embeddings = false;
  std::int64_t learned_positions = 0;  ///< rows of a learned position embedding; 0: none (rotary)
  bool biases = true;                  ///< GPT: yes, Llama: no
  bool causal_half = false;            ///< count only the lower triangle of the attention scores
  std::optional<CustomModel> custom;
};

struct Accelerator {
  std::string name;
  std::string source;
  std::map<DataType, FlopsPerSecond> peak;  ///< dense, without sparsity
  Bytes memory;
  BytesPerSecond memory_bandwidth;
  int multiprocessors = 0;
};

/// One way in which a library runs collectives over links; it takes the one that is fastest for a payload.
struct CollectiveProtocol {
  std::string name;       ///< LL, LL128, Simple, ...
  std::string algorithm;  ///< "": for every algorithm that no protocol of the links names
  Seconds start{0};       ///< before anything moves
  Seconds hop{0};         ///< beside the route's latency, for every hop that follows another
  double efficiency = 1;  ///< share of the links' rate
};

/// Device-to-device links inside a node (NVLink through NVSwitch, or PCIe).
struct DeviceLink {
  std::string name;
  std::string source;
  BytesPerSecond bandwidth;                   ///< per device and direction
  Seconds latency;                            ///< per hop device -> switch -> device
  std::vector<CollectiveProtocol> protocols;  ///< of collectives inside a domain; none: at once, at the links' rate
};

/// Path from a device to host memory.
struct HostPath {
  std::string name;
  std::string source;
  BytesPerSecond bandwidth;  ///< per link and direction
  Seconds latency;
  int shared_by = 1;  ///< devices behind one link
};

/// One network port and the technology of the links and switches behind it.
struct Network {
  std::string name;
  std::string source;
  BytesPerSecond bandwidth;                   ///< per port and direction, payload rate on the wire
  Seconds port_latency;                       ///< NIC and protocol stack, per message and end-to-end pair
  Seconds switch_latency;                     ///< per switch crossed
  double efficiency = 1.0;                    ///< share of `bandwidth` that a long message reaches
  std::vector<CollectiveProtocol> protocols;  ///< of collectives that leave a domain
};

struct Node {
  std::string name;
  std::string source;
  int devices = 0;
  Accelerator accelerator;
  DeviceLink device_link;
  int device_link_domain = 0;  ///< devices in one NVSwitch domain; divides `devices`, or a multiple of it (rack scale)
  HostPath host_path;
  int nics = 0;  ///< ports per node; devices use them round robin in blocks: device i -> port i * nics / devices
  Bytes host_memory;
};

/// A plug-in chosen by name with its checked parameters.
struct PluginChoice {
  std::string name;
  catalog::Parameters parameters;
};

struct Cluster {
  Node node;
  int nodes = 0;
  Network network;
  PluginChoice topology;

  [[nodiscard]] int devices() const { return node.devices * nodes; }
};

/// A schedule that was written down elsewhere, as PyTorch's pipeline CSV.
struct ScheduleFile {
  std::string path;      ///< relative paths are taken from the scenario's folder
  int model_copies = 1;  ///< 2: the second half of the stages is a copy of the model that runs the other way (DualPipe)
};

enum class ShardingLevel { kNone, kOptimizer, kGradients, kFull };  ///< ZeRO 0, 1, 2, 3 (FSDP)

/// Which weights are resident under kFull: layers that take the weight buffers round robin (Fast-LLM), or the stages
/// that the next actions use (torch.distributed.pipelining).
enum class Residency { kBuffers, kLookAhead };

struct Sharding {
  ShardingLevel level = ShardingLevel::kNone;
  int weight_buffers = 2;    ///< layers whose full weights may be resident under kFull
  int gradient_buffers = 2;  ///< layers whose full gradients may be resident under kGradients and kFull
  bool prefetch = true;      ///< a restore starts as soon as its buffer is free; otherwise when its layer is next
  Residency residency = Residency::kBuffers;
  int look_ahead_stages = 3;  ///< kLookAhead: distinct stages, in order of use, whose weights are kept or fetched
};

/// When the ends of a message between stages are issued; docs/model.md has the rules.
enum class PointToPoint {
  kSeparateStreams,  ///< a stream per peer and direction; a message waits for its producer only
  kEarlyPosted,      ///< one pipeline stream; receives are posted in the order of the senders, awaited at their use
  kFusedRendezvous,  ///< what lies between two actions is one batch that both sides wait for
  kBlocking,         ///< one after the other on the compute stream
};

enum class Recompute { kNone, kSelective, kFull };
/// Library of the fused attention kernel; FlashAttention-2 is arXiv 2307.08691.
enum class AttentionKernel { kFlashAttention2, kCudnn, kFlashAttentionTriton };
enum class Update { kAfterGlobalNorm, kWithReduction };
enum class Dimension { kTensor, kData, kPipeline };

/// Which communication may run beside compute. When false the operation is issued on the compute stream.
struct Overlap {
  bool pipeline = true;
  bool reduce = true;
  bool restore = true;
  bool offload = true;
};

struct Precision {
  DataType compute = DataType::kBf16;     ///< type of matrix products and activations
  DataType weights = DataType::kBf16;     ///< resident or restored weights
  DataType gradients = DataType::kBf16;   ///< gradient buffers and what a reduction moves
  double state_bytes_per_parameter = 12;  ///< master weights and moments; Adam in fp32: 12
};

enum class OffloadUpdate { kHost, kDevice };

struct Offload {
  bool state = false;  ///< optimizer state lives in host memory
  OffloadUpdate update_on = OffloadUpdate::kHost;
  bool checkpoints = false;  ///< activation checkpoints live in host memory
};

struct Strategy {
  int data_parallel = 1;
  int pipeline_parallel = 1;
  int tensor_parallel = 1;
  bool sequence_parallel = false;
  std::int64_t micro_batch_size = 1;          ///< sequences
  int micro_batches = 1;                      ///< per replica and step
  PluginChoice schedule;                      ///< `name` is the file's name when there is a `schedule_file`
  std::optional<ScheduleFile> schedule_file;  ///< takes the place of the plug-in
  PointToPoint point_to_point = PointToPoint::kSeparateStreams;
  bool embedding_counts_as_layer = false;  ///< when layers are dealt to stages (Megatron-LM's
  bool head_counts_as_layer = false;       ///< --account-for-embedding/loss-in-pipeline-split)
  Sharding sharding;
  Overlap overlap;
  Recompute recompute = Recompute::kNone;
  Precision precision;
  Offload offload;
  Update update = Update::kAfterGlobalNorm;
  std::array<Dimension, 3> placement = {Dimension::kTensor, Dimension::kData,
                                        Dimension::kPipeline};  ///< innermost first
  /// Attention in one kernel that never writes the scores to device memory (FlashAttention, arXiv 2205.14135).
  bool fused_attention = false;
  AttentionKernel attention_kernel = AttentionKernel::kFlashAttention2;
  bool fused_gradient_accumulation = true;  ///< products add to the gradient buffer (Megatron-LM's option of the name)
  int logit_metrics = 0;             ///< computed by cross entropies of their own from every micro-batch's logits
  bool fused_cross_entropy = true;   ///< one kernel each way instead of a pass for each elementary operation
  bool fused_optimizer = true;       ///< norm, clipping and casts of gradients cost no pass of their own
  bool synchronous_batches = false;  ///< the host waits for the device at each forward of a stage
  bool sliced_sends = true;  ///< tensor ranks send 1/t each; gathered over the tensor group unless sequence parallel

  [[nodiscard]] int ranks() const { return data_parallel * pipeline_parallel * tensor_parallel; }

  [[nodiscard]] std::int64_t global_batch() const { return micro_batch_size * micro_batches * data_parallel; }
};

enum class CollectiveForm { kFluid, kMessage };

/// What moves the bytes of a replay.
enum class Transport {
  kSimgrid,       ///< flows share links max-min fairly
  kNoContention,  ///< every flow as if it were alone: closed durations, for coarse searches
};

struct Simulation {
  PluginChoice cost_model;           ///< "ideal" or "roofline"
  std::string collective_algorithm;  ///< name in the collectives catalogue: "ring" or "hierarchical"
  CollectiveForm collective_form = CollectiveForm::kFluid;
  double communication_slowdown = 0;  ///< compute runs at (1 - x) while a transfer touches the device
  bool attention_scores = true;       ///< count the FLOPs of QK^T and PV (the 2021 analysis leaves them out)
  bool fold = true;
  Transport transport = Transport::kSimgrid;
  bool enforce_memory = true;  ///< a layout that does not fit is an error exit; false: reported, but carries on
};

enum class BatchLaw { kNone, kLayeredModular2021, kKaplan2020 };

struct Training {
  double steps = 0;                      ///< > 0 when steps are given
  double tokens = 0;                     ///< > 0 when tokens are given; steps = tokens / tokens per step
  BatchLaw batch_law = BatchLaw::kNone;  ///< critical batch printed beside the scenario's own (and a warning above it)
};

/// A published figure that the report prints beside its own, under the same dotted name as in the JSON report.
struct ReferenceValue {
  std::string name;                           ///< e.g. "step.efficiency", "memory.breakdown_bytes.state"
  double value = 0;                           ///< in the unit of the JSON field
  double tolerance = 0;                       ///< relative difference that counts as agreement
  std::optional<double> expected_difference;  ///< relative; where simulation and source honestly differ
  std::string reason;                         ///< why they differ
};

struct Reference {
  std::string source;
  std::vector<ReferenceValue> values;
};

struct Scenario {
  std::string name;
  std::string description;
  std::string file;  ///< as given by the user
  Model model;
  Cluster cluster;
  Strategy strategy;
  Simulation simulation;
  Disturbances disturbances;
  std::optional<Training> training;
  std::optional<Reference> reference;
};

}  // namespace lamina::scenario
