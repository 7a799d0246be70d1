#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "sim/model/attention_time.hpp"
#include "sim/model/cost_models.hpp"
#include "sim/model/peak.hpp"

namespace lamina::model {
namespace {

/// Output tile of one thread block, and the rate that a multiprocessor reaches on it, relative to the best tile. Larger
/// tiles reuse operands more; the values are tuned (docs/model.md).
struct Tile {
  double rows = 0;
  double columns = 0;
  double rate = 0;
};

constexpr std::array<Tile, 4> kTiles = {{{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.9}, {64, 64, 0.65}}};
constexpr std::array<Tile, 10> kMoreTiles = {{{256, 128, 1.0},
                                              {128, 256, 1.0},
                                              {192, 128, 0.97},
                                              {128, 192, 0.97},
                                              {128, 128, 0.93},
                                              {256, 64, 0.88},
                                              {64, 256, 0.88},
                                              {128, 64, 0.8},
                                              {64, 128, 0.8},
                                              {64, 64, 0.65}}};
/// Rate of products by the largest power of two that divides the rows of all operands, on the A100 in 16 bits: plateaus
/// of the figures "attention key query score" for 12, 16 and 24 heads, arXiv 2401.14489, against those of 8 and more.
/// Tensor cores want rows that begin at multiples of 16 bytes.
constexpr std::array<double, 3> kUnalignedRates = {0.41, 0.63, 0.69};  // odd, 2, 4
constexpr std::array<double, 5> kDepthSplits = {1, 2, 4, 8, 16};
constexpr double kShortestSplit = 256;  // k-elements of one part, at least
constexpr double kPartialSumBytes = 4;  // fp32, written by each part and read by the reduction
constexpr double kPartialSumPasses = 2;

struct Rates {
  double flops = 0;  ///< reachable on the best tile
  double bytes = 0;
  double multiprocessors = 0;  ///< 0: tiles are dealt without rounding to waves
  double tile_depth = 0;       ///< k-elements lost in filling and draining a tile's pipeline
};

/// Seconds of the product's arithmetic with one tile and one split of k over thread blocks. Each wave of tiles takes as
/// long as one tile on one multiprocessor.
double arithmetic_time(const Kernel& kernel, const Tile& tile, double parts, const Rates& rates) {
  const auto m = static_cast<double>(kernel.m);
  const auto n = static_cast<double>(kernel.n);
  const double depth = std::max(static_cast<double>(kernel.k) / parts, parts > 1 ? kShortestSplit : 0.0);
  const double tiles = kernel.batch * std::ceil(m / tile.rows) * std::ceil(n / tile.columns) * parts;
  const double slots =
      rates.multiprocessors > 0 ? std::ceil(tiles / rates.multiprocessors) * rates.multiprocessors : tiles;
  const double dense = slots * 2 * tile.rows * tile.columns * (depth + rates.tile_depth) / (rates.flops * tile.rate);
  const double nominal = 2 * kernel.batch * m * n * static_cast<double>(kernel.k);
  const double share = nominal > 0 ? kernel.flops.value() / nominal : 0;  // causal half, or several fused products
  const double partial_sums =
      parts > 1 ? kPartialSumPasses * kPartialSumBytes * kernel.batch * m * n * parts / rates.bytes : 0;
  return dense * share + partial_sums;
}

double alignment_rate(const Kernel& kernel) {
  const auto shortest = static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(kernel.row_lengths)));
  return shortest < kUnalignedRates.size() ? kUnalignedRates.at(shortest) : 1;
}

/// The fastest tile and split, as the libraries' heuristics choose by shape.
double best_arithmetic_time(const Kernel& kernel, std::span<const Tile> tiles, const Rates& rates) {
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : tiles) {
    for (const double parts : kDepthSplits) {
      best = std::min(best, arithmetic_time(kernel, tile, parts, rates));
    }
  }
  return best;
}

/// launch_floor + max(arithmetic, bytes / (efficiency x bandwidth)).
class Roofline final : public CostModel {
 public:
  Roofline(std::span<const Tile> tiles, bool calibrated) : tiles_(tiles), calibrated_(calibrated) {}

  [[nodiscard]] Seconds time(const Kernel& kernel, const scenario::Accelerator& accelerator, scenario::DataType type,
                             const catalog::Parameters& parameters) const override {
    const double bandwidth = accelerator.memory_bandwidth.value() * parameters.number("memory_efficiency");
    double busy = kernel.bytes.value() / bandwidth;
    if (calibrated_ && kernel.attention.has_value()) {
      busy = std::max(busy, attention_time(kernel, peak_of(accelerator, type), parameters));
    } else if (kernel.kind == KernelKind::kMatrixProduct) {
      const Rates rates = {.flops = peak_of(accelerator, type).value() * matrix_efficiency(type, parameters),
                           .bytes = bandwidth,
                           .multiprocessors = static_cast<double>(accelerator.multiprocessors),
                           .tile_depth = parameters.number("tile_depth")};
      const double aligned = calibrated_ ? alignment_rate(kernel) : 1;
      busy = std::max(busy, best_arithmetic_time(kernel, tiles_, rates) / aligned);
    }
    if (calibrated_) {
      busy += kernel.copied.value() / bandwidth;
    }
    return Seconds(parameters.number("launch_floor") * (calibrated_ ? kernel.launches : 1) + busy);
  }

