#pragma once

#include <utility>

#include <gtest/gtest.h>

#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"

namespace lamina::tests {

/// Two stages of one layer: forward 1 s, backward 2 s, messages of `delay_s`; one micro-batch, so that nothing
/// overlaps.
inline pipeline::Prepared two_stages(double delay_s) {
  scenario::Scenario scenario = delayed_scenario(2, 2, delay_s);
  scenario.strategy.schedule = choose_schedule("gpipe");
  scenario.strategy.micro_batches = 1;
  scenario.simulation.fold = false;
  auto prepared = pipeline::prepare(scenario, pipeline::builtin_catalogs());
  EXPECT_TRUE(prepared.has_value());
  return std::move(*prepared);
}

}  // namespace lamina::tests
