#include "validate/numeric/facts.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::validate::numeric {
namespace {

using graph::OperationKind;
using graph::Phase;

bool is_compute(const graph::Operation& operation) {
  return operation.kind == OperationKind::kCompute;
}

bool reads_weights(const graph::Operation& operation) {
  return is_compute(operation) && operation.phase != Phase::kWeightGradient && operation.phase != Phase::kUpdate;
}

/// A unit's whole weights, from a restore to their last use before the next one.
struct Residency {
  int unit = 0;
  std::size_t restored = 0;
  std::size_t last_use = 0;
  double bytes = 0;
  bool dropped = false;
};

class Reader {
 public:
  Reader(const graph::Program& program, ProgramFacts& facts) : program_(program), facts_(facts) {}

  void find_units() {
    std::set<std::pair<int, int>> units;
    for (const graph::Operation& operation : program_.operations) {
      if (is_compute(operation)) {
        units.emplace(operation.stage, operation.layer);
      }
    }
    facts_.units.assign(units.begin(), units.end());
  }

  /// Effects name bytes, not units: they belong to a unit whose restored weights have no use left.
  void find_drops() {
    find_residencies();
    facts_.drops.resize(program_.operations.size());
    for (const graph::MemoryEffect& effect : program_.memory_effects) {
      if (effect.category != graph::MemoryCategory::kWeights || effect.bytes >= 0) {
        continue;
      }
      const auto given = std::find_if(residencies_.begin(), residencies_.end(), [&](const Residency& residency) {
        return !residency.dropped && residency.bytes == -effect.bytes && residency.restored < effect.operation &&
               residency.last_use <= effect.operation;
      });
      if (given == residencies_.end()) {
        throw error::InternalError(fmt::format("{} gives back weights that are still to be used",
                                               graph::describe(program_.operations[effect.operation], program_)));
      }
      given->dropped = true;
      facts_.drops[effect.operation].push_back(given->unit);
    }
  }

  /// The state comes in just before the update; what comes in earlier are weights.
  void find_copies(bool updates_on_host) {
    facts_.copies.resize(program_.operations.size(), ProgramFacts::Copy::kNone);
    std::vector<char> updated(facts_.units.size(), 0);
    for (std::size_t i = program_.operations.size(); i-- > 0;) {
      const graph::Operation& operation = program_.operations[i];
      if (operation.phase == Phase::kUpdate) {
        updated[static_cast<std::size_t>(unit_of(operation))] = 1;
      } else if (operation.kind == OperationKind::kHostCopy && !operation.to_host && operation.micro_batch < 0) {
        char& is_state = updated[static_cast<std::size_t>(unit_of(operation))];
        const bool state = !updates_on_host && is_state != 0;
        facts_.copies[i] = state ? ProgramFacts::Copy::kState : ProgramFacts::Copy::kWeights;
        is_state = 0;
      }
    }
  }

  void find_neighbours() {
    facts_.computes_next.resize(program_.operations.size(), Phase::kUpdate);
    std::vector<Phase> next(program_.streams.size(), Phase::kUpdate);
    for (std::size_t i = program_.operations.size(); i-- > 0;) {
      const graph::Operation& operation = program_.operations[i];
      facts_.computes_next[i] = next[operation.stream];
      if (is_compute(operation)) {
        next[operation.stream] = operation.phase;
      }
      facts_.norms += is_norm(operation) ? 1 : 0;
    }
  }

 private:
  [[nodiscard]] int unit_of(const graph::Operation& operation) const {
    const auto at = std::lower_bound(facts_.units.begin(), facts_.units.end(),
                                     std::pair<int, int>(operation.stage, operation.layer));
    return static_cast<int>(at - facts_.units.begin());
  }

  void find_residencies() {
    std::vector<int> current(facts_.units.size(), -1);
    for (std::size_t i = 0; i < program_.operations.size(); ++i) {
      const graph::Operation& operation = program_.operations[i];
      if (operation.kind == OperationKind::kCollective && operation.phase == Phase::kRestore) {
        const int unit = unit_of(operation);
        current[static_cast<std::size_t>(unit)] = static_cast<int>(residencies_.size());
        residencies_.push_back({unit, i, i, operation.bytes});
      } else if (reads_weights(operation)) {
        const int at = current[static_cast<std::size_t>(unit_of(operation))];
        if (at >= 0) {
          residencies_[static_cast<std::size_t>(at)].last_use = i;
        }
      }
    }
  }

  const graph::Program& program_;
  ProgramFacts& facts_;
  std::vector<Residency> residencies_;
};

}  // namespace

ProgramFacts facts_of(const graph::Program& program, bool updates_on_host) {
  ProgramFacts facts;
  Reader reader(program, facts);
  reader.find_units();
  reader.find_drops();
  reader.find_copies(updates_on_host);
  reader.find_neighbours();
  return facts;
}

bool is_norm(const graph::Operation& operation) {
  return operation.kind == OperationKind::kCollective && operation.phase == Phase::kReduce && operation.layer == -2;
}

}  // namespace lamina::validate::numeric
