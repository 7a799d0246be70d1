#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/core.h>

#include "sim/error/error.hpp"
#include "sim/scenario/resolve.hpp"

namespace lamina::scenario {
namespace {

template <class Value, std::size_t N>
using Words = std::array<std::pair<const char*, Value>, N>;

constexpr Words<DataType, 5> kDataTypes = {{{"fp32", DataType::kFp32},
                                            {"tf32", DataType::kTf32},
                                            {"fp16", DataType::kFp16},
                                            {"bf16", DataType::kBf16},
                                            {"fp8", DataType::kFp8}}};
constexpr Words<ShardingLevel, 4> kLevels = {{{"none", ShardingLevel::kNone},
                                              {"optimizer", ShardingLevel::kOptimizer},
                                              {"gradients", ShardingLevel::kGradients},
                                              {"full", ShardingLevel::kFull}}};
constexpr Words<Recompute, 3> kRecomputes = {
    {{"none", Recompute::kNone}, {"selective", Recompute::kSelective}, {"full", Recompute::kFull}}};
constexpr Words<AttentionKernel, 3> kAttentionKernels = {
    {{"flash_attention_2", AttentionKernel::kFlashAttention2},
     {"cudnn", AttentionKernel::kCudnn},
     {"flash_attention_triton", AttentionKernel::kFlashAttentionTriton}}};
constexpr Words<Residency, 2> kResidencies = {
    {{"buffers", Residency::kBuffers}, {"look_ahead", Residency::kLookAhead}}};
constexpr Words<PointToPoint, 4> kPointToPoint = {{{"separate_streams", PointToPoint::kSeparateStreams},
                                                   {"early_posted", PointToPoint::kEarlyPosted},
                                                   {"fused_rendezvous", PointToPoint::kFusedRendezvous},
                                                   {"blocking", PointToPoint::kBlocking}}};
constexpr Words<Update, 2> kUpdates = {
    {{"after_global_norm", Update::kAfterGlobalNorm}, {"with_reduction", Update::kWithReduction}}};
constexpr Words<Dimension, 3> kDimensions = {
    {{"tensor", Dimension::kTensor}, {"data", Dimension::kData}, {"pipeline", Dimension::kPipeline}}};
constexpr Words<OffloadUpdate, 2> kOffloadUpdates = {
    {{"host", OffloadUpdate::kHost}, {"device", OffloadUpdate::kDevice}}};

/// Value of a word that the schema has already checked against its choices.
template <class Value, std::size_t N>
Value value_of(const Words<Value, N>& words, const std::string& word) {
  for (const auto& [name, value] : words) {
    if (name == word) {
      return value;
    }
  }
  throw error::InternalError(fmt::format("the scenario schema allows \"{}\", which has no meaning", word));
}

Sharding read_sharding(const Context& context, const Tree* value, const Position& parent, const std::string& path) {
  const SectionReader reader(context.schema.section("sharding"), value == nullptr ? mapping(parent) : *value, path);
  Sharding sharding;
  sharding.level = value_of(kLevels, reader.text("level"));
  sharding.weight_buffers = reader.integer("weight_buffers");
  sharding.gradient_buffers = reader.integer("gradient_buffers");
  sharding.prefetch = reader.boolean("prefetch");
  sharding.residency = value_of(kResidencies, reader.text("residency"));
  sharding.look_ahead_stages = reader.integer("look_ahead_stages");
  return sharding;
}

/// The schedule of a strategy is a plug-in or a file.
void read_schedule(const Context& context, const SectionReader& reader, Strategy& strategy) {
  const Position& parent = reader.tree().position;
  const Tree* file = reader.value("schedule_file");
  if (file == nullptr) {
    const char* usual = strategy.pipeline_parallel == 1 ? "accumulate" : "one_forward_one_backward";
    strategy.schedule = read_plugin(context.schema, kScheduleKind, reader.value("schedule"), usual, parent,
                                    reader.path("schedule"), context.folder);
    return;
  }
  if (reader.has("schedule")) {
    reader.fail_at("schedule_file", {"The schedule is given twice.", "", "exactly one of schedule and schedule_file"});
  }
  const SectionReader section(context.schema.section("schedule_file"), *file, reader.path("schedule_file"));
  const std::filesystem::path path = section.text("path");
  const bool from_command_line = file->position.line == 0;
  strategy.schedule_file =
      ScheduleFile{(from_command_line ? path : context.folder / path).string(), section.integer("model_copies")};
  strategy.schedule.name = path.filename().string();
}

Overlap read_overlap(const Context& context, const Tree* value, const Position& parent, const std::string& path) {
  const SectionReader reader(context.schema.section("overlap"), value == nullptr ? mapping(parent) : *value, path);
  Overlap overlap;
  overlap.pipeline = reader.boolean("pipeline");
  overlap.reduce = reader.boolean("reduce");
  overlap.restore = reader.boolean("restore");
  overlap.offload = reader.boolean("offload");
  return overlap;
}

Offload read_offload(const Context& context, const Tree* value, const Position& parent, const std::string& path) {
  const SectionReader reader(context.schema.section("offload"), value == nullptr ? mapping(parent) : *value, path);
  Offload offload;
  offload.state = reader.boolean("state");
  offload.update_on = value_of(kOffloadUpdates, reader.text("update_on"));
  offload.checkpoints = reader.boolean("checkpoints");
  return offload;
}

/// Type in which a tensor is kept when matrix products run in `compute`.
DataType storage_of(DataType compute) {
  return compute == DataType::kFp8 ? DataType::kBf16 : compute == DataType::kTf32 ? DataType::kFp32 : compute;
}

Precision read_precision(const Context& context, const Tree* value, const Position& parent, const std::string& path,
                         const Accelerator& accelerator) {
  const SectionReader reader(context.schema.section("precision"), value == nullptr ? mapping(parent) : *value, path);
  const DataType usual = accelerator.peak.contains(DataType::kBf16) ? DataType::kBf16 : DataType::kFp16;
  Precision precision;
  precision.compute = value_of(kDataTypes, reader.text_or("compute", name_of(usual)));
  precision.weights = value_of(kDataTypes, reader.text_or("weights", name_of(storage_of(precision.compute))));
  precision.gradients = value_of(kDataTypes, reader.text_or("gradients", name_of(precision.weights)));
  precision.state_bytes_per_parameter = reader.number("state_bytes_per_parameter");
  if (!accelerator.peak.contains(precision.compute)) {
    std::vector<std::string> supported;
    for (const auto& [type, rate] : accelerator.peak) {
      supported.push_back(name_of(type));
    }
    reader.fail_at("compute", {fmt::format("The accelerator {} has no peak rate for this type.", accelerator.name),
                               name_of(precision.compute), enumerate(supported)});
  }
  return precision;
}

std::array<Dimension, 3> read_placement(const SectionReader& reader, const std::array<Dimension, 3>& otherwise) {
  const Tree* value = reader.value("placement");
  if (value == nullptr) {
    return otherwise;
  }
  const std::string allowed = "a list of tensor, data and pipeline in any order, innermost first";
  if (value->kind != Tree::Kind::kList) {
    reader.fail_at("placement", {"The value has the wrong type.", describe(*value), allowed});
  }
  const KeySpec& spec = *reader.section().find("placement");
  std::vector<Dimension> order;
  for (const Tree& item : value->items) {
    const Dimension dimension = value_of(kDimensions, read_word(spec, item, reader.path("placement")));
    if (std::find(order.begin(), order.end(), dimension) != order.end()) {
      fail(item.position.location(), reader.path("placement"), {"A dimension occurs twice.", describe(item), allowed});
    }
    order.push_back(dimension);
  }
  if (order.size() != otherwise.size()) {
    reader.fail_at("placement", {"A dimension is missing.", fmt::format("{} of 3", order.size()), allowed});
  }
  return {order[0], order[1], order[2]};
}

int micro_batches_of(const SectionReader& reader, const Strategy& strategy) {
  const bool by_count = reader.has("micro_batches");
  if (by_count == reader.has("global_batch")) {
    const std::string key = by_count ? "global_batch" : "micro_batches";
    reader.fail_at(key, {by_count ? "The batch is given twice." : "The batch is not given.", "",
                         "exactly one of micro_batches and global_batch"});
  }
  if (by_count) {
    return reader.integer("micro_batches");
  }
  const std::int64_t batch = reader.large_integer("global_batch");
  const std::int64_t share = strategy.micro_batch_size * strategy.data_parallel;
  if (batch % share != 0) {
    reader.fail_at("global_batch", {fmt::format("{} sequences cannot be dealt to {} replicas in micro-batches of {}.",
                                                batch, strategy.data_parallel, strategy.micro_batch_size),
                                    fmt::format("{}", batch), fmt::format("a multiple of {}", share)});
  }
  const std::int64_t count = batch / share;
  constexpr std::int64_t kMostMicroBatches = 1'000'000;
  if (count > kMostMicroBatches) {
    reader.fail_at("global_batch", {fmt::format("This makes {} micro-batches per replica.", count), "",
                                    fmt::format("at most {}", kMostMicroBatches)});
  }
  return static_cast<int>(count);
}

/// The key to point at when there are too many ranks: one set on the command line, else the largest.
const char* culprit_of(const SectionReader& reader, const Strategy& strategy) {
  const std::array<std::pair<const char*, int>, 3> keys = {{{"data_parallel", strategy.data_parallel},
                                                            {"pipeline_parallel", strategy.pipeline_parallel},
                                                            {"tensor_parallel", strategy.tensor_parallel}}};
  for (const auto& [key, ways] : keys) {
    if (const Tree* value = reader.value(key); value != nullptr && value->position.line == 0) {
      return key;
    }
  }
  return std::max_element(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

void check_ranks(const SectionReader& reader, const Strategy& strategy, const Cluster& cluster) {
  const double ranks =
      static_cast<double>(strategy.data_parallel) * strategy.pipeline_parallel * strategy.tensor_parallel;
  if (ranks <= cluster.devices()) {
    return;
  }
  reader.fail_at(culprit_of(reader, strategy),
                 {"The strategy needs more ranks than the cluster has devices.",
                  fmt::format("{} data x {} pipeline x {} tensor = {:.0f} ranks", strategy.data_parallel,
                              strategy.pipeline_parallel, strategy.tensor_parallel, ranks),
                  fmt::format("at most {} ({} nodes of {})", cluster.devices(), cluster.nodes, cluster.node.devices)});
}

void check_tensor(const SectionReader& reader, const Strategy& strategy, const Model& model) {
  const std::int64_t ways = strategy.tensor_parallel;
  if (model.custom || ways == 1) {
    return;
  }
  const auto refuse = [&](const char* what, std::int64_t size) {
    reader.fail_at("tensor_parallel",
                   {fmt::format("{} tensor ranks do not divide the model's {} {}.", ways, size, what),
                    fmt::format("{}", ways), fmt::format("a divisor of {}", size)});
  };
  if (model.heads % ways != 0) {
    refuse("heads", model.heads);
  }
  if (model.key_value_heads % ways != 0 && ways % model.key_value_heads != 0) {
    refuse("key and value heads", model.key_value_heads);
  }
  if (model.feed_forward % ways != 0) {
    refuse("columns of the MLP", model.feed_forward);
  }
  if (strategy.sequence_parallel && model.sequence_length % ways != 0) {
    refuse("tokens of a sequence (sequence_parallel)", model.sequence_length);
  }
}

}  // namespace

std::string name_of(DataType type) {
  const auto found =
      std::find_if(kDataTypes.begin(), kDataTypes.end(), [&](const auto& word) { return word.second == type; });
  return found == kDataTypes.end() ? "" : found->first;
}

std::optional<DataType> data_type_of(const std::string& name) {
  for (const auto& [word, type] : kDataTypes) {
    if (word == name) {
      return type;
    }
  }
  return std::nullopt;
}

Strategy read_strategy(const Context& context, const Tree& value, const Model& model, const Cluster& cluster) {
  const SectionReader reader(context.schema.section("strategy"), value, "strategy");
  const Position& parent = reader.tree().position;
  Strategy strategy;
  strategy.data_parallel = reader.integer("data_parallel");
  strategy.pipeline_parallel = reader.integer("pipeline_parallel");
  strategy.tensor_parallel = reader.integer("tensor_parallel");
  strategy.sequence_parallel = reader.boolean("sequence_parallel");
  strategy.micro_batch_size = reader.large_integer("micro_batch_size");
  check_ranks(reader, strategy, cluster);
  strategy.micro_batches = micro_batches_of(reader, strategy);
  read_schedule(context, reader, strategy);
  strategy.point_to_point = value_of(kPointToPoint, reader.text("point_to_point"));
  strategy.embedding_counts_as_layer = reader.boolean("account_for_embedding_in_pipeline_split");
  strategy.head_counts_as_layer = reader.boolean("account_for_loss_in_pipeline_split");
  strategy.sharding = read_sharding(context, reader.value("sharding"), parent, reader.path("sharding"));
  strategy.overlap = read_overlap(context, reader.value("overlap"), parent, reader.path("overlap"));
  strategy.recompute = value_of(kRecomputes, reader.text("recompute"));
  strategy.fused_attention = reader.boolean("fused_attention");
  strategy.attention_kernel = value_of(kAttentionKernels, reader.text("attention_kernel"));
  strategy.fused_gradient_accumulation = reader.boolean("fused_gradient_accumulation");
  strategy.fused_cross_entropy = reader.boolean("fused_cross_entropy");
  strategy.logit_metrics = reader.integer("logit_metrics");
  strategy.fused_optimizer = reader.boolean("fused_optimizer");
  strategy.synchronous_batches = reader.boolean("synchronous_batches");
  strategy.precision =
      read_precision(context, reader.value("precision"), parent, reader.path("precision"), cluster.node.accelerator);
  strategy.offload = read_offload(context, reader.value("offload"), parent, reader.path("offload"));
  strategy.update = value_of(kUpdates, reader.text("update"));
  strategy.placement = read_placement(reader, strategy.placement);
  strategy.sliced_sends = reader.boolean("sliced_sends");
  check_tensor(reader, strategy, model);
  return strategy;
}

}  // namespace lamina::scenario
