#pragma once

#include <string>
#include <vector>

#include "sim/scenario/load.hpp"
#include "sim/scenario/schema.hpp"
#include "sim/scenario/tree.hpp"

/// Changes on the tree before anything is checked: command-line overrides, and changes on top of a catalogue entry.
namespace lamina::scenario {

/// `infiniband-hdr` -> `{base: infiniband-hdr}`, `full` -> `{level: full}`, `true` -> `{pipeline: true, ...}`: a scalar
/// becomes the mapping that it stands for. Other trees, and sections without shorthand, come back as they are.
[[nodiscard]] Tree expand_shorthand(const Section& section, Tree tree);

/// The value as a tree whose position is `--set key=value`, with its option. @throws ScenarioError if it is no YAML
[[nodiscard]] Tree value_of(const Override& change);

/// Sets one dotted key (or alias), making mappings on the way; `cluster.network.bandwidth` on `network: infiniband-hdr`
/// yields `{base: infiniband-hdr, bandwidth: ...}`. Unknown keys are set as well: the reader reports them.
/// A key that replaces a sibling (micro_batches, global_batch) drops it.
/// @param value its position is where faults are reported
/// @throws ScenarioError if the key path is malformed
void set_key(const Schema& schema, Tree& root, const std::string& key, Tree value);

/// The parts of a dotted key; a leading alias becomes the key that it stands for.
/// @throws ScenarioError when a part is empty
[[nodiscard]] std::vector<std::string> key_path(const std::string& key, const Position& position);

/// `changes` on top of `base`, key by key; sections merge, and so do references that name no base of their own.
[[nodiscard]] Tree overlay(const Schema& schema, const Section& section, Tree base, const Tree& changes);

}  // namespace lamina::scenario
