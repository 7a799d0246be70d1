#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "validate/calibration/calibration.hpp"

/// Measured matrix products, as tables state them, before any fit.
namespace lamina::validate::calibration {

/// `batch` products of m x k by k x n.
struct Product {
  double batch = 1;
  double m = 0;
  double n = 0;
  double k = 0;
  double seconds = 0;
};

/// One accelerator and data type.
struct ProductSet {
  std::string file;
  std::string device;                      ///< as stated; empty: the source does not say
  std::optional<scenario::DataType> type;  ///< nothing: the source does not say
  bool may_be_tf32 = false;                ///< "f32" of a framework that may use tensor cores for it
  std::vector<Label> labels;               ///< what distinguishes it from the file's other sets
  std::vector<Product> products;
  std::vector<LeftOut> left_out;
  std::vector<std::string> notes;
};

/// A CSV table of matrix products; the form is told by its columns:
///
/// | columns (others are passed over) | from |
/// | --- | --- |
/// | device, b, m, n, k, and columns such as bf16xbf16_to_bf16_flops | OpenXLA |
/// | m, n, k; time_us, time_ms, latency_ms, time_s or tflops; b or groups; device; dtype or precision | NeuSight,
/// DeepBench, DeepGEMM, and a user's own | | op with sizes in it, tflops | EleutherAI cookbook | | dtype, accelerator,
/// mamf_tflops, best_mnk | best shapes | | mnk, and one column ending in tflops | square products |
///
/// Data type and accelerator are taken from the comments where no column has them ("fp16", "V100"), but not when the
/// comments say that they are presumed or not stated.
/// @throws ScenarioError: another header, a row with more or fewer fields, a field that is no number, or not positive
[[nodiscard]] std::vector<ProductSet> read_product_table(std::string_view text, const std::string& file);

/// "fp16", "bfloat16", "mixed", "f8e4m3fn" ...; nothing for others. "f32" is kFp32.
[[nodiscard]] std::optional<scenario::DataType> type_of(std::string_view word);

/// A name that tools print for an accelerator, and what the catalogue has for it.
struct KnownAccelerator {
  std::string base;            ///< name in the catalogue
  std::vector<Label> changes;  ///< keys of the entry that differ, as YAML
  std::string source;          ///< of the changes, or why the base stands for it
};

/// "NVIDIA H100 80GB HBM3", "Tesla V100-PCIE-32GB", "sm_90" ...; nothing for what the catalogue lacks.
[[nodiscard]] std::optional<KnownAccelerator> known_accelerator(const std::string& device);

/// The entry as `cluster.accelerator` takes it: "{base: h100-sxm, memory_bandwidth: 2 TB/s}".
[[nodiscard]] std::string as_yaml(const KnownAccelerator& known);

}  // namespace lamina::validate::calibration
