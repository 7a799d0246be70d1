#pragma once

#include "sim/model/work.hpp"
#include "validate/calibration/products.hpp"

/// From measured matrix products to the parameters of the cost model `roofline`.
namespace lamina::validate::calibration {

/// Parameters of `roofline` that give the least mean of |ln(fitted / measured)| over the shapes: a fit of relative
/// times that outliers hardly move. Shapes measured several times count once, by their median.
///
/// A parameter that the shapes do not tell keeps the model's default and is marked so: launch_floor needs three shapes
/// of which it is at least a quarter, memory_efficiency three that the memory bounds, with less than half
/// the FLOPs per byte at which peak and bandwidth balance.
/// Shapes above the accelerator's peak are left out and counted: the times are not believable.
/// @param accelerator what the entry is based on; it has the set's type, or tf32 where the rates say that "f32" was
/// that
/// @param set with a known type and at least one product
/// @param cost_models holds "roofline"
/// @throws ScenarioError when the accelerator lacks the type, or every shape is above its peak
[[nodiscard]] Entry fit_products(const ProductSet& set, const scenario::Accelerator& accelerator,
                                 const catalog::Catalog<model::CostModel>& cost_models);

}  // namespace lamina::validate::calibration
