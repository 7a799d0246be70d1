// What each node and attribute of a Chakra file becomes. Bytes are made by hand from the field numbers of
// schema/protobuf/et_def.proto (github.com/mlcommons/chakra).
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/chakra/trace.hpp"
#include "tests/support/chakra_bytes.hpp"

namespace lamina::chakra {
namespace {

namespace et = tests::et;

Node only(const std::string& nodes, const std::string& groups = "") {
  const RankTrace trace = et::read(nodes, 0, 4, groups);
  EXPECT_EQ(trace.nodes.size(), 1U);
  return trace.nodes.at(0);
}

std::vector<std::uint64_t> ids_of(const RankTrace& trace) {
  std::vector<std::uint64_t> ids;
  for (const Node& node : trace.nodes) {
    ids.push_back(node.id);
  }
  return ids;
}

TEST(ChakraReader, AFileOfMetadataOnlyHasNoNodes) {
  EXPECT_TRUE(et::read("").nodes.empty());
}

TEST(ChakraReader, ComputeTakesItsMicroseconds) {
  const Node node = only(et::compute(7, 16500));
  EXPECT_EQ(node.id, 7U);
  EXPECT_EQ(node.name, "n7");
  EXPECT_EQ(node.kind, NodeKind::kCompute);
  EXPECT_DOUBLE_EQ(node.duration_s, 16.5e-3);
  EXPECT_EQ(node.dependencies, 0U);
}

TEST(ChakraReader, TheAttributeRuntimeStandsInForTheDuration) {
  EXPECT_DOUBLE_EQ(only(et::node(0, et::kCompute, et::integer("runtime", 250))).duration_s, 250e-6);
  EXPECT_DOUBLE_EQ(only(et::compute(0, 3, et::integer("runtime", 250))).duration_s, 3e-6);
}

TEST(ChakraReader, NanosecondsRefineTheDuration) {
  const auto nanos = [](double value) { return et::attribute("duration_ns", et::bits(3, value)); };
  EXPECT_DOUBLE_EQ(only(et::compute(0, 12, nanos(12345.678))).duration_s, 12345.678e-9);
  EXPECT_DOUBLE_EQ(only(et::node(0, et::kCompute, nanos(400))).duration_s, 400e-9);
}

TEST(ChakraReader, CpuOperationsRunBesideTheDevice) {
  EXPECT_EQ(only(et::compute(0, 5, et::truth("is_cpu_op", true))).kind, NodeKind::kHostCompute);
  EXPECT_EQ(only(et::compute(0, 5, et::truth("is_cpu_op", false))).kind, NodeKind::kCompute);
  EXPECT_EQ(only(et::compute(0, 5, et::integer("is_cpu_op", 1))).kind, NodeKind::kHostCompute);
}

TEST(ChakraReader, ComputeWithoutDurationAndMetadataOnlyOrder) {
  EXPECT_EQ(only(et::node(0, et::kCompute)).kind, NodeKind::kNothing);
  EXPECT_EQ(only(et::compute(0, 0)).kind, NodeKind::kNothing);
  EXPECT_EQ(only(et::node(0, et::kMetadata)).kind, NodeKind::kNothing);
}

TEST(ChakraReader, MessagesNameTheOtherRank) {
  const Node sent = only(et::send(0, 3, 1024, 9));
  EXPECT_EQ(sent.kind, NodeKind::kSend);
  EXPECT_EQ(sent.peer, 3);
  EXPECT_EQ(sent.tag, 9);
  EXPECT_EQ(sent.bytes, 1024);
  const Node received = only(et::receive(0, 2, 77, 4, et::integer("comm_dst", 0)));
  EXPECT_EQ(received.kind, NodeKind::kReceive);
  EXPECT_EQ(received.peer, 2);
  EXPECT_EQ(received.tag, 4);
  EXPECT_EQ(received.bytes, 77);
}

TEST(ChakraReader, AMessageWithoutTagHasTagZero) {
  EXPECT_EQ(only(et::node(0, et::kSend, et::integer("comm_dst", 1) + et::integer("comm_size", 8))).tag, 0);
}

TEST(ChakraReader, CopiesHaveTheirTensorsSize) {
  const Node load = only(et::node(0, et::kLoad, et::integer("tensor_size", 4096)));
  EXPECT_EQ(load.kind, NodeKind::kLoad);
  EXPECT_EQ(load.bytes, 4096);
  const Node store = only(et::node(0, et::kStore, et::integer("tensor_size", 1)));
  EXPECT_EQ(store.kind, NodeKind::kStore);
  EXPECT_EQ(store.bytes, 1);
}

struct CollectiveCase {
  std::string name;
  int type;
  graph::CollectiveKind kind;
  double bytes;  ///< payload of a group of four to which each rank gives 100
};

class EveryCollective : public testing::TestWithParam<CollectiveCase> {};

// comm_size is one rank's part (ASTRA-sim's reading): of an all-gather that is a shard, and the payload is all shards.
TEST_P(EveryCollective, HasItsKindAndPayload) {
  const Node node = only(et::collective(0, GetParam().type, 100));
  EXPECT_EQ(node.kind, NodeKind::kCollective);
  EXPECT_EQ(node.collective, GetParam().kind);
  EXPECT_EQ(node.bytes, GetParam().bytes);
  EXPECT_EQ(node.group, 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryCollective,
                         testing::Values(CollectiveCase{"AllReduce", 0, graph::CollectiveKind::kAllReduce, 100},
                                         CollectiveCase{"AllGather", 2, graph::CollectiveKind::kAllGather, 400},
                                         CollectiveCase{"Broadcast", 5, graph::CollectiveKind::kBroadcast, 100},
                                         CollectiveCase{"AllToAll", 6, graph::CollectiveKind::kAllToAll, 100},
                                         CollectiveCase{"ReduceScatter", 7, graph::CollectiveKind::kReduceScatter, 100},
                                         CollectiveCase{"ReduceScatterBlock", 8, graph::CollectiveKind::kReduceScatter,
                                                        100},
                                         CollectiveCase{"Barrier", 9, graph::CollectiveKind::kAllReduce, 0}),
                         [](const auto& test) { return test.param.name; });

TEST(ChakraReader, ABarrierNeedsNoSize) {
  EXPECT_EQ(only(et::node(0, et::kCollective, et::integer("comm_type", 9))).bytes, 0);
}

TEST(ChakraReader, ProcessGroupsAreFoundByName) {
  const std::string groups = R"({"tensor": [1, 0], "7": [0, 2]})";
  const RankTrace trace =
      et::read(et::collective(0, 2, 10, "tensor") + et::collective(1, 0, 10) +
                   et::node(2, et::kCollective,
                            et::integer("comm_type", 0) + et::integer("comm_size", 1) + et::integer("pg_name", 7)),
               0, 4, groups);
  const Groups all = et::groups(groups, 4);
  EXPECT_EQ(all.all.at(static_cast<std::size_t>(trace.nodes[0].group)).name, "tensor");
  EXPECT_EQ(trace.nodes[0].bytes, 20);  // two members
  EXPECT_EQ(trace.nodes[1].group, 0);
  EXPECT_EQ(all.all.at(static_cast<std::size_t>(trace.nodes[2].group)).name, "7");
}

TEST(ChakraReader, AllDimensionsInvolvedIsTheGroupOfAll) {
  const std::string all = et::attribute("involved_dim", et::bytes(28, et::bytes(1, std::string("\x01\x01", 2))));
  EXPECT_EQ(only(et::collective(0, 0, 8, "", all)).group, 0);
}

struct IntegerCase {
  std::string name;
  std::string value;  ///< field of the attribute that says 300
};

class EveryIntegerType : public testing::TestWithParam<IntegerCase> {};

TEST_P(EveryIntegerType, IsRead) {
  const Node node =
      only(et::node(0, et::kSend, et::integer("comm_dst", 1) + et::attribute("comm_size", GetParam().value)));
  EXPECT_EQ(node.bytes, 300);
}

INSTANTIATE_TEST_SUITE_P(
    Types, EveryIntegerType,
    testing::Values(IntegerCase{"Int32", et::number(7, 300)}, IntegerCase{"Int64", et::number(9, 300)},
                    IntegerCase{"Uint32", et::number(11, 300)}, IntegerCase{"Uint64", et::number(13, 300)},
                    IntegerCase{"Sint32", et::number(15, 600)},  // zigzag
                    IntegerCase{"Sint64", et::number(17, 600)},
                    IntegerCase{"Fixed32", et::bits(19, std::uint32_t{300})},
                    IntegerCase{"Fixed64", et::bits(21, std::uint64_t{300})},
                    IntegerCase{"Sfixed32", et::bits(23, std::int32_t{300})},
                    IntegerCase{"Sfixed64", et::bits(25, std::int64_t{300})}, IntegerCase{"Double", et::bits(3, 300.0)},
                    IntegerCase{"Float", et::bits(5, 300.0F)}, IntegerCase{"Digits", et::bytes(29, "300")}),
    [](const auto& test) { return test.param.name; });

TEST(ChakraReader, AttributesThatItDoesNotKnowArePassedOver) {
  const std::string unknown = et::text("rg_id", "x") + et::attribute("dims", et::bytes(8, "\x01\x02")) +
                              et::bytes(8, "inputs") + et::number(99, 5);
  EXPECT_DOUBLE_EQ(only(et::compute(0, 5, unknown)).duration_s, 5e-6);
}

TEST(ChakraReader, DataAndControlDependenciesCountAlike) {
  const std::string control = et::bytes(4, et::varint(1));
  const RankTrace trace = et::read(et::compute(0, 1) + et::compute(1, 1) + et::compute(2, 1, et::after({0}) + control));
  ASSERT_EQ(trace.nodes[2].dependencies, 2U);
  EXPECT_EQ(trace.dependencies[trace.nodes[2].first_dependency], 0U);
  EXPECT_EQ(trace.dependencies[trace.nodes[2].first_dependency + 1], 1U);
}

TEST(ChakraReader, DependenciesMayStandOneByOne) {  // not packed, as proto2 writes them
  const std::string unpacked = et::number(5, 10) + et::number(5, 20);
  const RankTrace trace = et::read(et::compute(10, 1) + et::compute(20, 1) + et::compute(30, 1, unpacked));
  EXPECT_EQ(trace.nodes[2].dependencies, 2U);
}

TEST(ChakraReader, NodesStandAfterWhatTheyDependOnLowestIdFirst) {
  // 9 -> 1 -> 5, and 3 alone: 3 is the lowest that may be first; 9 must come before 1.
  const RankTrace trace = et::read(et::compute(5, 1, et::after({1})) + et::compute(1, 1, et::after({9})) +
                                   et::compute(9, 1) + et::compute(3, 1));
  EXPECT_THAT(ids_of(trace), testing::ElementsAre(3, 9, 1, 5));
  const Node& one = trace.nodes[2];
  ASSERT_EQ(one.dependencies, 1U);
  EXPECT_EQ(trace.dependencies[one.first_dependency], 1U);
}

TEST(ChakraReader, IdsMayBeOfAnySize) {
  const std::uint64_t largest = ~std::uint64_t{0};
  const RankTrace trace = et::read(et::compute(largest, 1, et::after({1})) + et::compute(1, 1));
  EXPECT_THAT(ids_of(trace), testing::ElementsAre(1, largest));
}

TEST(ChakraReader, ANameMayBeAnyBytes) {
  const RankTrace trace =
      et::read(et::delimited(et::bytes(2, "\xff\x00\x1b[31m") + et::number(3, et::kCompute) + et::number(7, 1)));
  EXPECT_EQ(trace.nodes.at(0).id, 0U);
  EXPECT_EQ(name_of({{trace}, {}}, 0, 0).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace lamina::chakra
