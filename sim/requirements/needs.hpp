#pragma once

#include <functional>
#include <string>

#include "sim/pipeline/simulate.hpp"
#include "sim/report/requirements.hpp"

namespace lamina::requirements {

/// How thorough the answer is.
enum class Depth {
  kClasses,  ///< all traffic of each link class: for tables of many layouts
  kTraffic,  ///< each traffic class too, and what more or less bandwidth does to the step
};

/// What one layout needs: for each link class that exists, and each traffic class that crosses it, the least bandwidth
/// and the most latency at which the step is at most `tolerance` longer than with that class free of both.
/// A least bandwidth is found to 3 %, from above; so is a most latency, from below.
///
/// @param result the scenario's own replay; name, file, schedule and topology of the answer are left to the caller
/// @param progress told what is being measured, before each search
/// @throws as replay::replay
[[nodiscard]] report::Requirements find_needs(const scenario::Scenario& scenario, const pipeline::Result& result,
                                              const pipeline::Catalogs& catalogs, double tolerance, Depth depth,
                                              const std::function<void(const std::string&)>& progress);

}  // namespace lamina::requirements
