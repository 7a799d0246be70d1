#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "topologies/network.hpp"
#include "topologies/topology.hpp"

namespace lamina::topologies {
namespace {

/// Cables of two groups that end at one router: first, first + a, first + 2a, ...
struct Cables {
  std::int32_t first = 0;
  std::int32_t count = 0;
};

/// Kim et al.'s p, a, h and g. Group i reaches group j by `cables` links, which are number t * cables and following of
/// its a * h global ports, with t = (j - i - 1) mod g; global port q is on router q mod a.
struct Shape {
  std::int32_t terminals = 1;  ///< p: ports of nodes on a router
  std::int32_t routers = 1;    ///< a: routers of a group
  std::int32_t globals = 1;    ///< h: global links of a router
  std::int32_t groups = 1;     ///< g
  std::int32_t cables = 0;     ///< between each two groups
  double local_bandwidth = 1;  ///< of a port's
  double global_bandwidth = 1;
  Seconds global_latency{0};
  fabric::LinkId first_link = 0;

  [[nodiscard]] std::int32_t peer(std::int32_t from, std::int32_t to) const {
    return (to - from - 1 + groups) % groups;
  }

  [[nodiscard]] std::int32_t local_links() const { return groups * routers * (routers - 1); }

  [[nodiscard]] std::int32_t global_links() const { return groups * (groups - 1) * cables; }

  [[nodiscard]] fabric::LinkId local_link(std::int32_t group, std::int32_t from, std::int32_t to) const {
    return first_link + (group * routers + from) * (routers - 1) + (to < from ? to : to - 1);
  }

  [[nodiscard]] fabric::LinkId global_link(std::int32_t from, std::int32_t to, std::int32_t cable) const {
    return first_link + local_links() + (from * (groups - 1) + peer(from, to)) * cables + cable;
  }

  /// Router of group `from` at which a cable to group `to` starts.
  [[nodiscard]] std::int32_t gateway(std::int32_t from, std::int32_t to, std::int32_t cable) const {
    return (peer(from, to) * cables + cable) % routers;
  }

  [[nodiscard]] Cables cables_at(std::int32_t router, std::int32_t from, std::int32_t to) const {
    const std::int32_t first = (router + routers - peer(from, to) * cables % routers) % routers;
    return {first, first < cables ? (cables - 1 - first) / routers + 1 : 0};
  }

