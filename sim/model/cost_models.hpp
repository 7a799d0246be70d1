#pragma once

#include "sim/catalog/catalog.hpp"
#include "sim/model/work.hpp"

/// One file per cost model; each registers itself here, and cost_models() calls them in alphabetical order.
namespace lamina::model {

void register_calibrated(catalog::Catalog<CostModel>& catalog);
void register_ideal(catalog::Catalog<CostModel>& catalog);
void register_roofline(catalog::Catalog<CostModel>& catalog);

}  // namespace lamina::model
