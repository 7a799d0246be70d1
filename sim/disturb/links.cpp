#include "sim/disturb/links.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "sim/catalog/catalog.hpp"
#include "sim/error/error.hpp"

namespace lamina::disturb {
namespace {

[[noreturn]] void refuse(const scenario::SlowLink& slow, const std::string& link, const std::string& problem,
                         const std::string& allowed, const std::string& nearest) {
  error::ScenarioFault fault;
  fault.location = slow.location;
  fault.key = slow.key;
  fault.problem = problem;
  fault.read = fmt::format("\"{}\"", link.substr(0, 80));
  fault.allowed = allowed;
  fault.nearest = nearest;
  throw error::ScenarioError(std::move(fault));
}

/// A link of every class, and the nearest name among the first that spell.
[[noreturn]] void refuse_unknown(const fabric::Fabric& fabric, const scenario::SlowLink& slow) {
  constexpr std::size_t kCompared = 20'000;  // spelling distances of all names of a huge fabric would take minutes
  std::map<fabric::LinkClass, std::string> examples;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < fabric.links.size(); ++i) {
    std::string& example = examples[fabric.links[i].link_class];
    if (names.size() >= kCompared && !example.empty()) {
      continue;
    }
    const std::string name = fabric::link_name(fabric, static_cast<fabric::LinkId>(i));
    example = example.empty() ? name : example;
    if (names.size() < kCompared) {
      names.push_back(name);
    }
  }
  std::string allowed = "a name such as";
  for (const auto& [link_class, name] : examples) {
    allowed += fmt::format(" \"{}\",", name);
  }
  allowed.pop_back();
  refuse(slow, slow.link, "The network has no link of this name.", allowed, catalog::nearest_name(slow.link, names));
}

std::map<std::string, fabric::LinkId> find_names(const fabric::Fabric& fabric, const scenario::Scenario& scenario) {
  std::map<std::string, fabric::LinkId> found;
  for (const scenario::SlowLink& slow : scenario.disturbances.slow_links) {
    if (slow.node < 0) {
      found.emplace(slow.link, fabric::kNoLink);
    }
  }
  for (std::size_t i = 0; !found.empty() && i < fabric.links.size(); ++i) {
    const auto link = static_cast<fabric::LinkId>(i);
    const auto entry = found.find(fabric::link_name(fabric, link));
    if (entry != found.end() && entry->second == fabric::kNoLink) {
      entry->second = link;
    }
  }
  return found;
}

}  // namespace

std::vector<std::vector<fabric::LinkId>> slow_links(const fabric::Fabric& fabric, const scenario::Scenario& scenario) {
  const std::map<std::string, fabric::LinkId> named = find_names(fabric, scenario);
  std::vector<std::vector<fabric::LinkId>> result;
  std::set<fabric::LinkId> taken;
  for (const scenario::SlowLink& slow : scenario.disturbances.slow_links) {
    std::vector<fabric::LinkId> links;
    if (slow.node >= 0) {
      const int number = slow.node * scenario.cluster.node.nics + slow.port;
      const fabric::Port& port = fabric.ports.at(static_cast<std::size_t>(number));
      links = {port.up, port.down};
    } else {
      links = {named.at(slow.link)};
    }
    for (const fabric::LinkId link : links) {
      if (link == fabric::kNoLink) {
        refuse_unknown(fabric, slow);
      }
      if (!taken.insert(link).second) {
        refuse(slow, fabric::link_name(fabric, link), "Two entries of `disturb` slow this link.",
               "one entry for each link", "");
      }
    }
    result.push_back(std::move(links));
  }
  return result;
}

}  // namespace lamina::disturb
