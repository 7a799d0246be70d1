#include "sim/model/cost_models.hpp"
#include "sim/model/peak.hpp"

namespace lamina::model {
namespace {

/// FLOPs / (fraction x peak) for matrix products; everything bound by memory, the optimizer included, is free.
class Ideal final : public CostModel {
 public:
  [[nodiscard]] Seconds time(const Kernel& kernel, const scenario::Accelerator& accelerator, scenario::DataType type,
                             const catalog::Parameters& parameters) const override {
    if (kernel.kind == KernelKind::kMemoryBound) {
      return Seconds(0);
    }
    return kernel.flops / (peak_of(accelerator, type) * parameters.number("fraction_of_peak"));
  }
};

}  // namespace

void register_ideal(catalog::Catalog<CostModel>& catalog) {
  constexpr double kLeastFraction = 1e-3;
  catalog.add({.name = "ideal",
               .summary = "Matrix products at a stated fraction of peak; everything else takes no time.",
               .source = "Lamy-Poirier, arXiv 2106.02679: time = FLOPs / peak; kernel inefficiency is not modelled",
               .parameters = {{.name = "fraction_of_peak",
                               .kind = catalog::ParameterKind::kNumber,
                               .default_value = "1.0",
                               .choices = {},
                               .minimum = kLeastFraction,
                               .maximum = 1.0,
                               .help = "Share of the accelerator's dense peak that matrix products reach."}}},
              std::make_unique<Ideal>());
}

}  // namespace lamina::model