  void route(std::int32_t from_port, std::int32_t to_port, fabric::NetworkHop& hop) const;
  [[nodiscard]] std::int32_t choose_cable(std::int32_t low, std::int32_t high, std::int64_t spread) const;
  [[nodiscard]] std::string name(fabric::LinkId link) const;
};

/// Of the cables between two routers' groups one that makes the route shortest, the same in both directions: joining
/// the two routers, else starting at one of them, else any. Equally short ones are dealt out by `spread`.
std::int32_t Shape::choose_cable(std::int32_t low, std::int32_t high, std::int64_t spread) const {
  const auto deal = [spread](std::int32_t count) { return static_cast<std::int32_t>(spread % count); };
  const Cables at_low = cables_at(low % routers, low / routers, high / routers);
  const Cables at_high = cables_at(high % routers, high / routers, low / routers);
  if (at_low.count > 0 && at_low.first == at_high.first) {
    return at_low.first + routers * deal(at_low.count);
  }
  if (at_low.count + at_high.count > 0) {
    const std::int32_t chosen = deal(at_low.count + at_high.count);
    return chosen < at_low.count ? at_low.first + routers * chosen : at_high.first + routers * (chosen - at_low.count);
  }
  return deal(cables);
}

void Shape::route(std::int32_t from_port, std::int32_t to_port, fabric::NetworkHop& hop) const {
  const std::int32_t from = from_port / terminals;
  const std::int32_t to = to_port / terminals;
  const std::int32_t from_group = from / routers;
  const std::int32_t to_group = to / routers;
  hop.switches = 1;
  std::int32_t here = from % routers;
  const auto go_to = [&](std::int32_t group, std::int32_t router) {
    if (router != here) {
      hop.links.push_back(local_link(group, here, router));
      hop.switches += 1;
      here = router;
    }
  };
  if (from_group != to_group) {
    const std::int32_t cable = choose_cable(std::min(from, to), std::max(from, to), std::int64_t{from_port} + to_port);
    go_to(from_group, gateway(from_group, to_group, cable));
    hop.links.push_back(global_link(from_group, to_group, cable));
    hop.switches += 1;
    hop.cables = global_latency;
    here = gateway(to_group, from_group, cable);
  }
  go_to(to_group, to % routers);
}

std::string Shape::name(fabric::LinkId link) const {
  std::int32_t index = link - first_link;
  if (index < 0 || index >= local_links() + global_links()) {
    return fmt::format("link {}", link);
  }
  if (index < local_links()) {
    const std::int32_t other = index % (routers - 1);
    const std::int32_t from = index / (routers - 1) % routers;
    return fmt::format("group {} router {} to router {}", index / (routers - 1) / routers, from,
                       other < from ? other : other + 1);
  }
  index -= local_links();
  const std::int32_t cable = index % cables;
  const std::int32_t from = index / cables / (groups - 1);
  const std::int32_t to = (from + index / cables % (groups - 1) + 1) % groups;
  return fmt::format("group {} router {} to group {} router {} cable {}", from, gateway(from, to, cable), to,
                     gateway(to, from, cable), cable);
}

void add_links(fabric::Fabric& fabric, const Shape& shape) {
  const BytesPerSecond port = fabric.links[static_cast<std::size_t>(fabric.ports.front().up)].bandwidth;
  fabric::Link link;
  link.link_class = fabric::LinkClass::kTrunk;
  link.bandwidth = port * shape.local_bandwidth;
  fabric.links.insert(fabric.links.end(), static_cast<std::size_t>(shape.local_links()), link);
  link.bandwidth = port * shape.global_bandwidth;
  fabric.links.insert(fabric.links.end(), static_cast<std::size_t>(shape.global_links()), link);
}

/// Groups that the cluster needs, with the cables between them; Infeasible when there are too few global links or too
/// many of any kind.
tl::expected<Shape, error::Infeasible> shape_of(const scenario::Cluster& cluster) {
  const catalog::Parameters& parameters = cluster.topology.parameters;
  Shape shape;
  shape.terminals = parameters.integer("terminals_per_router");
  shape.routers = parameters.integer("routers_per_group");
  shape.globals = parameters.integer("global_links_per_router");
  shape.local_bandwidth = parameters.number("local_bandwidth");
  shape.global_bandwidth = parameters.number("global_bandwidth");
  shape.global_latency = Seconds(parameters.number("global_latency"));
  const std::int64_t ports = std::int64_t{cluster.nodes} * cluster.node.nics;
  const std::int64_t ports_per_group = std::int64_t{shape.terminals} * shape.routers;
  const std::int64_t global_ports = std::int64_t{shape.routers} * shape.globals;
  const std::int64_t groups = std::max<std::int64_t>(1, (ports + ports_per_group - 1) / ports_per_group);
  if (groups > global_ports + 1) {
    return tl::unexpected(error::Infeasible{fmt::format(
        "{} network ports fill {} groups of {} x {} terminals, but {} x {} global links of a group reach at most {} "
        "groups.",
        ports, groups, shape.routers, shape.terminals, shape.routers, shape.globals, global_ports + 1)});
  }
  shape.groups = static_cast<std::int32_t>(groups);
  shape.cables = groups == 1 ? 0 : static_cast<std::int32_t>(global_ports / (groups - 1));
  const std::int64_t links = groups * shape.routers * (shape.routers - 1) + groups * (groups - 1) * shape.cables;
  if (links > fabric::kMostDevices) {
    return tl::unexpected(error::Infeasible{
        fmt::format("{} groups of {} routers have {} links, one per direction; the most that can be built is {}.",
                    groups, shape.routers, links, fabric::kMostDevices)});
  }
  return shape;
}

/// Groups of routers, each joined to all others of its group, and every two groups joined by equally many cables.
class Dragonfly : public Topology {
 public:
  [[nodiscard]] tl::expected<fabric::Fabric, error::Infeasible> build(const scenario::Cluster& cluster) const override {
    if (const auto obstacle = find_obstacle(cluster)) {
      return tl::unexpected(*obstacle);
    }
    tl::expected<Shape, error::Infeasible> shape = shape_of(cluster);
    if (!shape) {
      return tl::unexpected(shape.error());
    }
    fabric::Fabric fabric = fabric::build_nodes(cluster);
    fabric.description =
        fmt::format("dragonfly, {} of {} with {} each, {} between groups", count_of(shape->groups, "group", "groups"),
                    count_of(shape->routers, "router", "routers"), count_of(shape->terminals, "terminal", "terminals"),
                    count_of(shape->cables, "cable", "cables"));
    if (!fabric.ports.empty()) {
      shape->first_link = static_cast<fabric::LinkId>(fabric.links.size());
      add_links(fabric, *shape);
      fabric.network_route = [shape = *shape](std::int32_t from_port, std::int32_t to_port, fabric::NetworkHop& hop) {
        shape.route(from_port, to_port, hop);
      };
      fabric.trunk_name = [shape = *shape](fabric::LinkId link) { return shape.name(link); };
    }
    return fabric;
  }
};

}  // namespace

void register_dragonfly(catalog::Catalog<Topology>& catalog) {
  using catalog::ParameterKind;
  constexpr double kMost = 10'000;
  constexpr double kLeastBandwidth = 1e-3;
  catalog.add(
      {.name = "dragonfly",
       .summary =
           "Groups of fully joined routers, every two groups joined by equally many global links; consecutive ports "
           "fill a router, minimal routing takes at most one local, one global and one local link.",
       .source =
           "Kim, Dally, Scott and Abts, Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008, sections "
           "3.1 and 4.1",
       .parameters =
           {{"terminals_per_router", ParameterKind::kInteger, "8", {}, 1, kMost, "Network ports on a router (p)."},
            {"routers_per_group", ParameterKind::kInteger, "16", {}, 1, kMost, "Routers of a group (a)."},
            {"global_links_per_router",
             ParameterKind::kInteger,
             "8",
             {},
             1,
             kMost,
             "Links of a router to other groups (h); there are at most a h + 1 groups, and fewer share all links."},
            {"local_bandwidth",
             ParameterKind::kNumber,
             "1",
             {},
             kLeastBandwidth,
             kMost,
             "Bandwidth of a link inside a group, as a multiple of a port's."},
            {"global_bandwidth",
             ParameterKind::kNumber,
             "1",
             {},
             kLeastBandwidth,
             kMost,
             "Bandwidth of a link between groups, as a multiple of a port's."},
            {"global_latency", ParameterKind::kSeconds, "0 us", {}, 0, 1, "Of the cable between two groups."}}},
      std::make_unique<Dragonfly>());
}

}  // namespace lamina::topologies
