#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "validate/cpu/transport.hpp"
#include "validate/ranks/network.hpp"

namespace lamina::validate::ranks {
namespace {

using testing::HasSubstr;

constexpr double kPatience = 25;
constexpr double kRate = 12.5e6;  // 100 Mbit/s

/// What the ranks report, or why this system has no such networks.
std::string run(const ShapedNetwork& network, const RankBody& body, std::vector<std::string>& reports) {
  try {
    const auto coordinator = launch_in_network(static_cast<int>(network.node_of_rank.size()), network, body);
    coordinator->greet(kPatience);
    coordinator->serve([] { return kPatience; }, [&](const std::vector<std::string>& all) { reports = all; });
  } catch (const error::EnvironmentError& fault) {
    return fault.what();
  }
  return "";
}

bool refused(const std::string& text) {
  return text.find("refuse") != std::string::npos || text.find("iproute2") != std::string::npos ||
         text.find("failed in a network namespace") != std::string::npos;
}

TEST(ShapedNetwork, CarriesMessagesNoFasterThanItsPorts) {
  constexpr std::size_t kBytes = 2'000'000;  // 160 ms
  const std::vector<cpu::Pipe> pipes = {{0, 1, -1, kBytes}, {1, 2, -1, kBytes}};
  const ShapedNetwork network{{0, 1, 1}, kRate};  // ranks 1 and 2 share a node: their messages do not leave it
  std::vector<std::string> reports;
  const std::string fault = run(
      network,
      [&](int rank, Control& control) {
        const std::string address = address_of_node(network.node_of_rank[static_cast<std::size_t>(rank)]);
        const auto transport = cpu::connect_sockets(pipes, rank, address, control);
        std::vector<std::byte> content(kBytes, std::byte{7});
        std::vector<std::byte> received(kBytes);
        const double start = control.start_together();
        if (rank == 0) {
          transport->send(0, content);
        } else if (rank == 1) {
          transport->receive(0, received);
        }
        const double between = monotonic_s() - start;
        if (rank == 1) {
          transport->send(1, received);
        } else if (rank == 2) {
          transport->receive(1, received);
        }
        control.report(rank == 0 || received == content ? std::to_string(between) : "other bytes");
      },
      reports);
  if (refused(fault)) {
    GTEST_SKIP() << fault;
  }
  ASSERT_EQ(fault, "");
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_NE(reports[2], "other bytes");
  EXPECT_GE(std::stod(reports[1]), (kBytes - burst_bytes(kRate)) / kRate);
}

TEST(ShapedNetwork, AKilledRankIsTold) {
  std::vector<std::string> reports;
  const std::string fault = run(
      {{0, 1}, kRate},
      [](int rank, Control& control) {
        if (rank == 1) {
          raise(SIGKILL);
        }
        (void)control.gather("");
      },
      reports);
  if (refused(fault)) {
    GTEST_SKIP() << fault;
  }
  EXPECT_THAT(fault, HasSubstr("rank 1"));
  EXPECT_THAT(fault, HasSubstr("signal 9"));
}

TEST(ShapedNetwork, LetsASegmentThroughAtOnceAndLittleMore) {
  for (const double rate : {1e6, 12.5e6, 125e6, 1.25e9, 50e9}) {
    EXPECT_GE(segment_bytes(rate), 2 * 1500);
    EXPECT_LE(segment_bytes(rate), 65536);
    EXPECT_GT(burst_bytes(rate), segment_bytes(rate));  // tc-tbf drops what is larger than its bucket
    EXPECT_LE(burst_bytes(rate), 262144);
  }
  constexpr double kGigabit = 125e6;
  EXPECT_LE(burst_bytes(kGigabit) / kGigabit, 0.25e-3);
}

}  // namespace
}  // namespace lamina::validate::ranks
