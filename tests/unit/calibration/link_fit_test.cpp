#include "validate/calibration/link_fit.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/collectives/plans.hpp"
#include "tests/unit/calibration/calibration_fixture.hpp"
#include "topologies/topology.hpp"
#include "validate/calibration/write.hpp"

namespace lamina::validate::calibration {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kLatency = 12e-6;
constexpr double kRate = 40e9;

std::vector<LinePoint> line_points(int from_exponent, int to_exponent) {
  std::vector<LinePoint> points;
  for (int exponent = from_exponent; exponent <= to_exponent; ++exponent) {
    const double x = std::pow(2, exponent);
    points.push_back({x, kLatency + x / kRate});
  }
  return points;
}

TEST(LineFit, FindsTheLineThatMadeThePoints) {
  for (const auto& [from, to] : {std::pair(3, 33), std::pair(10, 27), std::pair(16, 24), std::pair(18, 20)}) {
    const Line line = fit_line(line_points(from, to));
    EXPECT_NEAR(line.latency / kLatency, 1, 1e-6) << from;
    EXPECT_NEAR(line.rate / kRate, 1, 1e-6) << from;
  }
}

TEST(LineFit, HardlyMovesForNoiseAndOutliers) {
  auto points = line_points(3, 33);
  std::mt19937 random(7);
  for (LinePoint& point : points) {
    point.seconds *= 0.97 + 0.06 * static_cast<double>(random()) / 4294967296.0;
  }
  points[4].seconds *= 9;   // one small size
  points[29].seconds *= 5;  // one large size
  const Line line = fit_line(points);
  EXPECT_NEAR(line.latency / kLatency, 1, 0.03);
  EXPECT_NEAR(line.rate / kRate, 1, 0.03);
}

TEST(LineFit, SaysWhatTheSizesDoNotTell) {
  EXPECT_TRUE(fit_line(line_points(3, 33)).latency_resolved);
  EXPECT_TRUE(fit_line(line_points(3, 33)).rate_resolved);
  EXPECT_FALSE(fit_line(line_points(28, 33)).latency_resolved) << "large sizes only";
  EXPECT_FALSE(fit_line(line_points(3, 12)).rate_resolved) << "small sizes only";
}

TEST(LineFit, OfOnePointIsARate) {
  const Line line = fit_line({{4e9, 0.1}});
  EXPECT_DOUBLE_EQ(line.rate, 4e10);
  EXPECT_DOUBLE_EQ(line.latency, 0);
  EXPECT_FALSE(line.latency_resolved);
}

/// The ring of sim/collectives on the fabric of a scenario that names the calibration.
double simulated(const std::filesystem::path& hardware, const std::string& cluster, double bytes) {
  const std::string text = fmt::format(
      "schema_version: 1\nhardware: {}\nmodel: x32\ncluster: {}\nstrategy: {{data_parallel: "
      "8, micro_batches: 1}}\n",
      hardware.string(), cluster);
  const auto scenario =
      scenario::load_text(text, "/t.yaml", tests::source_folder() / "scenarios", surroundings().plugins);
  const auto topologies = topologies::builtin_topologies();
  const auto fabric = topologies.find(scenario.cluster.topology.name)->implementation->build(scenario.cluster);
  std::vector<int> devices(static_cast<std::size_t>(scenario.cluster.devices()));
  std::iota(devices.begin(), devices.end(), 0);
  const auto collectives = collectives::builtin_collectives();
  const auto plans = collectives::make_plans(*collectives.find("ring")->implementation,
                                             graph::CollectiveKind::kAllReduce, devices, *fabric);
  return collectives::idle_time(plans).seconds(bytes);
}

TEST(LinkFit, OfOneNodeGivesADeviceLinkOnWhichTheRingTakesTheMeasuredTimes) {
  // Patarasuk and Yuan 2009: 2(n - 1) hops and 2(n - 1)/n of the bytes
  const auto time = [](double bytes) { return 14 * 1.5e-6 + 1.75 * bytes / 180e9; };
  const Folder folder;
  const Calibration result = calibrate({folder.file("nvlink.log", log_of("all_reduce_perf", 1, 8, 3, 33, 1.75, time))},
                                       {}, {}, surroundings());
  ASSERT_EQ(result.entries.size(), 1U);
  const Entry& entry = result.entries[0];
  EXPECT_EQ(entry.kind, Kind::kDeviceLink);
  EXPECT_EQ(entry.name, "nvlink");
  EXPECT_NEAR(entry.constants[0].value / 180e9, 1, 1e-4);
  EXPECT_NEAR(entry.constants[1].value / 1.5e-6, 1, 1e-4);
  EXPECT_LT(entry.residuals[0].worst, 1e-4);
  EXPECT_THAT(entry.steps, IsEmpty());
  EXPECT_EQ(entry.table.rows.size(), 31U);
  const auto file = folder.file("mine.yaml", to_yaml(result));
  for (const double bytes : {64.0, 1e6, 1e9}) {
    EXPECT_NEAR(simulated(file, "{node: {base: dgx-h100, device_link: nvlink}}", bytes) / time(bytes), 1, 1e-4)
        << bytes;
  }
}

TEST(LinkFit, OfTwoNodesGivesANetworkOnWhichTheRingTakesTheMeasuredTimes) {
  // Eight ports share the bytes of a ring over 16 ranks; of its 30 hops an eighth is between the two nodes.
  const auto time = [](double bytes) { return 30 * 2.5e-6 + 1.875 * bytes / (8 * 23e9); };
  const Folder folder;
  Options options;
  options.link.nics_per_node = 8;
  options.name = "rails";
  const Calibration result = calibrate({folder.file("ib.log", log_of("all_reduce_perf", 2, 8, 3, 33, 1.875, time))}, {},
                                       options, surroundings());
  const Entry& entry = result.entries.at(0);
  EXPECT_EQ(entry.kind, Kind::kNetwork);
  EXPECT_NEAR(entry.constants[0].value / 23e9, 1, 1e-4);
  EXPECT_NEAR(entry.constants[1].value / (8 * 2.5e-6), 1, 1e-4);
  const auto file = folder.file("mine.yaml", to_yaml(result));
  const std::string cluster =
      "{node: {base: dgx-h100, device_link: {base: nvlink4, latency: 0 s}}, nodes: 2, network: rails}";
  for (const double bytes : {64.0, 1e6, 1e9}) {
    EXPECT_NEAR(simulated(file, cluster, bytes) / time(bytes), 1, 1e-4) << bytes;
  }
}

TEST(LinkFit, WithoutPortsIsOfANodeAndSaysSo) {
  const auto time = [](double bytes) { return 30e-6 + 1.875 * bytes / 184e9; };
  const Folder folder;
  const auto file = folder.file("ib.log", log_of("all_reduce_perf", 2, 8, 3, 33, 1.875, time));
  const Entry entry = calibrate({file}, {}, {}, surroundings()).entries.at(0);
  EXPECT_NEAR(entry.constants[0].value / 184e9, 1, 1e-4);
  EXPECT_THAT(entry.notes, Contains(HasSubstr("that of a whole node")));
}

TEST(LinkFit, ShowsASwitchOfProtocolAsAStepAndAResidual) {
  // below 256 KiB another protocol: a sixth of the latency, a tenth of the rate
  const auto time = [](double bytes) {
    return bytes < 262144 ? 10e-6 + 1.75 * bytes / 20e9 : 60e-6 + 1.75 * bytes / 200e9;
  };
  const Folder folder;
  const auto file = folder.file("a.log", log_of("all_reduce_perf", 1, 8, 3, 33, 1.75, time));
  const Entry entry = calibrate({file}, {}, {}, surroundings()).entries.at(0);
  EXPECT_THAT(entry.steps, Contains(HasSubstr("128 KiB to 256 KiB")));
  EXPECT_NEAR(entry.constants[0].value / 200e9, 1, 0.01);
  const auto middle = std::find_if(entry.residuals.begin(), entry.residuals.end(),
                                   [](const Residual& residual) { return residual.range == "64 KiB to 1 MiB"; });
  ASSERT_NE(middle, entry.residuals.end());
  EXPECT_EQ(middle->points, 4);
  EXPECT_GT(middle->worst, 0.3);
}

TEST(LinkFit, TakesTheMedianOfRepeatedSizesAndGivesTheirSpread) {
  TransferSet set;
  set.ranks = 2;
  set.nodes = 1;
  for (const double factor : {0.9, 1.0, 1.3}) {
    for (const LinePoint& point : line_points(3, 30)) {
      set.transfers.push_back({point.x, factor * point.seconds, kUnknown, kUnknown});
    }
  }
  const Entry entry = fit_link(set, {});
  EXPECT_EQ(entry.table.rows.size(), 28U);
  EXPECT_DOUBLE_EQ(entry.table.rows[0][2], 3);
  EXPECT_NEAR(entry.spread, 0.4, 1e-9);
  EXPECT_NEAR(entry.constants[0].value / kRate, 1, 1e-6);
}

TEST(LinkFit, InPlaceTakesTheOtherColumn) {
  TransferSet set;
  set.ranks = 2;
  set.nodes = 1;
  for (const LinePoint& point : line_points(3, 30)) {
    set.transfers.push_back({point.x, point.seconds, 2 * point.seconds, kUnknown});
  }
  LinkOptions options;
  EXPECT_NEAR(fit_link(set, options).constants[0].value / kRate, 1, 1e-6);
  options.in_place = true;
  EXPECT_NEAR(fit_link(set, options).constants[0].value / kRate, 0.5, 1e-6);
}

TEST(LinkFit, ARateWithoutSizesIsABandwidthOnly) {
  TransferSet set;
  set.collective = Collective::kAllToAll;
  set.ranks = 16;
  set.nodes = 2;
  set.rates = {45e9};
  LinkOptions options;
  options.nics_per_node = 8;
  const Entry entry = fit_link(set, options);
  // A rank sends 15/16 at 45 GB/s, 8/16 of it to the other node: 24 GB/s from each of 8 ranks over 8 ports.
  EXPECT_NEAR(entry.constants[0].value, 24e9, 1);
  EXPECT_FALSE(entry.constants[1].resolved);
  EXPECT_THAT(entry.residuals, IsEmpty());
  EXPECT_THAT(entry.notes, Not(Contains(HasSubstr("whole node"))));
}

}  // namespace
}  // namespace lamina::validate::calibration
