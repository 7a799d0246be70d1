#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "schedules/schedule.hpp"
#include "sim/catalog/likely_name.hpp"

namespace lamina::schedules {
namespace {

std::vector<std::string> our_names() {
  std::vector<std::string> names;
  for (const auto& plugin : builtin_schedules().infos()) {
    names.push_back(plugin.name);
  }
  return names;
}

TEST(ScheduleNames, AreSuggestedForThoseOfPyTorchMegatronAndThePapers) {
  const auto names = our_names();
  EXPECT_EQ(catalog::likely_name("1f1b", names), "one_forward_one_backward");
  EXPECT_EQ(catalog::likely_name("1F1B", names), "one_forward_one_backward");
  EXPECT_EQ(catalog::likely_name("ZB-H1", names), "zero_bubble_h1");
  EXPECT_EQ(catalog::likely_name("zbh1", names), "zero_bubble_h1");
  EXPECT_EQ(catalog::likely_name("zbv", names), "zero_bubble_v");
  EXPECT_EQ(catalog::likely_name("ScheduleZBVZeroBubble", names), "zero_bubble_v");
  EXPECT_EQ(catalog::likely_name("looped_bfs", names), "layered_modular");
  EXPECT_EQ(catalog::likely_name("ScheduleLoopedBFS", names), "layered_modular");
  EXPECT_EQ(catalog::likely_name("interleaved_1f1b", names), "interleaved");
  EXPECT_EQ(catalog::likely_name("ScheduleInterleavedZeroBubble", names), "interleaved_zero_bubble");
  EXPECT_EQ(catalog::likely_name("ScheduleGPipe", names), "gpipe");
  EXPECT_EQ(catalog::likely_name("DualPipe", names), "dual_pipe");
  EXPECT_EQ(catalog::likely_name("dualpipev", names), "dual_pipe_v");
}

TEST(ScheduleNames, AreSuggestedBySpellingToo) {
  EXPECT_EQ(catalog::likely_name("hybird", our_names()), "hybrid");
  EXPECT_EQ(catalog::likely_name("quantum", our_names()), "");
  EXPECT_EQ(catalog::likely_name(std::string(100'000, 'x'), our_names()), "");
}

TEST(ScheduleNames, OfOtherToolsMeanSchedulesThatExist) {
  const auto names = our_names();
  const std::set<std::string> levels = {"none", "optimizer", "gradients", "full"};
  for (const catalog::Synonym& synonym : catalog::synonyms()) {
    EXPECT_TRUE(levels.contains(std::string(synonym.ours)) ||
                std::find(names.begin(), names.end(), synonym.ours) != names.end())
        << synonym.ours;
  }
}

}  // namespace
}  // namespace lamina::schedules
