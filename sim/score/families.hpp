#pragma once

#include <array>
#include <string_view>

#include "sim/pipeline/simulate.hpp"

namespace lamina::score {

/// What a step is made of, by the constants of Lamina that set its length.
enum class Family {
  kMatrixProducts,
  kMemoryBound,
  kLaunches,  ///< the floor that every kernel takes
  kOptimizer,
  kTensor,
  kPipeline,
  kReduce,
  kRestore,
  kOffload,
};

inline constexpr int kFamilies = 9;

using FamilySeconds = std::array<double, kFamilies>;

[[nodiscard]] std::string_view word_for(Family family);      ///< "memory_bound"
[[nodiscard]] std::string_view sentence_for(Family family);  ///< "memory-bound kernels"

/// The step's critical path, divided among the families; they add up to the step's time. A family that took x % longer
/// would, to first order, lengthen the step by x % of its seconds: what waits in a bubble follows what it waits for.
///
/// Compute on the path is divided as the compute of the role that ends the step is: its kernels' times by the cost
/// model, less the time of an empty kernel each, which is the launches' share. Of a custom model all is matrix
/// products.
[[nodiscard]] FamilySeconds family_seconds(const pipeline::Result& result, const scenario::Scenario& scenario,
                                           const pipeline::Catalogs& catalogs);

}  // namespace lamina::score
