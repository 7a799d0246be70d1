#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "validate/calibration/products.hpp"

namespace lamina::validate::calibration {
namespace {

/// The first row whose words all occur in the name counts.
struct Alias {
  std::array<std::string_view, 2> words;  ///< in small letters; "" always occurs
  std::string_view base;
  std::string_view peak;       ///< YAML; "": as the base
  std::string_view bandwidth;  ///< likewise
  std::string_view multiprocessors;
  std::string_view source;
};

constexpr std::string_view kV100Pcie = "{fp32: 14 TFLOP/s, fp16: 112 TFLOP/s}";
constexpr std::string_view kH100Pcie =
    "{fp32: 51 TFLOP/s, tf32: 378 TFLOP/s, fp16: 756 TFLOP/s, bf16: 756 TFLOP/s, fp8: 1513 TFLOP/s}";

constexpr std::array<Alias, 17> kAliases = {{
    {{"gb300", ""}, "", "", "", "", ""},
    {{"b300", ""}, "", "", "", "", ""},
    {{"gb200", ""}, "gb200", "", "", "", "the part itself"},
    {{"b200", ""}, "b200", "", "", "", "the part itself"},
    {{"gh200", ""},
     "h200-sxm",
     "",
     "",
     "",
     "NVIDIA GH200 data sheet: the Hopper GPU has the H100 SXM's rates and 132 multiprocessors; HBM3e version"},
    {{"h200", ""}, "h200-sxm", "", "", "", "the part itself"},
    {{"h800", ""},
     "h100-sxm",
     "",
     "",
     "",
     "H800 SXM: an H100 SXM with fewer NVLinks and less fp64 (NVIDIA H800 data sheet); rates and memory are the same"},
    {{"h100", "pcie"},
     "h100-sxm",
     kH100Pcie,
     "2 TB/s",
     "114",
     "NVIDIA H100 data sheet (PCIe; sparse figures halved) and Hopper white paper: 114 multiprocessors"},
    {{"h100", ""}, "h100-sxm", "", "", "", "the part itself"},
    {{"sm_90", ""}, "h100-sxm", "", "", "", "OpenXLA's tables: compute capability 9.0, measured on H100 SXM"},
    {{"a100", "40gb"},
     "a100-sxm-40gb",
     "",
     "",
     "",
     "NVIDIA A100 data sheet: the PCIe part of 40 GB has the same rates"},
    {{"a100 80gb", "pcie"}, "a100-sxm-80gb", "", "1935 GB/s", "", "NVIDIA A100 80GB PCIe data sheet: 1935 GB/s"},
    {{"a100", ""}, "a100-sxm-80gb", "", "", "", "the part itself; 80 GB unless the name says otherwise"},
    {{"a800", ""}, "a100-sxm-80gb", "", "", "", "A800: an A100 with fewer NVLinks (NVIDIA A800 data sheet)"},
    {{"v100", "pcie"}, "v100-sxm2-32gb", kV100Pcie, "", "", "NVIDIA V100 data sheet (PCIe): 14 and 112 TFLOP/s"},
    {{"v100", ""}, "v100-sxm2-32gb", "", "", "", "the part itself"},
    {{"sm_70", ""}, "v100-sxm2-32gb", "", "", "", "compute capability 7.0 is the V100"},
}};

}  // namespace

std::optional<KnownAccelerator> known_accelerator(const std::string& device) {
  std::string name = device;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  const auto found = std::find_if(kAliases.begin(), kAliases.end(), [&](const Alias& alias) {
    return std::all_of(alias.words.begin(), alias.words.end(),
                       [&](std::string_view word) { return name.find(word) != std::string::npos; });
  });
  if (found == kAliases.end() || found->base.empty()) {
    return std::nullopt;
  }
  KnownAccelerator known{std::string(found->base), {}, std::string(found->source)};
  const auto change = [&](const char* key, std::string_view value) {
    if (!value.empty()) {
      known.changes.push_back({key, std::string(value)});
    }
  };
  change("peak", found->peak);
  change("memory_bandwidth", found->bandwidth);
  change("multiprocessors", found->multiprocessors);
  return known;
}

std::string as_yaml(const KnownAccelerator& known) {
  std::string text = fmt::format("{{base: {}", known.base);
  for (const Label& change : known.changes) {
    text += fmt::format(", {}: {}", change.key, change.text);
  }
  return text + "}";
}

}  // namespace lamina::validate::calibration
