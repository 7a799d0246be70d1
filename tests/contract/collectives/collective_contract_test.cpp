#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "sim/collectives/collective.hpp"
#include "sim/collectives/plans.hpp"
#include "sim/error/error.hpp"
#include "tests/contract/collectives/message_replay.hpp"
#include "tests/contract/topologies/clusters.hpp"
#include "topologies/topology.hpp"

namespace lamina::collectives {
namespace {

using graph::CollectiveKind;

constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter,
                                     CollectiveKind::kAllGather, CollectiveKind::kBroadcast, CollectiveKind::kAllToAll};

/// A group of devices on a fabric.
struct Group {
  std::string name;
  fabric::Fabric fabric;
  std::vector<int> devices;
};

fabric::Fabric build(const char* topology, scenario::Cluster cluster) {
  const auto catalog = topologies::builtin_topologies();
  const auto* entry = catalog.find(topology);
  cluster.topology = testing::choose(entry->info);
  for (const char* size : {"nodes_per_leaf", "nodes_per_rail_switch"}) {
    cluster.topology.parameters.set_number(size, 3);
  }
  return entry->implementation->build(cluster).value();
}

/// Every `stride`-th device.
std::vector<int> devices_of(const fabric::Fabric& fabric, int stride) {
  std::vector<int> result;
  for (int device = 0; device < static_cast<int>(fabric.devices.size()); device += stride) {
    result.push_back(device);
  }
  return result;
}

Group group(const char* topology, const testing::Shape& shape, int stride) {
  Group result;
  result.name = std::string(topology) + " of " + std::to_string(shape.nodes) + " nodes, " + std::to_string(shape.nics) +
                " ports, every device number " + std::to_string(stride);
  result.fabric = build(topology, testing::make_cluster(shape));
  result.devices = devices_of(result.fabric, stride);
  return result;
}

std::vector<Group> all_groups() {
  std::vector<Group> result;
  result.push_back(group("nvlink_switch", {.nodes = 1, .devices = 2, .domain = 2}, 1));
  result.push_back(group("nvlink_switch", {.nodes = 2, .devices = 8, .domain = 16}, 1));
  result.push_back(group("fat_tree", {.nodes = 7, .devices = 8, .domain = 8, .nics = 8}, 8));
  for (const int nodes : {2, 3, 4}) {
    for (const int nics : {1, 2, 4}) {
      result.push_back(group("fat_tree", {.nodes = nodes, .devices = 4, .domain = 4, .nics = nics}, 1));
      result.push_back(group("fat_tree", {.nodes = nodes, .devices = 4, .domain = 4, .nics = nics}, 2));
    }
  }
  result.push_back(group("rail_optimized", {.nodes = 5, .devices = 4, .domain = 4, .nics = 4}, 1));
  result.push_back(group("leaf_spine_ethernet", {.nodes = 5, .devices = 2, .domain = 1, .nics = 2}, 1));
  result.push_back(group("leaf_spine_ethernet", {.nodes = 4, .devices = 4, .domain = 4, .nics = 1}, 1));
  Group uneven = group("fat_tree", {.nodes = 3, .devices = 4, .domain = 4, .nics = 4}, 1);
  uneven.name = "uneven";
  uneven.devices = {0, 1, 2, 4, 5, 11};
  result.push_back(uneven);
  Group domains = group("fat_tree", {.nodes = 3, .devices = 4, .domain = 2, .nics = 2}, 1);
  domains.name = "two domains a node";
  result.push_back(domains);
  return result;
}

std::string describe(const Group& group, CollectiveKind kind) {
  return group.name + ", kind " + std::to_string(static_cast<int>(kind));
}

class CollectiveContract : public ::testing::TestWithParam<std::string> {
 protected:
  /// Of the candidate that `messages` follows.
  [[nodiscard]] std::vector<FlowPhase> phases(CollectiveKind kind, const std::vector<int>& devices,
                                              const fabric::Fabric& fabric) const {
    return algorithm_.candidates(kind, devices, fabric).front().phases;
  }

  [[nodiscard]] double idle_seconds(CollectiveKind kind, const Group& group, Bytes payload) const {
    double seconds = 0;
    for (const FlowPhase& phase : phases(kind, group.devices, group.fabric)) {
      seconds += phase.hops.wire.value() +
                 payload.value() * phase.bytes_per_payload * seconds_per_byte(phase.links, group.fabric);
    }
    return seconds;
  }

  /// Switches that reduce cannot be replaced by messages.
  [[nodiscard]] bool has_messages(CollectiveKind kind, const Group& group) const {
    return !algorithm_.messages(kind, group.devices, group.fabric).empty();
  }

