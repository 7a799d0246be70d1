#include "validate/numeric/build_device.hpp"

#include <tuple>
#include <utility>

namespace lamina::validate::numeric {
namespace {

/// Each parameter's rows and columns, taken as one row, are cut into a piece per data-parallel rank.
std::vector<int> owners_of(const World& world, const Part& part) {
  const auto ranks = static_cast<std::size_t>(world.strategy.data_parallel);
  std::vector<int> owners;
  for (const Parameter& parameter : part.parameters) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::size_t first = parameter.size() * rank / ranks;
      const std::size_t end = parameter.size() * (rank + 1) / ranks;
      owners.insert(owners.end(), end - first, static_cast<int>(rank));
    }
  }
  return owners;
}

std::vector<char> owned_by(const World& world, const std::vector<int>& owners, int data) {
  const bool sharded =
      world.strategy.data_parallel > 1 && world.strategy.sharding.level != scenario::ShardingLevel::kNone;
  std::vector<char> owned;
  for (const int owner : owners) {
    owned.push_back(!sharded || owner == data ? 1 : 0);
  }
  return owned;
}

}  // namespace

bool has_own_matrix(const World& world, int stage) {
  int first = stage;
  while (world.table.stages[static_cast<std::size_t>(first)].previous >= 0) {
    first = world.table.stages[static_cast<std::size_t>(first)].previous;
  }
  return !world.shape.tied || world.table.stages[static_cast<std::size_t>(first)].rank !=
                                  world.table.stages[static_cast<std::size_t>(stage)].rank;
}

std::vector<Unit> build_units(const World& world, const ProgramFacts& facts, int data, int tensor) {
  const int ranks = world.strategy.tensor_parallel;
  std::vector<Unit> units;
  for (std::size_t i = 0; i < facts.units.size(); ++i) {
    Unit unit;
    std::tie(unit.stage, unit.layer) = facts.units[i];
    unit.first_of_stage = i == 0 || facts.units[i - 1].first != unit.stage;
    unit.last_of_stage = i + 1 == facts.units.size() || facts.units[i + 1].first != unit.stage;
    unit.own_matrix = has_own_matrix(world, unit.stage);
    unit.part.layer = unit.layer;
    unit.part.shape = world.shape.part(ranks);
    unit.part.parameters = parameters_of(unit.part.shape, unit.layer, unit.own_matrix);
    unit.part.first_token = tensor * unit.part.shape.vocabulary;
    const bool sliced = world.strategy.sequence_parallel;
    unit.part.first_row = sliced ? world.tokens() * tensor / ranks : 0;
    unit.part.end_row = sliced ? world.tokens() * (tensor + 1) / ranks : world.tokens();
    unit.places = places_of_part(world.shape, unit.layer, unit.own_matrix, tensor, ranks);
    unit.owner = owners_of(world, unit.part);
    unit.owned = owned_by(world, unit.owner, data);
    units.push_back(std::move(unit));
  }
  return units;
}

}  // namespace lamina::validate::numeric
