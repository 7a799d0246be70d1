#include "sim/scenario/schema_keys.hpp"

namespace lamina::scenario {
namespace {

constexpr double kMostRanks = 1e7;
constexpr double kMostMetrics = 100;

KeySpec flag(std::string value, std::string name, std::string help) {
  return with_default(std::move(value), key(std::move(name), ValueKind::kBoolean, std::move(help)));
}

KeySpec ways(std::string name, std::string help) {
  return with_default("1", between(1, kMostRanks, key(std::move(name), ValueKind::kInteger, std::move(help))));
}

std::vector<KeySpec> layout_keys() {
  return {
      ways("data_parallel", "Replicas of the model. On the command line also `dp`."),
      ways("pipeline_parallel", "Ranks of one pipeline. On the command line also `pp`."),
      ways("tensor_parallel",
           "Ranks that share every layer; divides `heads` and `feed_forward`. On the command line also `tp`."),
      flag("false", "sequence_parallel", "Split norms and residuals along the sequence over the tensor ranks."),
      with_default("1", between(1, 1e6,
                                key("micro_batch_size", ValueKind::kInteger,
                                    "Sequences of one micro-batch. On the command line also `mbs`."))),
      with_default_text("exactly one of micro_batches and global_batch",
                        instead_of("global_batch", between(1, 1e6,
                                                           key("micro_batches", ValueKind::kInteger,
                                                               "Micro-batches per replica and step.")))),
      with_default_text("exactly one of micro_batches and global_batch",
                        instead_of("micro_batches", between(1, 1e12,
                                                            key("global_batch", ValueKind::kInteger,
                                                                "Sequences per step; a multiple of "
                                                                "`micro_batch_size` x `data_parallel`.")))),
      with_default_text("`accumulate` when `pipeline_parallel` is 1, else `one_forward_one_backward`",
                        instead_of("schedule_file",
                                   to(std::string(kScheduleKind),
                                      key("schedule", ValueKind::kPlugin,
                                          "Order of the micro-batches and stages: a name, or a mapping with `name` and "
                                          "parameters.")))),
      instead_of("schedule", to("schedule_file", key("schedule_file", ValueKind::kSection,
                                                     "A schedule from a file in place of `schedule`."))),
      with_default("separate_streams",
                   one_of({"separate_streams", "early_posted", "fused_rendezvous", "blocking"},
                          key("point_to_point", ValueKind::kChoice,
                              "How sends and receives between stages are issued: on streams of their own; on one "
                              "stream with receives posted early (PyTorch's schedule runtime); batched between two "
                              "actions and awaited at once (Megatron-LM, PyTorch's single-stage 1F1B); one by one "
                              "on the compute stream."))),
      flag("false", "account_for_embedding_in_pipeline_split",
           "The embedding counts as a layer when layers are dealt to stages, as Megatron-LM's option of this "
           "name."),
      flag("false", "account_for_loss_in_pipeline_split", "The head counts as a layer, likewise."),
      with_default("none", to("sharding", key("sharding", ValueKind::kSection,
                                              "What is cut over the data-parallel ranks (ZeRO, FSDP).")))};
}

std::vector<KeySpec> execution_keys() {
  return {
      with_default("true",
                   to("overlap", key("overlap", ValueKind::kSection, "Which communication may run beside compute."))),
      with_default("none", one_of({"none", "selective", "full"},
                                  key("recompute", ValueKind::kChoice,
                                      "Activations that the backward pass computes again: none, those of the "
                                      "attention core, or all but the layer's input."))),
      flag("false", "fused_attention",
           "Attention in one kernel that never writes the scores to memory (FlashAttention)."),
      with_default(
          "flash_attention_2",
          one_of({"flash_attention_2", "cudnn", "flash_attention_triton"},
                 key("attention_kernel", ValueKind::kChoice,
                     "Library of that kernel, whose speed the cost model `calibrated` knows: FlashAttention-2, "
                     "cuDNN (Transformer Engine's choice on Hopper), or the first FlashAttention in Triton."))),
      flag("true", "fused_gradient_accumulation",
           "The product of a weight gradient adds to the gradient buffer itself; otherwise it writes a gradient of "
           "the compute type and a kernel of its own adds that (Megatron-LM's --no-gradient-accumulation-fusion)."),
      flag("true", "fused_cross_entropy",
           "One kernel each way for the loss; otherwise a pass over the logits in fp32 for each elementary "
           "operation, as in Megatron-LM's vocabulary-parallel cross entropy."),
      with_default("0", between(0, kMostMetrics,
                                key("logit_metrics", ValueKind::kInteger,
                                    "Training metrics that the framework computes from the logits of every micro-batch "
                                    "by a cross entropy in fp32 of their own, as Composer's LanguageCrossEntropy and "
                                    "LanguagePerplexity."))),
      flag("true", "fused_optimizer",
           "One pass over gradients, state and weights; otherwise cast, unscaling (fp16), norm, clipping, zeroing "
           "and the copy of master weights are passes of their own, as in Megatron-LM's mixed-precision optimizer."),
      flag("false", "synchronous_batches",
           "The host waits for its device at each forward of a stage, as when the sizes of a batch are broadcast "
           "and read (Megatron-LM's broadcast_data)."),
      with_default_text("see below", to("precision", key("precision", ValueKind::kSection, "Data types."))),
      with_default_text("nothing", to("offload", key("offload", ValueKind::kSection, "What lives in host memory."))),
      with_default("after_global_norm",
                   one_of({"after_global_norm", "with_reduction"},
                          key("update", ValueKind::kChoice,
                              "When the optimizer runs: once the norm of all gradients is known, or layer by layer as "
                              "soon as the layer's reduction is done."))),
      with_default("[tensor, data, pipeline]",
                   one_of({"tensor", "data", "pipeline"},
                          key("placement", ValueKind::kNameList,
                              "Which dimension varies fastest over the devices, innermost first: all three."))),
      flag("true", "sliced_sends",
           "Every tensor rank sends its share of an activation to the next stage, instead of the whole.")};
}

Section strategy_section() {
  std::vector<KeySpec> keys = layout_keys();
  for (KeySpec& spec : execution_keys()) {
    keys.push_back(std::move(spec));
  }
  return {"strategy", "strategy",
          "`data_parallel` x `pipeline_parallel` x `tensor_parallel` ranks run on as many devices of the cluster; the "
          "cluster may have more. Give either `micro_batches` or `global_batch`.",
          "", keys};
}

Section sharding_section() {
  const auto buffers = [](std::string name, std::string help) {
    return with_default("2", between(1, 100'000, key(std::move(name), ValueKind::kInteger, std::move(help))));
  };
  return {"sharding",
          "strategy.sharding",
          "A bare word sets `level`.",
          "level",
          {with_default("none", one_of({"none", "optimizer", "gradients", "full"},
                                       key("level", ValueKind::kChoice, "ZeRO stage 0, 1, 2 or 3."))),
           buffers("weight_buffers", "Layers whose whole weights may be resident at once under `full`."),
           buffers("gradient_buffers", "Layers whose whole gradients may be resident under `gradients` and `full`."),
           flag("true", "prefetch",
                "Restore a layer's weights as soon as a buffer is free; otherwise when the layer is next."),
           with_default("buffers", one_of({"buffers", "look_ahead"},
                                          key("residency", ValueKind::kChoice,
                                              "Which weights are resident under `full`: layers that take "
                                              "`weight_buffers` round robin (Fast-LLM), or the stages that the next "
                                              "actions use (PyTorch)."))),
           with_default("3", between(1, 100'000,
                                     key("look_ahead_stages", ValueKind::kInteger,
                                         "Distinct stages, in order of use, that `look_ahead` keeps or fetches.")))}};
}

Section schedule_file_section() {
  return {"schedule_file",
          "strategy.schedule_file",
          "A schedule as PyTorch's pipeline CSV, compute-only or lowered; `lamina export pytorch-csv` writes one. A "
          "bare word sets `path`.",
          "path",
          {required(key("path", ValueKind::kText,
                        "The file, relative to the scenario's folder; given by `--set`, to the current folder.")),
           with_default("1", between(1, 2,
                                     key("model_copies", ValueKind::kInteger,
                                         "2: the second half of the stages is a copy of the model that runs the other "
                                         "way through the ranks (DualPipe).")))}};
}

Section overlap_section() {
  return {
      "overlap",
      "strategy.overlap",
      "A bare `true` or `false` sets all four.",
      "*",
      {flag("true", "pipeline", "Sends and receives between stages."),
       flag("true", "reduce",
            "Gradient reductions; whole gradients are otherwise reduced behind the last backward pass of the rank."),
       flag("true", "restore", "Gathering of sharded weights."), flag("true", "offload", "Host copies.")}};
}

KeySpec type(std::string name, std::string help) {
  return one_of({"fp32", "tf32", "fp16", "bf16", "fp8"}, key(std::move(name), ValueKind::kChoice, std::move(help)));
}

Section precision_section() {
  return {"precision",
          "strategy.precision",
          "",
          "",
          {with_default_text("`bf16`, or `fp16` on an accelerator without bf16",
                             type("compute", "Matrix products and activations; the accelerator must support it.")),
           with_default_text("as `compute`; `bf16` for fp8, `fp32` for tf32", type("weights", "Resident weights.")),
           with_default_text("as `weights`", type("gradients", "Gradient buffers and what a reduction moves.")),
           with_default("12", between(0, 1000,
                                      key("state_bytes_per_parameter", ValueKind::kNumber,
                                          "Master weights and optimizer moments; 12: Adam in fp32.")))}};
}

Section offload_section() {
  return {"offload",
          "strategy.offload",
          "",
          "",
          {flag("false", "state", "Optimizer state lives in host memory."),
           with_default("host", one_of({"host", "device"},
                                       key("update_on", ValueKind::kChoice, "Where an offloaded state is updated."))),
           flag("false", "checkpoints", "Activation checkpoints live in host memory.")}};
}

}  // namespace

std::vector<Section> strategy_sections() {
  return {strategy_section(), schedule_file_section(), sharding_section(),
          overlap_section(),  precision_section(),     offload_section()};
}

}  // namespace lamina::scenario
