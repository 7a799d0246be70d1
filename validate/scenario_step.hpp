#pragma once

#include "sim/report/validation.hpp"
#include "validate/prepare.hpp"

namespace lamina::validate {

/// Adds what `lamina run` predicts from the scenario's own cost model, accelerator and links: its step, replayed as
/// `run` does (folded, collectives in the scenario's form), and durations by kind of operation, as the executor's form
/// of the deployment has them. The rows of `into.durations` are those of `compare`.
void add_scenario_step(const Executable& executable, report::Validation& into);

}  // namespace lamina::validate
