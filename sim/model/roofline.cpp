#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

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
constexpr std::array<double, 5> kDepthSplits = {1, 2, 4, 8, 16};
constexpr double kPipelineDepth = 128;  // k-elements lost in filling and draining a tile's pipeline (tuned)
constexpr double kShortestSplit = 256;  // k-elements of one part, at least
constexpr double kPartialSumBytes = 4;  // fp32, written by each part and read by the reduction
constexpr double kPartialSumPasses = 2;

struct Rates {
  double flops = 0;  ///< reachable on the best tile
  double bytes = 0;
  double multiprocessors = 0;  ///< 0: tiles are dealt without rounding to waves
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
  const double dense = slots * 2 * tile.rows * tile.columns * (depth + kPipelineDepth) / (rates.flops * tile.rate);
  const double nominal = 2 * kernel.batch * m * n * static_cast<double>(kernel.k);
  const double share = nominal > 0 ? kernel.flops.value() / nominal : 0;  // causal half, or several fused products
  const double partial_sums =
      parts > 1 ? kPartialSumPasses * kPartialSumBytes * kernel.batch * m * n * parts / rates.bytes : 0;
  return dense * share + partial_sums;
}

/// The fastest tile and split, as the libraries' heuristics choose by shape.
double best_arithmetic_time(const Kernel& kernel, const Rates& rates) {
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    for (const double parts : kDepthSplits) {
      best = std::min(best, arithmetic_time(kernel, tile, parts, rates));
    }
  }
  return best;
}

/// launch_floor + max(arithmetic, bytes / (efficiency x bandwidth)).
class Roofline final : public CostModel {
 public:
  [[nodiscard]] Seconds time(const Kernel& kernel, const scenario::Accelerator& accelerator, scenario::DataType type,
                             const catalog::Parameters& parameters) const override {
    const double bandwidth = accelerator.memory_bandwidth.value() * parameters.number("memory_efficiency");
    double busy = kernel.bytes.value() / bandwidth;
    if (kernel.kind == KernelKind::kMatrixProduct) {
      const Rates rates = {.flops = peak_of(accelerator, type).value() * parameters.number("matrix_efficiency"),
                           .bytes = bandwidth,
                           .multiprocessors = static_cast<double>(accelerator.multiprocessors)};
      busy = std::max(busy, best_arithmetic_time(kernel, rates));
    }
    return Seconds(parameters.number("launch_floor") + busy);
  }
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

}  // namespace

void register_roofline(catalog::Catalog<CostModel>& catalog) {
  catalog.add(
      {.name = "roofline",
       .summary = "Matrix efficiency by shape (tiles, waves, depth), memory-bound work by bandwidth, a launch floor.",
       .source = "Williams et al., CACM 52(4), 2009; tile and wave quantisation as in NVIDIA's matrix "
                 "multiplication guide; constants tuned on public measurements (docs/model.md)",
       .parameters = {{.name = "launch_floor",
                       .kind = catalog::ParameterKind::kSeconds,
                       .default_value = "5 us",
                       .choices = {},
                       .minimum = 0,
                       .maximum = 1,
                       .help = "Time of an empty kernel, added to every kernel."},
                      efficiency("matrix_efficiency", "0.85",
                                 "Share of peak that an endless matrix product reaches on the best tile."),
                      efficiency("memory_efficiency", "0.8",
                                 "Share of the memory bandwidth that a streaming kernel reaches.")}},
      std::make_unique<Roofline>());
}

}  // namespace lamina::model
