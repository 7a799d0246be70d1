#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/metrics/links.hpp"
#include "tests/unit/metrics/tiny_step.hpp"

namespace lamina::metrics {
namespace {

using fabric::LinkClass;
using metrics::testing::TinyStep;

/// A step of ten seconds on three links: 0 and 1 are ports of 100 bytes per second, 2 is a trunk that never limits.
/// Paths: 0 over link 0, 1 over link 1 twice and link 2, 2 over link 0.
struct Example {
  Example() : tiny(1) {
    tiny.compute(0, 10);
    tiny.finish();
    for (int link = 0; link < 3; ++link) {
      deployment::Link each;
      each.link_class = link == 2 ? LinkClass::kTrunk : LinkClass::kPort;
      each.bandwidth = link == 2 ? 1000 : 100;
      each.never_limits = link == 2;
      tiny.deployment.links.push_back(each);
      fabric.links.push_back({BytesPerSecond(each.bandwidth), each.link_class, each.never_limits});
    }
    tiny.deployment.paths.push_back({{{0, 1}}, 0});
    tiny.deployment.paths.push_back({{{1, 2}, {2, 1}}, 0});
    tiny.deployment.paths.push_back({{{0, 1}}, 0});
  }

  void flow(int path, double start, double end, double bytes) {
    tiny.timeline.flows.push_back({path, start, end, bytes});
  }

  std::vector<report::LinkLoad> loads() { return link_loads(tiny.step(), fabric); }

  TinyStep tiny;
  fabric::Fabric fabric;
};

TEST(LinkLoads, CountBytesPerCrossingAndTakeTheBusiestLink) {
  Example example;
  example.flow(0, 0, 1, 60);
  example.flow(1, 1, 4, 45);  // twice over link 1: 90 bytes
  const auto loads = example.loads();
  ASSERT_EQ(loads.size(), 2U);
  EXPECT_EQ(loads[0].link_class, LinkClass::kPort);
  EXPECT_DOUBLE_EQ(loads[0].links, 2);
  EXPECT_DOUBLE_EQ(loads[0].bytes, 90);
  EXPECT_DOUBLE_EQ(loads[0].average_bytes_per_s, 9);
  EXPECT_DOUBLE_EQ(loads[0].peak_bytes_per_s, 30);
  EXPECT_EQ(loads[1].link_class, LinkClass::kTrunk);
  EXPECT_DOUBLE_EQ(loads[1].bytes, 45) << "links that never limit are counted";
}

TEST(LinkLoads, AddTheRatesOfFlowsInFlightTogether) {
  Example example;
  example.flow(0, 0, 4, 80);   // 20 per second
  example.flow(2, 2, 6, 160);  // 40 per second
  example.flow(0, 6, 8, 100);  // 50 per second, after the others
  const auto loads = example.loads();
  EXPECT_DOUBLE_EQ(loads[0].bytes, 340);
  EXPECT_DOUBLE_EQ(loads[0].peak_bytes_per_s, 60);
}

TEST(LinkLoads, DoNotAddAFlowToTheOneWhoseEndStartsIt) {
  Example example;
  example.flow(0, 0, 3, 180);
  example.flow(0, 3, 6, 180);
  EXPECT_DOUBLE_EQ(example.loads()[0].peak_bytes_per_s, 60);
}

TEST(LinkLoads, NeverExceedTheBandwidth) {
  Example example;
  example.flow(0, 0, 2, 180);
  example.flow(2, 1, 2, 80);
  EXPECT_DOUBLE_EQ(example.loads()[0].peak_bytes_per_s, 100);
}

TEST(LinkLoads, ScaleAFoldedLinkBackToRealBytes) {
  Example example;
  example.tiny.deployment.links[0].bandwidth = 25;  // the real 100 over the divisor
  example.tiny.deployment.links[0].capacity_divisor = 4;
  example.flow(0, 0, 1, 20);
  const auto loads = example.loads();
  EXPECT_DOUBLE_EQ(loads[0].bytes, 80);
  EXPECT_DOUBLE_EQ(loads[0].bandwidth_bytes_per_s, 100);
  EXPECT_DOUBLE_EQ(loads[0].peak_bytes_per_s, 80);
}

TEST(LinkLoads, ListAClassWithoutTraffic) {
  Example example;
  const auto loads = example.loads();
  ASSERT_EQ(loads.size(), 2U);
  EXPECT_DOUBLE_EQ(loads[0].bytes, 0);
  EXPECT_DOUBLE_EQ(loads[0].bandwidth_bytes_per_s, 100);
  EXPECT_DOUBLE_EQ(loads[1].bandwidth_bytes_per_s, 1000);
}

TEST(LinkLoads, RefuseAFlowOnAnUnknownPath) {
  Example example;
  example.flow(7, 0, 1, 1);
  EXPECT_THROW((void)example.loads(), error::InternalError);
}

}  // namespace
}  // namespace lamina::metrics
