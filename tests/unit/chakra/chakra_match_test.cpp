// Which nodes of different ranks belong together, and whether they ever come together.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/chakra/match.hpp"
#include "sim/error/error.hpp"
#include "tests/support/chakra_bytes.hpp"

namespace lamina::chakra {
namespace {

namespace et = tests::et;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// What is refused; "" when the trace can run.
std::string refusal(const std::vector<std::string>& nodes, const std::string& groups = "") {
  const Trace trace = et::trace(nodes, groups);
  try {
    check_progress(trace, match(trace));
  } catch (const error::ScenarioError& refused) {
    return refused.what();
  }
  return "";
}

TEST(ChakraMatching, TheKthSendMeetsTheKthReceiveOfItsTag) {
  const Trace trace = et::trace({et::send(0, 1, 8, 1) + et::send(1, 1, 8, 2) + et::send(2, 1, 8, 1),
                                 et::receive(0, 0, 8, 2) + et::receive(1, 0, 8, 1) + et::receive(2, 0, 8, 1)});
  const Matching matching = match(trace);
  const auto other_end = [&](std::size_t node) { return matching.next[matching.number(0, node)]; };
  EXPECT_EQ(other_end(0), matching.number(1, 1));
  EXPECT_EQ(other_end(1), matching.number(1, 0));
  EXPECT_EQ(other_end(2), matching.number(1, 2));
  EXPECT_EQ(matching.next[matching.number(1, 1)], matching.number(0, 0));
}

TEST(ChakraMatching, MembersOfAGroupMeetInTheirKthCollective) {
  const std::string both = et::collective(0, 0, 8, "a") + et::collective(1, 0, 16, "a");
  const Trace trace = et::trace({both, "", et::compute(5, 1) + both, both}, R"({"a": [0, 2, 3]})");
  const Matching matching = match(trace);
  // Second of rank 0, of rank 2, of rank 3, and back. Nodes 0 and 1 of rank 2 come before its compute.
  EXPECT_EQ(matching.next[matching.number(0, 1)], matching.number(2, 1));
  EXPECT_EQ(matching.next[matching.number(2, 1)], matching.number(3, 1));
  EXPECT_EQ(matching.next[matching.number(3, 1)], matching.number(0, 1));
  EXPECT_EQ(matching.next[matching.number(2, 2)], matching.number(2, 2));
  EXPECT_EQ(matching.rank_of(matching.number(2, 0)), 2U);
}

TEST(ChakraMatching, AMessageWithoutItsOtherEndIsRefused) {
  EXPECT_THAT(refusal({et::send(7, 1, 8), et::compute(0, 1)}),
              AllOf(HasSubstr("step.0.et"), HasSubstr("has no other end"), HasSubstr("rank 0, node 7"),
                    HasSubstr("no receive for it in step.1.et")));
  EXPECT_THAT(refusal({"", et::receive(7, 0, 8, 3)}),
              AllOf(HasSubstr("step.1.et"), HasSubstr("rank 1, node 7"), HasSubstr("with tag 3"),
                    HasSubstr("no send for it in step.0.et")));
}

TEST(ChakraMatching, AnotherTagIsNamed) {
  EXPECT_THAT(refusal({et::send(0, 1, 8, 1), et::receive(4, 0, 8, 2)}),
              AllOf(HasSubstr("with tag 1"), HasSubstr("rank 1, node 4 (\"n4\") there has tag 2")));
  EXPECT_THAT(refusal({et::send(0, 1, 8) + et::send(1, 1, 8), et::receive(0, 0, 8)}),
              HasSubstr("which has only 1 of that tag"));
}

TEST(ChakraMatching, EndsOfDifferentSizesAreRefused) {
  EXPECT_THAT(refusal({et::send(0, 1, 8), et::receive(0, 0, 9)}),
              AllOf(HasSubstr("differ in size"), HasSubstr("sends 8 bytes"), HasSubstr("receives 9 bytes")));
}

TEST(ChakraMatching, AMemberThatSkipsACollectiveIsRefused) {
  const std::string twice = et::collective(0, 0, 8, "a") + et::collective(1, 0, 8, "a");
  EXPECT_THAT(refusal({twice, et::collective(0, 0, 8, "a")}, R"({"a": [0, 1]})"),
              AllOf(HasSubstr("step.1.et"), HasSubstr("Rank 1 skips a collective of process group \"a\""),
                    HasSubstr("1 of 2"), HasSubstr("rank 0, node 1")));
  EXPECT_THAT(refusal({et::collective(0, 0, 8), "", et::collective(0, 0, 8)}),
              AllOf(HasSubstr("Rank 1 skips a collective of all ranks"), HasSubstr("0 of 1")));
}

TEST(ChakraMatching, AMemberThatRunsAnotherCollectiveIsRefused) {
  EXPECT_THAT(refusal({et::collective(0, 0, 8), et::collective(0, 7, 8)}),
              AllOf(HasSubstr("Members disagree on collective 1 of all ranks"), HasSubstr("all-reduce"),
                    HasSubstr("reduce-scatter")));
  EXPECT_THAT(refusal({et::collective(0, 0, 8), et::collective(0, 0, 16)}), HasSubstr("of 16 bytes"));
}

TEST(ChakraMatching, AGroupOfOneNeedsNobody) {
  EXPECT_EQ(refusal({et::collective(0, 0, 8, "a"), ""}, R"({"a": [0]})"), "");
}

TEST(ChakraProgress, RanksThatWaitForEachOtherAreRefused) {
  // Each sends only after it has received.
  const std::string message = refusal({et::receive(0, 1, 8) + et::send(1, 1, 8, 0, et::after({0})),
                                       et::receive(0, 0, 8) + et::send(1, 0, 8, 0, et::after({0}))});
  EXPECT_THAT(message, AllOf(HasSubstr("wait for each other in a circle"), HasSubstr("rank 0, node 1"),
                             HasSubstr("rank 1, node 1"), HasSubstr("starts together with")));
}

TEST(ChakraProgress, MessagesThatCrossAreFine) {
  EXPECT_EQ(refusal({et::receive(0, 1, 8) + et::send(1, 1, 8), et::receive(0, 0, 8) + et::send(1, 0, 8)}), "");
}

TEST(ChakraProgress, CollectivesInOppositeOrderAreRefused) {
  const std::string groups = R"({"a": [0, 1], "b": [0, 1]})";
  const auto one_then_other = [](const std::string& first, const std::string& second) {
    return et::collective(0, 0, 8, first) + et::collective(1, 0, 8, second, et::after({0}));
  };
  EXPECT_EQ(refusal({one_then_other("a", "b"), one_then_other("a", "b")}, groups), "");
  EXPECT_THAT(refusal({one_then_other("a", "b"), one_then_other("b", "a")}, groups),
              HasSubstr("wait for each other in a circle"));
}

// Compute runs one at a time, lowest id first: the receive that node 0 of rank 0 waits for is sent after rank 1 has
// received what rank 0 sends only after node 1.
TEST(ChakraProgress, TheOrderOfComputeCounts) {
  const std::string first = et::receive(5, 1, 8) + et::compute(0, 1, et::after({5})) + et::compute(1, 1) +
                            et::send(6, 1, 8, 0, et::after({1}));
  const std::string second = et::receive(0, 0, 8) + et::send(1, 0, 8, 0, et::after({0}));
  EXPECT_EQ(refusal({first, second}), "");  // node 1 comes first: node 0 must follow node 5
  const std::string chained = et::receive(0, 1, 8) + et::compute(1, 1, et::after({0})) + et::compute(2, 1) +
                              et::send(6, 1, 8, 0, et::after({2}));
  EXPECT_THAT(refusal({chained, second}), AllOf(HasSubstr("in a circle"), HasSubstr("rank 0, node 2")));
}

TEST(ChakraProgress, LongCirclesAreNamedInPart) {
  std::vector<std::string> ranks;
  constexpr int kRanks = 100;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.push_back(et::receive(0, (rank + kRanks - 1) % kRanks, 8) +
                    et::send(1, (rank + 1) % kRanks, 8, 0, et::after({0})));
  }
  const std::string message = refusal(ranks);
  EXPECT_THAT(message, AllOf(HasSubstr("in a circle"), HasSubstr("more")));
  EXPECT_LT(message.size(), 4000U);
}

}  // namespace
}  // namespace lamina::chakra