  /// Cut into segments, whose latencies must be short against their transfer.
  [[nodiscard]] static bool is_segmented(CollectiveKind kind) {
    return kind == CollectiveKind::kBroadcast || (GetParam() == "tree" && kind == CollectiveKind::kAllReduce);
  }

  const catalog::Catalog<Collective> catalog_ = builtin_collectives();
  const Collective& algorithm_ = *catalog_.find(GetParam())->implementation;
};

TEST_P(CollectiveContract, MovesTheSameBytesOverTheSameLinksInBothForms) {
  for (const Group& group : all_groups()) {
    for (const CollectiveKind kind : kKinds) {
      SCOPED_TRACE(describe(group, kind));
      if (!has_messages(kind, group)) {
        continue;
      }
      std::map<fabric::LinkId, double> fluid;
      for (const FlowPhase& phase : phases(kind, group.devices, group.fabric)) {
        for (const LinkUse& use : phase.links) {
          fluid[use.link] += phase.bytes_per_payload * use.count;
        }
      }
      std::map<fabric::LinkId, double> message;
      for (const MessageStep& step : algorithm_.messages(kind, group.devices, group.fabric)) {
        for (const fabric::LinkId link : fabric::route(group.fabric, group.devices[static_cast<std::size_t>(step.from)],
                                                       group.devices[static_cast<std::size_t>(step.to)])
                                             .links) {
          message[link] += step.fraction;
        }
      }
      ASSERT_EQ(fluid.size(), message.size());
      for (const auto& [link, bytes] : fluid) {
        EXPECT_NEAR(bytes, message[link], 1e-9 * bytes) << fabric::link_name(group.fabric, link);
      }
    }
  }
}

/// Bytes that a member receives on average, per byte of payload (nccl-tests, doc/PERFORMANCE.md: data that must leave
/// or enter a rank); in rings and hierarchies every one receives as much.
double received_by_each(CollectiveKind kind, double size) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (size - 1) / size;
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
      return (size - 1) / size;
    case CollectiveKind::kBroadcast:
      return 1;
  }
  return 0;
}

TEST_P(CollectiveContract, BringsEveryMemberWhatItNeeds) {
  for (const Group& group : all_groups()) {
    for (const CollectiveKind kind : kKinds) {
      SCOPED_TRACE(describe(group, kind));
      if (!has_messages(kind, group)) {
        continue;
      }
      std::vector<double> received(group.devices.size(), 0);
      for (const MessageStep& step : algorithm_.messages(kind, group.devices, group.fabric)) {
        ASSERT_NE(step.from, step.to);
        received.at(static_cast<std::size_t>(step.to)) += step.fraction;
      }
      const double expected = received_by_each(kind, static_cast<double>(group.devices.size()));
      if (GetParam() == "tree" &&
          kind == CollectiveKind::kAllReduce) {  // a leaf receives the sum, others sums of parts
        EXPECT_NEAR(std::accumulate(received.begin(), received.end(), 0.0),
                    expected * static_cast<double>(group.devices.size()), 1e-9);
        EXPECT_GE(*std::min_element(received.begin(), received.end()), 1 - 1e-9);
        continue;
      }
      for (std::size_t member = 0; member < received.size(); ++member) {
        const bool root = kind == CollectiveKind::kBroadcast && member == 0;
        EXPECT_NEAR(received[member], root ? 0 : expected, 1e-9) << member;
      }
    }
  }
}

/// All links (but non-blocking trunks) with the same bandwidth and all hops with the same latency.
void make_equal(fabric::Fabric& fabric) {
  for (fabric::Link& link : fabric.links) {
    if (link.link_class != fabric::LinkClass::kTrunk) {
      link.bandwidth = BytesPerSecond(testing::kPortBandwidth);
    }
  }
  fabric.device_link_latency = Seconds(2e-6);
  fabric.host_latency = Seconds(1e-6);
  fabric.port_latency = Seconds(2e-6);
  fabric.switch_latency = Seconds(0);
}

TEST_P(CollectiveContract, TakesTheTimeOfItsMessagesOnEqualLinksWithinOnePercent) {
  std::vector<Group> groups;
  groups.push_back(group("nvlink_switch", {.nodes = 1, .devices = 8, .domain = 8}, 1));
  groups.push_back(group("fat_tree", {.nodes = 6, .devices = 4, .domain = 4, .nics = 4}, 4));
  groups.push_back(group("nvlink_switch", {.nodes = 1, .devices = 2, .domain = 2}, 1));
  for (Group& one : groups) {
    make_equal(one.fabric);
    for (const CollectiveKind kind : kKinds) {
      for (const Bytes payload : {Bytes(1e5), Bytes(1e8), Bytes(1e11)}) {
        if (!has_messages(kind, one) || (is_segmented(kind) && payload.value() < 1e11)) {
          continue;
        }
        SCOPED_TRACE(describe(one, kind) + ", bytes " + std::to_string(payload.value()));
        const double fluid = idle_seconds(kind, one, payload);
        const double messages =
            testing::MessageReplay(algorithm_.messages(kind, one.devices, one.fabric), one.devices, one.fabric, payload)
                .run();
        EXPECT_NEAR(fluid, messages, 0.01 * messages);
      }
    }
  }
}

