#include "sim/fabric/switch_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>

#include "sim/error/error.hpp"

namespace lamina::fabric {
namespace {

std::size_t at(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

/// What the route function needs, shared by the copies of a fabric.
struct Wiring {
  SwitchTree tree;
  std::vector<std::int32_t> depth;  ///< [switch]
  LinkId first_trunk = 0;
  std::int32_t roots = 1;

  [[nodiscard]] LinkId up(std::int32_t child) const { return first_trunk + 2 * (child - roots); }

  [[nodiscard]] LinkId down(std::int32_t child) const { return up(child) + 1; }

  void route(std::int32_t from_port, std::int32_t to_port, NetworkHop& hop) const;
  [[nodiscard]] std::string name_of_trunk(LinkId link) const;
};

void Wiring::route(std::int32_t from_port, std::int32_t to_port, NetworkHop& hop) const {
  std::int32_t from = tree.switch_of_port[at(from_port)];
  std::int32_t to = tree.switch_of_port[at(to_port)];
  hop.switches += 1;
  std::int32_t meeting = from;
  for (std::int32_t other = to; meeting != other;) {
    std::int32_t& deeper = depth[at(meeting)] >= depth[at(other)] ? meeting : other;
    deeper = tree.parent[at(deeper)];
  }
  for (; from != meeting; from = tree.parent[at(from)]) {
    hop.links.push_back(up(from));
    hop.switches += 1;
  }
  const auto ups = static_cast<std::ptrdiff_t>(hop.links.size());
  for (; to != meeting; to = tree.parent[at(to)]) {
    hop.links.push_back(down(to));
    hop.switches += 1;
  }
  std::reverse(hop.links.begin() + ups, hop.links.end());
}

std::string Wiring::name_of_trunk(LinkId link) const {
  const std::int32_t child = (link - first_trunk) / 2 + roots;
  if (link < first_trunk || at(child) >= tree.parent.size() || !tree.name) {
    return "link " + std::to_string(link);
  }
  return tree.name(child) + (link == up(child) ? " up" : " down");
}

std::int32_t count_roots(const std::vector<std::int32_t>& parent) {
  const auto first = std::find_if(parent.begin(), parent.end(), [](std::int32_t above) { return above != -1; });
  return std::max(1, static_cast<std::int32_t>(first - parent.begin()));
}

std::shared_ptr<const Wiring> wire(Fabric& fabric, SwitchTree tree) {
  if (tree.parent.empty() || tree.trunk.size() != tree.parent.size() ||
      tree.switch_of_port.size() != fabric.ports.size()) {
    throw error::InternalError("the switch tree does not fit the fabric");
  }
  auto wiring = std::make_shared<Wiring>();
  wiring->first_trunk = static_cast<LinkId>(fabric.links.size());
  wiring->roots = count_roots(tree.parent);
  wiring->depth.assign(tree.parent.size(), 0);
  std::vector<std::int32_t> root(tree.parent.size());
  std::iota(root.begin(), root.begin() + wiring->roots, 0);
  Link trunk;
  trunk.link_class = LinkClass::kTrunk;
  for (std::size_t child = at(wiring->roots); child < tree.parent.size(); ++child) {
    const std::int32_t parent = tree.parent[child];
    if (parent < 0 || at(parent) >= child) {
      throw error::InternalError("switches must stand after their parents");
    }
    wiring->depth[child] = wiring->depth[at(parent)] + 1;
    root[child] = root[at(parent)];
    trunk.bandwidth = tree.trunk[child];
    fabric.links.push_back(trunk);
    fabric.links.push_back(trunk);
  }
  for (std::size_t port = 0; port < fabric.ports.size(); ++port) {
    const std::int32_t index = tree.switch_of_port[port];
    if (index < 0 || at(index) >= tree.parent.size() || root[at(index)] != fabric.ports[port].plane) {
      throw error::InternalError("a port hangs on a switch that does not exist, or of another plane");
    }
  }
  wiring->tree = std::move(tree);
  return wiring;
}

bool fits(double total, BytesPerSecond bandwidth) {
  constexpr double kRounding = 1e-9;  // sums of equal bandwidths against a product
  return total <= bandwidth.value() * (1 + kRounding);
}

/// What a link carries at most: its own bandwidth, or less when `total` (of its feeders or drains) is less. Marks it
/// then.
double carried(Link& link, double total) {
  if (link.never_limits || fits(total, link.bandwidth)) {
    link.never_limits = true;
    return total;
  }
  return link.bandwidth.value();
}

/// One pass of the rule at connect(). Feeding: `inner` links (up) are fed from below, `outer` ones (down) by siblings
/// and from above. Draining is the mirror image with up and down exchanged.
void mark(Fabric& fabric, const Wiring& wiring, bool feeding) {
  const std::vector<std::int32_t>& parent = wiring.tree.parent;
  const std::size_t switches = parent.size();
  const auto link_of = [&](std::size_t child, bool inner) -> Link& {
    const auto id = static_cast<std::int32_t>(child);
    return fabric.links[at(inner == feeding ? wiring.up(id) : wiring.down(id))];
  };
  std::vector<double> below(switches, 0.0);  // its ports and its children's inner links
  std::vector<double> inner(switches, 0.0);  // its own inner link
  std::vector<double> outer(switches, 0.0);  // its own outer link
  for (std::size_t port = 0; port < fabric.ports.size(); ++port) {
    const Port& end = fabric.ports[port];
    below[at(wiring.tree.switch_of_port[port])] += fabric.links[at(feeding ? end.up : end.down)].bandwidth.value();
  }
  for (std::size_t child = switches; child-- > at(wiring.roots);) {
    inner[child] = carried(link_of(child, true), below[child]);
    below[at(parent[child])] += inner[child];
  }
  for (std::size_t child = at(wiring.roots); child < switches; ++child) {
    const std::size_t top = at(parent[child]);
    const double siblings = std::max(0.0, below[top] - inner[child]);
    outer[child] = carried(link_of(child, false), siblings + outer[top]);  // a root has no outer link: 0
  }
}

}  // namespace

void connect(Fabric& fabric, SwitchTree tree) {
  const std::shared_ptr<const Wiring> wiring = wire(fabric, std::move(tree));
  mark(fabric, *wiring, true);
  mark(fabric, *wiring, false);
  fabric.network_route = [wiring](std::int32_t from_port, std::int32_t to_port, NetworkHop& hop) {
    wiring->route(from_port, to_port, hop);
  };
  fabric.trunk_name = [wiring](LinkId link) { return wiring->name_of_trunk(link); };
}

}  // namespace lamina::fabric
