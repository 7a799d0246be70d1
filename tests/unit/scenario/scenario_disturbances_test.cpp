#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/scenario_fixture.hpp"

namespace lamina::scenario {
namespace {

using ::testing::HasSubstr;

/// Two nodes of eight devices and eight ports; line 10 is `disturb:`, the first entry is line 11.
std::string disturbed(const std::string& entries) {
  return with_more("disturb:\n" + entries);
}

TEST(ScenarioDisturbances, AreReadWithTheirUnitsAndDefaults) {
  const Disturbances read = load(disturbed("  - {kind: slow_device, node: 1, factor: 1.5}\n"
                                           "  - {kind: slow_device, device: 3, factor: 0.5}\n"
                                           "  - {kind: slow_device, node: 0, device: 7, factor: 2}\n"
                                           "  - {kind: slow_link, node: 1, port: 2, share: 0.25}\n"
                                           "  - kind: slow_link\n"
                                           "    link: leaf 0 up\n"
                                           "    profile: [{at: 0 s, share: 1}, {at: 10 ms, share: 0}]\n"
                                           "    period: 20 ms\n"
                                           "  - {kind: failed_port, node: 0, port: 5}\n"
                                           "  - {kind: host_delay, node: 1, device: 2, delay: 3 ms}\n"
                                           "  - {kind: jitter, standard_deviation: 0.1}\n"))
                                .disturbances;
  ASSERT_EQ(read.slow_devices.size(), 3U);
  EXPECT_EQ(read.slow_devices[0].first_device, 8);
  EXPECT_EQ(read.slow_devices[0].devices, 8);
  EXPECT_EQ(read.slow_devices[0].factor, 1.5);
  EXPECT_EQ(read.slow_devices[1].first_device, 3);
  EXPECT_EQ(read.slow_devices[1].devices, 1);
  EXPECT_EQ(read.slow_devices[2].first_device, 7);
  ASSERT_EQ(read.slow_links.size(), 2U);
  EXPECT_EQ(read.slow_links[0].node, 1);
  EXPECT_EQ(read.slow_links[0].port, 2);
  EXPECT_EQ(read.slow_links[0].profile.at(0).share, 0.25);
  EXPECT_FALSE(read.slow_links[0].period.has_value());
  EXPECT_EQ(read.slow_links[1].link, "leaf 0 up");
  EXPECT_DOUBLE_EQ(read.slow_links[1].profile.at(1).at.value(), 0.01);
  EXPECT_DOUBLE_EQ(read.slow_links[1].period->value(), 0.02);
  ASSERT_EQ(read.failed_ports.size(), 1U);
  EXPECT_EQ(read.failed_ports[0].port, 5);
  ASSERT_EQ(read.host_delays.size(), 1U);
  EXPECT_EQ(read.host_delays[0].device, 10);
  EXPECT_EQ(read.host_delays[0].every, 1);
  ASSERT_TRUE(read.jitter.has_value());
  EXPECT_EQ(read.jitter->repeats, 20);
  EXPECT_EQ(read.jitter->seed, 1U);
  EXPECT_TRUE(load(good_scenario()).disturbances.empty());
}

struct Refusal {
  std::string entry;
  std::string key;
  std::string message;  ///< part of the problem, of what is allowed or of the nearest name
};

class RefusedDisturbance : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedDisturbance, NamesThePlaceAndWhatIsAllowed) {
  const auto fault = fault_of(disturbed(GetParam().entry));
  EXPECT_EQ(fault.location.file, "folder/test.yaml");
  EXPECT_GE(fault.location.line, 11);
  EXPECT_EQ(fault.key, GetParam().key);
  EXPECT_THAT(fault.problem + "|" + fault.allowed + "|" + fault.nearest, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Entries, RefusedDisturbance,
    ::testing::Values(
        Refusal{"  - {kind: slow_devise, node: 1, factor: 2}\n", "disturb.0.kind", "slow_device"},
        Refusal{"  - {node: 1, factor: 2}\n", "disturb.0.kind", "missing"},
        Refusal{"  - slow_device\n", "disturb.0", "mapping"},
        Refusal{"  - {kind: slow_device, node: 1, facter: 2}\n", "disturb.0.facter", "factor"},
        Refusal{"  - {kind: slow_device, factor: 2}\n", "disturb.0.node", "node, device, or both"},
        Refusal{"  - {kind: slow_device, node: 2, factor: 2}\n", "disturb.0.node", "0 to 1"},
        Refusal{"  - {kind: slow_device, node: 1, device: 8, factor: 2}\n", "disturb.0.device", "0 to 7"},
        Refusal{"  - {kind: slow_device, device: 16, factor: 2}\n", "disturb.0.device", "0 to 15"},
        Refusal{"  - {kind: slow_device, node: 1, factor: 0}\n", "disturb.0.factor", "must not be zero"},
        Refusal{"  - {kind: slow_device, node: 1, factor: 2}\n  - {kind: slow_device, device: 9, factor: 2}\n",
                "disturb.1.kind", "Device 9 is in the list twice"},
        Refusal{"  - {kind: slow_link, node: 1, share: 0.5}\n", "disturb.0.port", "missing"},
        Refusal{"  - {kind: slow_link, share: 0.5}\n", "disturb.0.node", "Which link"},
        Refusal{"  - {kind: slow_link, link: a, node: 1, port: 0, share: 0.5}\n", "disturb.0.link", "given twice"},
        Refusal{"  - {kind: slow_link, node: 1, port: 8, share: 0.5}\n", "disturb.0.port", "0 to 7"},
        Refusal{"  - {kind: slow_link, node: 1, port: 0, share: 1.5}\n", "disturb.0.share", "1e-06 to 1"},
        Refusal{"  - {kind: slow_link, node: 1, port: 0}\n", "disturb.0.share", "share is not given"},
        Refusal{"  - {kind: slow_link, node: 1, port: 0, share: 0.5, period: 1 s}\n", "disturb.0.period", "profile"},
        Refusal{"  - {kind: slow_link, node: 1, port: 0, profile: []}\n", "disturb.0.profile", "empty"},
        Refusal{"  - {kind: slow_link, node: 1, port: 0, profile: 0.5}\n", "disturb.0.profile", "list"},
        Refusal{"  - {kind: slow_link, node: 1, port: 0, profile: [{at: 1 s, share: 1}]}\n", "disturb.0.profile.0.at",
                "0 s"},
        Refusal{"  - {kind: slow_link, node: 1, port: 0, profile: [{at: 0 s, share: 1}, {at: 0 s, share: 1}]}\n",
                "disturb.0.profile.1.at", "ascend"},
        Refusal{"  - {kind: slow_link, node: 1, port: 0, profile: [{at: 0 s, share: 1}, {at: 1 s, share: 0}]}\n",
                "disturb.0.profile", "for good"},
        Refusal{"  - {kind: slow_link, node: 1, port: 0, profile: [{at: 0 s, share: 0}], period: 1 s}\n",
                "disturb.0.profile", "All shares are 0"},
        Refusal{"  - {kind: slow_link, node: 1, port: 0, profile: [{at: 0 s, share: 1}, {at: 1 s, share: 0}], period: "
                "1 s}\n",
                "disturb.0.period", "before the profile"},
        Refusal{"  - {kind: failed_port, node: 1, port: 1}\n  - {kind: failed_port, node: 1, port: 1}\n",
                "disturb.1.kind", "Port 1 of node 1"},
        Refusal{"  - {kind: host_delay, delay: 1 ms}\n", "disturb.0.device", "missing"},
        Refusal{"  - {kind: host_delay, device: 1, delay: 1}\n", "disturb.0.delay", "unit"},
        Refusal{"  - {kind: host_delay, device: 1, delay: 1 ms, every: 0}\n", "disturb.0.every", "must not be zero"},
        Refusal{"  - {kind: jitter, standard_deviation: 0.1}\n  - {kind: jitter, standard_deviation: 0.1}\n",
                "disturb.1.kind", "twice"},
        Refusal{"  - {kind: jitter, standard_deviation: 0.1, repeats: 10001}\n", "disturb.0.repeats", "1 to 10000"}));

TEST(ScenarioDisturbances, MustBeAList) {
  EXPECT_THAT(fault_of(with_more("disturb: {kind: jitter}\n")).allowed, HasSubstr("list of mappings"));
  EXPECT_EQ(fault_of(with_more("disturb:\n")).problem, "The key has no value.");
}

TEST(ScenarioDisturbances, AreChangedByTheirNumber) {
  const std::string text =
      disturbed("  - {kind: slow_device, node: 1, factor: 2}\n  - {kind: slow_link, node: 1, port: 0, share: 0.5}\n");
  EXPECT_EQ(load(text, {{"disturb.0.factor", "3"}}).disturbances.slow_devices.at(0).factor, 3);
  // One of two ways to say how fast the link is takes the place of the other.
  EXPECT_EQ(load(text, {{"disturb.1.profile", "[{at: 0 s, share: 1}, {at: 1 s, share: 0.5}]"}})
                .disturbances.slow_links.at(0)
                .profile.size(),
            2U);
  EXPECT_EQ(load(text, {{"disturb.1", "{kind: failed_port, node: 0, port: 0}"}}).disturbances.failed_ports.size(), 1U);
  EXPECT_TRUE(load(text, {{"disturb", "[]"}}).disturbances.empty());
  const auto fault = fault_of(text, {{"disturb.2.factor", "3"}});
  EXPECT_EQ(fault.location.file, "--set disturb.2.factor=3");
  EXPECT_EQ(fault.allowed, "0 to 1");
  EXPECT_THAT(fault_of(text, {{"disturb.first.factor", "3"}}).read, HasSubstr("first"));
  EXPECT_THAT(fault_of(good_scenario(), {{"disturb.0.factor", "3"}}).allowed, HasSubstr("empty"));
}

}  // namespace
}  // namespace lamina::scenario
