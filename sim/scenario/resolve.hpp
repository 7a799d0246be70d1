#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "sim/scenario/catalogue.hpp"
#include "sim/scenario/reader.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/schema.hpp"

/// From checked trees to the plain values of scenario.hpp, one function per part of the file.
namespace lamina::scenario {

/// What every part needs.
struct Context {
  const Schema& schema;
  const Catalogue& catalogue;
  std::filesystem::path folder;  ///< relative paths start here
};

[[nodiscard]] Model read_model(const Context& context, const Tree& value);
[[nodiscard]] Cluster read_cluster(const Context& context, const Tree& value);
[[nodiscard]] Accelerator read_accelerator(const Context& context, const Tree& value, const std::string& path);
[[nodiscard]] DeviceLink read_device_link(const Context& context, const Tree& value, const std::string& path);
[[nodiscard]] HostPath read_host_path(const Context& context, const Tree& value, const std::string& path);
[[nodiscard]] Network read_network(const Context& context, const Tree& value, const std::string& path);
[[nodiscard]] Node read_node(const Context& context, const Tree& value, const std::string& path);

/// Also checks it against the model and the cluster: ranks, heads, sequence, data types.
[[nodiscard]] Strategy read_strategy(const Context& context, const Tree& value, const Model& model,
                                     const Cluster& cluster);

/// Definition of the accelerator of a cluster that read_cluster has accepted.
[[nodiscard]] Tree resolved_accelerator(const Context& context, const Tree& cluster);

/// `value` may be nullptr: all defaults. `cost_model` is the accelerator's, taken where `value` has none; may be
/// nullptr.
[[nodiscard]] Simulation read_simulation(const Context& context, const Tree* value, const Position& parent,
                                         const Tree* cost_model);
[[nodiscard]] Training read_training(const Context& context, const Tree& value);
[[nodiscard]] Reference read_reference(const Context& context, const Tree& value);

/// Also checks them against the cluster: nodes, devices, ports. Names of links are checked where the network is known.
[[nodiscard]] Disturbances read_disturbances(const Context& context, const Tree& value, const Cluster& cluster);

[[nodiscard]] std::string name_of(DataType type);
[[nodiscard]] std::optional<DataType> data_type_of(const std::string& name);

}  // namespace lamina::scenario