TEST_P(CollectiveContract, TakesTheTimeOfItsMessagesWhereTheNetworkIsSlowestWithinOnePercent) {
  for (const Group& group : all_groups()) {
    for (const CollectiveKind kind :
         {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather}) {
      SCOPED_TRACE(describe(group, kind));
      if (group.name == "uneven") {
        continue;  // channels of unequal nodes do not load all ports alike in each step
      }
      constexpr std::size_t kMostOfSegments = 16;  // devices: messages are segments x hops
      if (!has_messages(kind, group) || (is_segmented(kind) && group.devices.size() > kMostOfSegments)) {
        continue;
      }
      const Bytes payload(is_segmented(kind) ? 1e12 : 2e9);  // so that latencies, which differ by hop, are short
      const double fluid = idle_seconds(kind, group, payload);
      const double messages = testing::MessageReplay(algorithm_.messages(kind, group.devices, group.fabric),
                                                     group.devices, group.fabric, payload)
                                  .run();
      EXPECT_NEAR(fluid, messages, 0.01 * messages);
    }
  }
}

TEST_P(CollectiveContract, ListsEveryLinkOnceInOrderWithCountsThatShareNoFactor) {
  for (const Group& group : all_groups()) {
    for (const CollectiveKind kind : kKinds) {
      SCOPED_TRACE(describe(group, kind));
      for (const FlowPhase& phase : phases(kind, group.devices, group.fabric)) {
        ASSERT_FALSE(phase.links.empty());
        EXPECT_GT(phase.bytes_per_payload, 0);
        EXPECT_GT(phase.hops.wire.value(), 0);
        EXPECT_GT(phase.hops.inside + phase.hops.between, 0);
        int factor = 0;
        for (std::size_t use = 0; use < phase.links.size(); ++use) {
          EXPECT_GT(phase.links[use].count, 0);
          EXPECT_TRUE(use == 0 || phase.links[use - 1].link < phase.links[use].link);
          factor = std::gcd(factor, phase.links[use].count);
        }
        EXPECT_EQ(factor, 1);
      }
    }
  }
}

TEST_P(CollectiveContract, DoesNotDependOnTheOrderOfRanksUnlessThereIsARoot) {
  std::mt19937 random(7);
  for (const Group& group : all_groups()) {
    std::vector<int> shuffled = group.devices;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    for (const CollectiveKind kind : kKinds) {
      if (kind == CollectiveKind::kBroadcast) {
        continue;
      }
      SCOPED_TRACE(describe(group, kind));
      const auto first = phases(kind, group.devices, group.fabric);
      const auto second = phases(kind, shuffled, group.fabric);
      ASSERT_EQ(first.size(), second.size());
      for (std::size_t phase = 0; phase < first.size(); ++phase) {
        EXPECT_EQ(first[phase].links, second[phase].links);
        EXPECT_EQ(first[phase].bytes_per_payload, second[phase].bytes_per_payload);
        EXPECT_EQ(first[phase].hops.wire, second[phase].hops.wire);
        EXPECT_EQ(first[phase].hops.inside, second[phase].hops.inside);
        EXPECT_EQ(first[phase].hops.between, second[phase].hops.between);
      }
    }
  }
}

TEST_P(CollectiveContract, RefusesGroupsThatAreNone) {
  const fabric::Fabric fabric = build("fat_tree", testing::make_cluster({}));
  for (const std::vector<int>& devices : {std::vector<int>{}, {3}, {1, 2, 1}, {0, 16}, {-1, 0}}) {
    EXPECT_THROW((void)algorithm_.candidates(CollectiveKind::kAllReduce, devices, fabric), error::InternalError);
    EXPECT_THROW((void)algorithm_.messages(CollectiveKind::kAllGather, devices, fabric), error::InternalError);
  }
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const catalog::PluginInfo& info : builtin_collectives().infos()) {
    result.push_back(info.name);
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Builtin, CollectiveContract, ::testing::ValuesIn(names()),
                         [](const ::testing::TestParamInfo<std::string>& parameter) { return parameter.param; });

}  // namespace
}  // namespace lamina::collectives
