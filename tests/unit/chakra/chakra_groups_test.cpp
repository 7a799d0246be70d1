// comm_groups.json: {"name": [ranks], ...}.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/chakra/trace.hpp"
#include "sim/error/error.hpp"

namespace lamina::chakra {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ChakraGroups, TheFirstIsAllRanksAndTheOthersAreSorted) {
  const Groups groups = read_groups(R"({"1": [3, 0], "dp": [2]})", "comm_groups.json", 4);
  ASSERT_EQ(groups.all.size(), 3U);
  EXPECT_THAT(groups.all[0].members, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(groups.all[0].name, "");
  EXPECT_THAT(groups.all.at(static_cast<std::size_t>(groups.by_name.at("1"))).members, ElementsAre(0, 3));
  EXPECT_THAT(groups.all.at(static_cast<std::size_t>(groups.by_name.at("dp"))).members, ElementsAre(2));
  EXPECT_TRUE(groups.file_found);
}

TEST(ChakraGroups, NoGroupsAreFine) {
  EXPECT_EQ(read_groups("{}", "comm_groups.json", 2).all.size(), 1U);
}

struct GroupFault {
  std::string name;
  std::string text;
  std::string message;
};

class FaultyGroups : public testing::TestWithParam<GroupFault> {};

TEST_P(FaultyGroups, AreRefused) {
  try {
    (void)read_groups(GetParam().text, "some/comm_groups.json", 4);
    ADD_FAILURE() << "accepted";
  } catch (const error::ScenarioError& refused) {
    EXPECT_THAT(refused.what(), AllOf(HasSubstr("some/comm_groups.json"), HasSubstr(GetParam().message)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Files, FaultyGroups,
    testing::Values(GroupFault{"Empty", "", "is empty"}, GroupFault{"NoJson", "{\"1\": [0,", "is no JSON"},
                    GroupFault{"Binary", std::string("\0\xff\x1f\x8b", 4), "is no JSON"},
                    GroupFault{"List", "[[0, 1]]", "is no mapping"}, GroupFault{"Number", "7", "is no mapping"},
                    GroupFault{"NoList", R"({"1": 0})", "Process group \"1\" is no list of ranks"},
                    GroupFault{"EmptyList", R"({"1": []})", "an empty list"},
                    GroupFault{"Word", R"({"1": ["0"]})", "has a member that is no rank"},
                    GroupFault{"Fraction", R"({"1": [0.5]})", "has a member that is no rank"},
                    GroupFault{"Negative", R"({"1": [-1]})", "-1"},
                    GroupFault{"TooLarge", R"({"1": [0, 4]})", "0 to 3"},
                    GroupFault{"Huge", R"({"1": [18446744073709551615]})", "18446744073709551615"},
                    GroupFault{"HugeNumber", R"({"1": [1e999]})", "is no JSON"},
                    GroupFault{"RankTwice", R"({"1": [2, 0, 2]})", "has rank 2 twice"},
                    GroupFault{"NameTwice", R"({"1": [0], "2": [1], "1": [2]})", "\"1\" is there twice"},
                    GroupFault{"NoName", R"({"": [0]})", "empty name"},
                    GroupFault{"Nested", R"({"1": [[0]]})", "has a member that is no rank"},
                    GroupFault{"Deep", std::string(100'000, '['), "is no JSON"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace lamina::chakra