  [[nodiscard]] LaunchIntervals launch_intervals(bool backward, const catalog::Parameters& parameters) const override {
    const std::string thread = backward ? "backward_" : "";
    return {.kernel = Seconds(parameters.number(thread + "launch_interval")),
            .product = Seconds(parameters.number(thread + "product_launch_interval")),
            .collective = Seconds(parameters.number(thread + "collective_launch_interval"))};
  }

 private:
  [[nodiscard]] double matrix_efficiency(scenario::DataType type, const catalog::Parameters& parameters) const {
    const bool narrow = calibrated_ && type == scenario::DataType::kFp8;
    return parameters.number(narrow ? "narrow_matrix_efficiency" : "matrix_efficiency");
  }

  std::span<const Tile> tiles_;
  /// Every launch takes the floor, fused attention and fp8 have rates of their own; otherwise every kernel of the model
  /// takes the floor, and all products have one rate.
  bool calibrated_ = false;
};

/// Default values of the parameters, as text of a scenario.
struct Defaults {
  std::string launch_floor;
  std::array<std::string, 6> launch_intervals;  ///< kernel, product, collective; the same of the backward thread
  std::string matrix_efficiency;
  std::string tile_depth;
  std::string memory_efficiency;
};

catalog::ParameterSpec efficiency(std::string name, std::string default_value, std::string help) {
  constexpr double kLeastEfficiency = 1e-3;
  return {.name = std::move(name),
          .kind = catalog::ParameterKind::kNumber,
          .default_value = std::move(default_value),
          .choices = {},
          .minimum = kLeastEfficiency,
          .maximum = 1.0,
          .help = std::move(help)};
}

catalog::ParameterSpec time(std::string name, std::string default_value, std::string help) {
  return {.name = std::move(name),
          .kind = catalog::ParameterKind::kSeconds,
          .default_value = std::move(default_value),
          .choices = {},
          .minimum = 0,
          .maximum = 1,
          .help = std::move(help)};
}

std::vector<catalog::ParameterSpec> parameters(Defaults defaults) {
  constexpr double kMostDepth = 4096;
  auto& [forward_kernel, forward_product, forward_collective, backward_kernel, backward_product, backward_collective] =
      defaults.launch_intervals;
  return {
      time("launch_floor", std::move(defaults.launch_floor), "Time of an empty kernel, added to every kernel."),
      time("launch_interval", std::move(forward_kernel),
           "From one launch to the next on the host's thread, the next being a kernel that is no product; 0: the host "
           "is never in the way."),
      time("product_launch_interval", std::move(forward_product),
           "The same before a matrix product or fused attention."),
      time("collective_launch_interval", std::move(forward_collective),
           "The same before a collective of the tensor group or a batch of messages."),
      time("backward_launch_interval", std::move(backward_kernel),
           "As launch_interval while gradients are computed, which takes less of the interpreter."),
      time("backward_product_launch_interval", std::move(backward_product),
           "As product_launch_interval while gradients are computed."),
      time("backward_collective_launch_interval", std::move(backward_collective),
           "As collective_launch_interval while gradients are computed."),
      efficiency("matrix_efficiency", std::move(defaults.matrix_efficiency),
                 "Share of peak that an endless matrix product reaches on the best tile."),
      {.name = "tile_depth",
       .kind = catalog::ParameterKind::kNumber,
       .default_value = std::move(defaults.tile_depth),
       .choices = {},
       .minimum = 0,
       .maximum = kMostDepth,
       .help = "Inner elements that filling and draining an output tile takes as long as."},
      efficiency("memory_efficiency", std::move(defaults.memory_efficiency),
                 "Share of the memory bandwidth that a streaming kernel reaches.")};
}

std::vector<catalog::ParameterSpec> calibrated_parameters() {
  std::vector<catalog::ParameterSpec> all =
      parameters({.launch_floor = "5 us",
                  .launch_intervals = {"41 us", "71 us", "306 us", "33 us", "69 us", "112 us"},
                  .matrix_efficiency = "0.85",
                  .tile_depth = "128",
                  .memory_efficiency = "0.8"});
  all.push_back(efficiency("narrow_matrix_efficiency", "0.85", "As matrix_efficiency, of fp8 products."));
  for (const auto& [name, default_value, help] : kAttentionEfficiencies) {
    all.push_back(efficiency(std::string(name), std::string(default_value), std::string(help)));
  }
  return all;
}

}  // namespace

void register_roofline(catalog::Catalog<CostModel>& catalog) {
  catalog.add(
      {.name = "roofline",
       .summary = "Matrix efficiency by shape (tiles, waves, depth), memory-bound work by bandwidth, a launch floor.",
       .source = "Williams et al., CACM 52(4), 2009; tile and wave quantisation as in NVIDIA's matrix "
                 "multiplication guide; constants tuned on public measurements (docs/model.md)",
       .parameters = parameters({.launch_floor = "5 us",
                                 .launch_intervals = {"0 us", "0 us", "0 us", "0 us", "0 us", "0 us"},
                                 .matrix_efficiency = "0.85",
                                 .tile_depth = "128",
                                 .memory_efficiency = "0.8"})},
      std::make_unique<Roofline>(kTiles, false));
}

void register_calibrated(catalog::Catalog<CostModel>& catalog) {
  catalog.add({.name = "calibrated",
               .summary = "As roofline, with the constants of what frameworks reach, and a host that launches kernels.",
               .source = "constants from kernels, layers and traces measured by others, none from whole steps "
                         "(docs/model.md, section 2)",
               .parameters = calibrated_parameters()},
              std::make_unique<Roofline>(kMoreTiles, true));
}

}  // namespace lamina::model
