#include "topologies/grid.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace lamina::topologies {
namespace {

/// Where the links of a torus are: those of a node stand together, for each dimension the one up, then the one down.
struct Grid {
  GridSize size{1, 1, 1};
  std::array<std::int32_t, 3> first{};  ///< of a dimension's links within a node's
  std::int32_t links_per_node = 0;
  fabric::LinkId first_link = 0;
  std::vector<std::int32_t> node_of_port;

  void route(std::int32_t from_port, std::int32_t to_port, fabric::NetworkHop& hop) const;
  [[nodiscard]] std::string name(fabric::LinkId link) const;
};

std::int32_t links_of_dimension(std::int32_t size) {
  return std::min(size - 1, 2);
}

void Grid::route(std::int32_t from_port, std::int32_t to_port, fabric::NetworkHop& hop) const {
  std::int32_t from = node_of_port[static_cast<std::size_t>(from_port)];
  const std::int32_t to = node_of_port[static_cast<std::size_t>(to_port)];
  hop.switches = 1;
  std::int32_t stride = 1;
  for (std::size_t dimension = 0; dimension < size.size(); ++dimension) {
    const std::int32_t length = size[dimension];
    std::int32_t at = from / stride % length;
    const std::int32_t target = to / stride % length;
    const std::int32_t upwards = (target - at + length) % length;
    const bool up = 2 * upwards <= length;
    for (std::int32_t left = up ? upwards : length - upwards; left > 0; --left) {
      hop.links.push_back(first_link + from * links_per_node + first[dimension] + (up ? 0 : 1));
      hop.switches += 1;
      const std::int32_t next = up ? (at + 1 == length ? 0 : at + 1) : (at == 0 ? length - 1 : at - 1);
      from += (next - at) * stride;
      at = next;
    }
    stride *= length;
  }
}

std::string Grid::name(fabric::LinkId link) const {
  const std::int32_t index = link - first_link;
  const auto links = static_cast<std::int32_t>(size[0] * size[1] * size[2]) * links_per_node;
  if (index < 0 || index >= links) {
    return fmt::format("link {}", link);
  }
  const std::int32_t of_node = index % links_per_node;
  std::size_t dimension = 0;
  while (of_node >= first[dimension] + links_of_dimension(size[dimension])) {
    ++dimension;
  }
  return fmt::format("node {} {}{}", index / links_per_node, "xyz"[dimension], of_node == first[dimension] ? '+' : '-');
}

}  // namespace

BytesPerSecond node_bandwidth(const fabric::Fabric& fabric) {
  const auto ports_per_node = static_cast<double>(fabric.ports.size()) / (fabric.ports.back().node + 1);
  return fabric.links[static_cast<std::size_t>(fabric.ports.front().up)].bandwidth * ports_per_node;
}

void connect_grid(fabric::Fabric& fabric, const GridSize& size, BytesPerSecond bandwidth) {
  Grid grid;
  grid.size = size;
  grid.first_link = static_cast<fabric::LinkId>(fabric.links.size());
  for (std::size_t dimension = 0; dimension < size.size(); ++dimension) {
    grid.first[dimension] = grid.links_per_node;
    grid.links_per_node += links_of_dimension(size[dimension]);
  }
  grid.node_of_port.reserve(fabric.ports.size());
  for (const fabric::Port& port : fabric.ports) {
    grid.node_of_port.push_back(port.node);
  }
  fabric::Link link;
  link.link_class = fabric::LinkClass::kTrunk;
  link.bandwidth = bandwidth;
  const auto nodes =
      static_cast<std::size_t>(size[0]) * static_cast<std::size_t>(size[1]) * static_cast<std::size_t>(size[2]);
  fabric.links.insert(fabric.links.end(), nodes * static_cast<std::size_t>(grid.links_per_node), link);
  const auto shared = std::make_shared<const Grid>(std::move(grid));
  fabric.network_route = [shared](std::int32_t from_port, std::int32_t to_port, fabric::NetworkHop& hop) {
    shared->route(from_port, to_port, hop);
  };
  fabric.trunk_name = [shared](fabric::LinkId id) { return shared->name(id); };
}

}  // namespace lamina::topologies
