// Every fault of a file is refused with the file, the rank and the node.
#include <cmath>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/chakra/trace.hpp"
#include "sim/error/error.hpp"
#include "tests/support/chakra_bytes.hpp"

namespace lamina::chakra {
namespace {

namespace et = tests::et;
using testing::AllOf;
using testing::HasSubstr;

/// What the refusal of a whole file says; "" when it is accepted.
std::string refusal(const std::string& bytes, const std::string& json = "") {
  const Groups groups = et::groups(json, 4);
  std::istringstream stream(bytes);
  try {
    (void)read_rank(stream, {"traces/step.0.et", 0, 4, &groups});
  } catch (const error::ScenarioError& refused) {
    EXPECT_EQ(refused.fault().location.file, "traces/step.0.et");
    return refused.what();
  }
  return "";
}

struct FaultCase {
  std::string name;
  std::string nodes;
  std::string message;
  std::string detail;
};

class FaultyNode : public testing::TestWithParam<FaultCase> {};

TEST_P(FaultyNode, IsRefusedByName) {
  EXPECT_THAT(refusal(et::metadata() + GetParam().nodes, R"({"odd": [1, 2], "own": [0, 1]})"),
              AllOf(HasSubstr("ank 0"), HasSubstr(GetParam().message), HasSubstr(GetParam().detail)));
}

std::string nanos(double value) {
  return et::attribute("duration_ns", et::bits(3, value));
}

std::string sized(const std::string& value) {
  return et::node(4, et::kSend, et::integer("comm_dst", 1) + et::attribute("comm_size", value));
}

constexpr auto kTooLong = std::uint64_t{1'000'000'000'001};

INSTANTIATE_TEST_SUITE_P(
    Nodes, FaultyNode,
    testing::Values(
        FaultCase{"IdTwice", et::compute(3, 1) + et::compute(3, 2), "the id was used before", "node 3 (\"n3\")"},
        FaultCase{"DependencyMissing", et::compute(3, 1, et::after({8})), "it depends on node 8, which is not",
                  "node 3"},
        FaultCase{"DependsOnItself", et::compute(3, 1, et::after({3})), "it depends on itself", "node 3"},
        FaultCase{"Circle", et::compute(1, 1, et::after({2})) + et::compute(2, 1, et::after({1})),
                  "the dependencies go round in a circle: node 1 (\"n1\"), which depends on node 2", "node 1"},
        FaultCase{"NoType", et::delimited(et::number(1, 6)), "is a node without a type", "byte 8"},
        FaultCase{"TypeInvalid", et::node(1, 0), "does not model nodes of this type", "type 0"},
        FaultCase{"TypeUnknown", et::node(1, 8), "does not model nodes of this type", "COMM_COLL 7"},
        FaultCase{"TypeNegative", et::node(1, -1), "does not model nodes of this type", "type -1"},
        FaultCase{"NotANode", et::delimited("\x0f\x0f"), "is no node of a Chakra trace", "byte 8"},
        FaultCase{"WireTypeOfAField", et::delimited(et::bytes(1, "id") + et::number(3, 4)),
                  "has field 1 with a wrong wire type", "byte 8"},
        FaultCase{"WireTypeOfAnAttribute", et::compute(1, 1, et::attribute("comm_size", et::bytes(9, "5"))),
                  "field 9 of an attribute has the wrong wire type", "node 1"},
        FaultCase{"DurationTooLong", et::compute(1, kTooLong), "the duration makes no sense", "1000000000001 us"},
        FaultCase{"RuntimeNegative", et::node(1, et::kCompute, et::integer("runtime", -5)),
                  "the duration makes no sense", "negative"},
        FaultCase{"NanosecondsDiffer", et::compute(1, 10, nanos(12000)), "contradict each other", "10 us and 12000 ns"},
        FaultCase{"NanosecondsNan", et::compute(1, 0, nanos(std::nan(""))), "contradict each other", "nan ns"},
        FaultCase{"NanosecondsEndless", et::compute(1, 0, nanos(HUGE_VAL)), "contradict each other", "inf ns"},
        FaultCase{"NanosecondsNegative", et::compute(1, 0, nanos(-1)), "contradict each other", "-1 ns"},
        FaultCase{"OperationsOnly", et::node(1, et::kCompute, et::integer("num_ops", 1000)),
                  "it has num_ops and no duration", "num_ops 1000"},
        FaultCase{"CopyWithoutSize", et::node(1, et::kLoad), "the attribute tensor_size is missing", "bytes"},
        FaultCase{"MessageWithoutSize", et::node(1, et::kSend, et::integer("comm_dst", 1)),
                  "the attribute comm_size is missing", "bytes"},
        FaultCase{"SendWithoutReceiver", et::node(1, et::kSend, et::integer("comm_size", 1)),
                  "the attribute comm_dst is missing", "a rank"},
        FaultCase{"ReceiveWithoutSender", et::node(1, et::kReceive, et::integer("comm_size", 1)),
                  "the attribute comm_src is missing", "a rank"},
        FaultCase{"ToItself", et::send(1, 0, 8), "cannot exchange messages with itself", "comm_dst 0"},
        FaultCase{"ToNoRank", et::send(1, 4, 8), "comm_dst is no rank of this trace", "0 to 3"},
        FaultCase{"FromNegativeRank", et::receive(1, -1, 8), "comm_src is no rank of this trace", "-1"},
        FaultCase{"OfAnotherRank", et::send(1, 2, 8, 0, et::integer("comm_src", 3)),
                  "comm_src is not the rank of the file", "3"},
        FaultCase{"SizeNegative", sized(et::number(9, ~std::uint64_t{0})), "comm_size makes no sense", "-1"},
        FaultCase{"SizeTooLarge", sized(et::number(9, 1'000'000'000'000'001)), "comm_size makes no sense",
                  "0 to 1000000000000000 bytes"},
        FaultCase{"SizeBeyondIntegers", sized(et::number(13, ~std::uint64_t{0})),
                  "attribute comm_size is not a whole number", "18446744073709551615"},
        FaultCase{"SizeOfAFraction", sized(et::bits(3, 1.5)), "attribute comm_size is not a whole number", "1.5"},
        FaultCase{"SizeNan", sized(et::bits(3, std::nan(""))), "attribute comm_size is not a whole number", "nan"},
        FaultCase{"SizeInWords", sized(et::bytes(29, "many")), "attribute comm_size is not a whole number", "\"many\""},
        FaultCase{"SizeEmpty", sized(""), "attribute comm_size is not a whole number", "no value"},
        FaultCase{"CollectiveWithoutType", et::node(1, et::kCollective, et::integer("comm_size", 1)),
                  "the attribute comm_type is missing", "ALL_REDUCE"},
        FaultCase{"CollectiveWithoutSize", et::node(1, et::kCollective, et::integer("comm_type", 0)),
                  "the attribute comm_size is missing", "bytes"},
        FaultCase{"Reduce", et::collective(1, 1, 8), "does not model this collective", "comm_type 1"},
        FaultCase{"Gather", et::collective(1, 3, 8), "does not model this collective", "comm_type 3"},
        FaultCase{"Scatter", et::collective(1, 4, 8), "does not model this collective", "BARRIER 9"},
        FaultCase{"UnknownCollective", et::collective(1, 99, 8), "does not model this collective", "comm_type 99"},
        FaultCase{"UnknownGroup", et::collective(1, 0, 8, "nobody"), "pg_name is no process group", "\"nobody\""},
        FaultCase{"GroupOfOthers", et::collective(1, 0, 8, "odd"), "is not a member of process group \"odd\"",
                  "groups.json"},
        FaultCase{"SomeDimensions",
                  et::collective(1, 0, 8, "",
                                 et::attribute("involved_dim", et::bytes(28, et::bytes(1, std::string("\1\0", 2))))),
                  "involved_dim leaves dimensions out", "pg_name"}),
    [](const auto& test) { return test.param.name; });

TEST(ChakraRefusals, SayThatThereIsNoFileOfGroups) {
  EXPECT_THAT(refusal(et::metadata() + et::collective(1, 0, 8, "1")),
              AllOf(HasSubstr("pg_name is no process group"), HasSubstr("there is no such file")));
}

TEST(ChakraRefusals, AnEmptyFileIsNoTrace) {
  EXPECT_THAT(refusal(""), HasSubstr("The trace is empty"));
}

TEST(ChakraRefusals, AFileOfSomethingElseIsNoTrace) {
  EXPECT_THAT(refusal("{\"schema\": \"1.0.2-chakra\"}"), HasSubstr("is cut off"));
  EXPECT_THAT(refusal(std::string(40, '\n')), HasSubstr("does not start with Chakra's metadata"));
  EXPECT_THAT(refusal("\x1f\x8b\x08" + std::string(60, 'x')), HasSubstr("gzip"));
}

TEST(ChakraRefusals, ALengthIsBelievedAsFarAsTheFormatAllows) {
  EXPECT_THAT(refusal(et::varint(std::uint64_t{1} << 40U)), AllOf(HasSubstr("too long"), HasSubstr("1099511627776")));
  EXPECT_THAT(refusal(std::string(11, '\xff')), HasSubstr("has no end"));
  EXPECT_THAT(refusal(et::metadata() + et::varint(kLongestMessage)), HasSubstr("cut off"));
}

// A file that ends where a message ends is shorter, but whole: only there may a cut go unseen.
TEST(ChakraRefusals, AFileCutAnywhereWithinAMessageIsCutOff) {
  const std::string first = et::metadata();
  const std::string second = et::compute(0, 16500);
  const std::string third = et::send(1, 2, 1 << 20, 3, et::after({0}));
  const std::string whole = first + second + third;
  int seen = 0;
  for (std::size_t length = 1; length < whole.size(); ++length) {
    const std::string message = refusal(whole.substr(0, length));
    if (length == first.size() || length == first.size() + second.size()) {
      EXPECT_EQ(message, "");
    } else {
      EXPECT_THAT(message, HasSubstr("cut off at byte " + std::to_string(length))) << length;
      ++seen;
    }
  }
  EXPECT_EQ(seen, static_cast<int>(whole.size()) - 3);
}

TEST(ChakraRefusals, LongCirclesAreNamedInPart) {
  std::string nodes = et::compute(0, 1, et::after({99}));
  for (std::uint64_t id = 1; id < 100; ++id) {
    nodes += et::compute(id, 1, et::after({id - 1}));
  }
  const std::string message = refusal(et::metadata() + nodes);
  EXPECT_THAT(message, AllOf(HasSubstr("in a circle"), HasSubstr("more, the last of which depends on the first")));
  EXPECT_LT(message.size(), 1500U);
}

TEST(ChakraRefusals, PrintNamesWithoutControlCharacters) {
  const std::string message = refusal(et::metadata() + et::collective(0, 0, 8, "\x1b[31mred\n"));
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_THAT(message, HasSubstr("red"));
}

// Groups of wire type 3, one in the other, must not use up the stack.
TEST(ChakraRefusals, DeepGroupsDoNotCrash) {
  const std::string deep(1'000'000, '\x7b');  // field 15, start of a group
  EXPECT_THAT(refusal(et::metadata() + et::delimited(deep)), HasSubstr("is no node of a Chakra trace"));
}

}  // namespace
}  // namespace lamina::chakra
