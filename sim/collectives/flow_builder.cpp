#include "sim/collectives/flow_builder.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::collectives {

Hops FlowBuilder::add_hop(std::int32_t from_member, std::int32_t to_member) {
  const int from = (*devices_)[static_cast<std::size_t>(from_member)];
  const int to = (*devices_)[static_cast<std::size_t>(to_member)];
  Hops hop;
  hop.wire = router_.append(from, to, crossings_);
  const bool between =
      share_no_island(fabric_->devices[static_cast<std::size_t>(from)], fabric_->devices[static_cast<std::size_t>(to)]);
  (between ? hop.between : hop.inside) = 1;
  Hops& alike = added_[hop.wire.value()];
  alike.inside += hop.inside;
  alike.between += hop.between;
  constexpr std::size_t kMany = 1 << 16;
  if (crossings_.size() >= kMany &&
      crossings_.size() >= fabric_->links.size() / 8) {  // a table is cheaper than to sort
    table_.resize(fabric_->links.size(), 0);
    for (const fabric::LinkId link : crossings_) {
      ++table_[static_cast<std::size_t>(link)];
    }
    crossings_.clear();
  }
  return hop;
}

void FlowBuilder::add_port(int device) {
  const std::int32_t index = fabric_->devices[static_cast<std::size_t>(device)].port;
  if (index < 0) {
    throw error::InternalError(fmt::format("device {} has no network port", device));
  }
  const fabric::Port& port = fabric_->ports[static_cast<std::size_t>(index)];
  crossings_.push_back(port.up);
  crossings_.push_back(port.down);
}

Hops FlowBuilder::mean_hop() const {
  Hops sum;
  for (const auto& [wire, hops] : added_) {
    sum += {Seconds(wire * (hops.inside + hops.between)), hops.inside, hops.between};
  }
  const double count = sum.inside + sum.between;
  return {sum.wire / count, sum.inside / count, sum.between / count};
}

void FlowBuilder::add_ring(std::span<const std::int32_t> members) {
  for (std::size_t position = 0; position < members.size(); ++position) {
    add_hop(members[position], members[position + 1 == members.size() ? 0 : position + 1]);
  }
}

FlowPhase FlowBuilder::take(double bytes_per_hop, const Hops& hops) {
  FlowPhase phase;
  phase.links = table_.empty() ? count_by_sorting() : count_by_table();
  phase.hops = hops;
  std::int32_t factor = 0;
  for (const LinkUse& use : phase.links) {
    factor = std::gcd(factor, use.count);
    if (factor == 1) {
      break;
    }
  }
  if (factor > 1) {
    for (LinkUse& use : phase.links) {
      use.count /= factor;
    }
  }
  phase.bytes_per_payload = bytes_per_hop * std::max(1, factor);
  crossings_.clear();
  added_.clear();
  return phase;
}

std::vector<LinkUse> FlowBuilder::count_by_sorting() {
  std::sort(crossings_.begin(), crossings_.end());
  std::vector<LinkUse> uses;
  uses.reserve(crossings_.size());
  for (const fabric::LinkId link : crossings_) {
    if (!uses.empty() && uses.back().link == link) {
      ++uses.back().count;
    } else {
      uses.push_back({link, 1});
    }
  }
  uses.shrink_to_fit();
  return uses;
}

std::vector<LinkUse> FlowBuilder::count_by_table() {
  for (const fabric::LinkId link : crossings_) {
    ++table_[static_cast<std::size_t>(link)];
  }
  std::vector<LinkUse> uses;
  for (std::size_t link = 0; link < table_.size(); ++link) {
    if (table_[link] > 0) {
      uses.push_back({static_cast<fabric::LinkId>(link), table_[link]});
    }
  }
  table_.clear();
  return uses;
}

}  // namespace lamina::collectives
