#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "sim/explain/members.hpp"
#include "sim/explain/sections.hpp"

namespace lamina::explain {

std::vector<int> group_devices(const scenario::Strategy& strategy, scenario::Dimension dimension) {
  std::vector<int> devices;
  const auto add = [&](int count, auto device) {
    for (int i = 0; i < count; ++i) {
      devices.push_back(device(i));
    }
  };
  switch (dimension) {
    case scenario::Dimension::kTensor:
      add(strategy.tensor_parallel, [&](int i) { return deployment::device_of(strategy, 0, 0, i); });
      break;
    case scenario::Dimension::kData:
      add(strategy.data_parallel, [&](int i) { return deployment::device_of(strategy, i, 0, 0); });
      break;
    case scenario::Dimension::kPipeline:
      add(strategy.pipeline_parallel, [&](int i) { return deployment::device_of(strategy, 0, i, 0); });
      break;
  }
  return devices;
}

namespace {

/// "0, 1, 2, ... 15": long groups by their first and last members.
std::string members_text(const std::vector<int>& devices) {
  constexpr std::size_t kAll = 8;
  if (devices.size() <= kAll) {
    return fmt::format("{}", fmt::join(devices, ", "));
  }
  return fmt::format("{}, {}, {}, ... {}", devices[0], devices[1], devices[2], devices.back());
}

std::size_t nodes_of(const std::vector<int>& devices, const fabric::Fabric& fabric) {
  std::vector<int> nodes;
  for (const int device : devices) {
    nodes.push_back(fabric.devices.at(static_cast<std::size_t>(device)).node);
  }
  std::sort(nodes.begin(), nodes.end());
  return static_cast<std::size_t>(std::unique(nodes.begin(), nodes.end()) - nodes.begin());
}

const char* name_of(scenario::Dimension dimension) {
  switch (dimension) {
    case scenario::Dimension::kTensor:
      return "tensor";
    case scenario::Dimension::kData:
      return "data";
    case scenario::Dimension::kPipeline:
      break;
  }
  return "pipeline";
}

}  // namespace

void write_layout(Writer& writer, const Subject& subject) {
  const auto& strategy = subject.scenario.strategy;
  const auto& cluster = subject.scenario.cluster;
  writer.section("Layout");
  writer.number("ranks", fmt::format("{}", strategy.ranks()),
                fmt::format("data {} x pipeline {} x tensor {}", strategy.data_parallel, strategy.pipeline_parallel,
                            strategy.tensor_parallel),
                "strategy");
  writer.number("devices of the cluster", fmt::format("{}", cluster.devices()),
                fmt::format("{} nodes of {} x {}", cluster.nodes, cluster.node.devices, cluster.node.accelerator.name),
                cluster.node.name);
  const auto& placement = strategy.placement;
  writer.text(fmt::format("placement, innermost first: {}, {}, {} (consecutive devices differ in the first)",
                          name_of(placement[0]), name_of(placement[1]), name_of(placement[2])));
  for (const auto dimension : placement) {
    const auto devices = group_devices(strategy, dimension);
    writer.number(
        fmt::format("{} group of device 0", name_of(dimension)), fmt::format("{} ranks", devices.size()),
        fmt::format("devices {}; on {} node(s)", members_text(devices), nodes_of(devices, subject.prepared.fabric)));
  }
}

}  // namespace lamina::explain
