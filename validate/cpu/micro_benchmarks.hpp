#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/model/work.hpp"
#include "validate/calibration/calibration.hpp"
#include "validate/kernel_calls.hpp"

/// Micro-benchmarks on the processor cores of this machine: products, attention, copies, files, messages. They become a
/// calibration like those of other people's logs.
namespace lamina::validate::cpu {

/// Kernels that are timed together.
struct MicroCase {
  std::string name;               ///< "square", "thin", or the kernel's of the model: "qkv"
  std::vector<KernelCall> calls;  ///< of one product one; of attention what its core launches
  bool fused = false;
  bool backward = false;
  double flops = 0;
};

/// What is measured, in order; sizes in bytes.
struct MicroPlan {
  std::vector<MicroCase> products;
  std::vector<MicroCase> attention;
  std::vector<std::size_t> copies;
  std::vector<std::size_t> files;
  std::vector<std::size_t> messages;
  std::vector<std::size_t> beside;  ///< of messages that run beside products
};

/// Squares, thin products, and those of a transformer layer and of the head, where there is one, in their three passes
/// (the head's vocabulary is halved down to 4,096 where 128 tokens are too many); the core of its attention, forward
/// and backward, fused and not. Tokens of a product (of attention: heads) are halved until one fits `seconds` by a
/// fixed rule, so that a machine's speed does not change the plan; products keep 128 tokens.
/// @param fused, unfused the layer with strategy.fused_attention on and off; with kernels, that is, no custom model
[[nodiscard]] MicroPlan micro_plan(const model::WorkModel& fused, const model::WorkModel& unfused, double seconds);

enum class MicroGroup : std::int32_t {
  kProducts,
  kAttention,
  kCopies,
  kFileWrites,
  kFileReads,
  kMessages,
  kReductions,
  kBeside,
};

enum class MicroFate : std::int32_t { kMeasured, kNoTime, kNoMemory, kNotSupported };

/// One row of the result. Seconds are medians of one execution; `spread` is interquartile range over median.
struct MicroTiming {
  MicroGroup group = MicroGroup::kProducts;
  std::int32_t half = 0;   ///< bf16 instead of fp32, of kernels
  std::int32_t index = 0;  ///< in the plan's list
  MicroFate fate = MicroFate::kMeasured;
  double seconds = 0;
  double spread = 0;
  double samples = 0;
  double alone_s = 0;         ///< of kernels beside messages: without them
  double stream_s = 0;        ///< of messages: one of many that follow each other
  double sender_cpu_s = 0;    ///< of messages: thread processor time of one
  double receiver_cpu_s = 0;  ///< likewise
};

/// What the cores reported, and under which conditions.
struct MicroResult {
  std::vector<MicroTiming> timings;
  std::vector<std::string> engines;  ///< descriptions, by data type
  std::string files;                 ///< how files were written and read, or why not
  std::string processor;             ///< model of the processor
  std::string load;                  ///< average number of running processes of the minute before, and at the end
  std::size_t cores = 0;             ///< that this process may use
  double memory_bytes = 0;           ///< of the host
};

struct MicroSettings {
  double seconds = 60;  ///< in which all ends, but for what has begun; of every kind one case is measured at least
  std::filesystem::path scratch;  ///< folder for a temporary file that has no name while it is used
};

/// Two processes, pinned to a core each; both on one core where there is only one. Called while this process has one
/// thread.
/// @throws EnvironmentError: no plug-in "onednn", no loopback network, a process that ended
[[nodiscard]] MicroResult run_micro_benchmarks(const MicroPlan& plan, const MicroSettings& settings);

/// Hardware of the measurements: accelerator NAME (peak: the best product; memory bandwidth: large copies) with the
/// cost model fitted to its bf16 products, NAME-fp32 to those of fp32; device link and network NAME (messages), device
/// link NAME-ring (all-reduce); host path NAME (copies), NAME-file-write and NAME-file-read. Everything that was timed
/// stands in tables.
/// @return what could not be measured is in `skipped`
/// @throws InternalError when no product was measured
[[nodiscard]] calibration::Calibration micro_calibration(const MicroPlan& plan, const MicroResult& result,
                                                         const std::string& name);

/// Warnings for the user: spreads above 10 %, processes that share a core.
[[nodiscard]] std::vector<std::string> micro_warnings(const MicroResult& result);

}  // namespace lamina::validate::cpu
