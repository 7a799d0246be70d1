#include "topologies/graph_routing.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/property_map/property_map.hpp>

#include "sim/error/error.hpp"

namespace lamina::topologies {
namespace {

/// Cost of a switch in units of a picosecond: more than the cables of any route take together.
constexpr std::int64_t kSwitchCost = std::int64_t{1} << 44;
constexpr std::int64_t kUnreachable = std::numeric_limits<std::int64_t>::max();
constexpr double kPicosecondsPerSecond = 1e12;

std::uint64_t split_mix(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

}  // namespace

std::uint64_t hash_flow(std::int32_t from_port, std::int32_t to_port) {
  return split_mix((static_cast<std::uint64_t>(from_port) << 32) + static_cast<std::uint64_t>(to_port));
}

GraphRouting::GraphRouting(std::int32_t switches, const std::vector<Arc>& arcs,
                           const std::vector<std::int32_t>& targets)
    : row_of_target_(static_cast<std::size_t>(switches), -1) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  std::vector<Properties> properties;
  for (const Arc& arc : arcs) {
    ends.emplace_back(arc.from, arc.to);
    properties.push_back({arc.link, kSwitchCost + std::llround(arc.latency.value() * kPicosecondsPerSecond)});
  }
  graph_ = SwitchGraph(boost::edges_are_unsorted_multi_pass, ends.begin(), ends.end(), properties.begin(),
                       static_cast<std::uint32_t>(switches));
  costs_.assign(targets.size() * static_cast<std::size_t>(switches), kUnreachable);
  std::int32_t rows = 0;
  for (const std::int32_t target : targets) {
    std::int32_t& row = row_of_target_[static_cast<std::size_t>(target)];
    if (row < 0) {
      row = rows++;
      std::int64_t* costs = costs_.data() + static_cast<std::ptrdiff_t>(row) * switches;
      const auto index = boost::get(boost::vertex_index, graph_);  // cables carry both ways: costs from are costs to
      boost::dijkstra_shortest_paths(graph_, static_cast<std::uint32_t>(target),
                                     boost::weight_map(boost::get(&Properties::cost, graph_))
                                         .distance_map(boost::make_iterator_property_map(costs, index)));
    }
  }
}

const std::int64_t* GraphRouting::costs_to(std::int32_t target) const {
  const auto row = static_cast<std::size_t>(row_of_target_[static_cast<std::size_t>(target)]);
  return costs_.data() + row * row_of_target_.size();
}

bool GraphRouting::reaches(std::int32_t from, std::int32_t target) const {
  return costs_to(target)[from] != kUnreachable;
}

void GraphRouting::append(std::int32_t from, std::int32_t target, std::uint64_t flow, fabric::NetworkHop& hop) const {
  const std::int64_t* costs = costs_to(target);
  if (costs[from] == kUnreachable) {
    throw error::InternalError("there is no route between two switches of the graph");
  }
  hop.switches += 1;
  hop.cables += Seconds(static_cast<double>(costs[from] % kSwitchCost) / kPicosecondsPerSecond);  // the same both ways
  const auto end = static_cast<std::uint32_t>(target);
  for (auto here = static_cast<std::uint32_t>(from); here != end;) {
    const auto [first, last] = boost::out_edges(here, graph_);
    const auto is_shortest = [&](const auto& arc) {
      return costs[boost::target(arc, graph_)] == costs[here] - graph_[arc].cost;
    };
    const auto count = static_cast<std::uint64_t>(std::count_if(first, last, is_shortest));
    std::uint64_t left = count == 1 ? 0 : split_mix(flow + here) % count;
    auto chosen = std::find_if(first, last, is_shortest);
    for (; left > 0; --left) {
      chosen = std::find_if(std::next(chosen), last, is_shortest);
    }
    hop.links.push_back(graph_[*chosen].link);
    hop.switches += 1;
    here = static_cast<std::uint32_t>(boost::target(*chosen, graph_));
  }
}

}  // namespace lamina::topologies
