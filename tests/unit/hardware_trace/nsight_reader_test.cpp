#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "tests/support/paths.hpp"
#include "validate/hardware_trace/nsight.hpp"
#include "validate/hardware_trace/read.hpp"
#include "validate/hardware_trace/summary.hpp"

namespace lamina::validate::hardware_trace {
namespace {

std::filesystem::path seed(const std::string& name) {
  return tests::source_folder() / "tests" / "fuzz" / "corpus" / "nsight" / name;
}

TEST(NsightReader, ReadsKernelsCopiesLaunchesAndRanges) {
  // Two devices: kernels at 10 to 20 (nvjet) and 15 to 30 (NCCL) on device 0; a copy at 1 to 2 on device 1; a memset
  // without device. The session starts at 1,780,000,000 s.
  const std::vector<RankTrace> traces = read_file(seed("good_everything"));
  ASSERT_EQ(traces.size(), 3U);
  const auto device = [&](int number) -> const RankTrace& {
    for (const RankTrace& trace : traces) {
      if (trace.device == number) {
        return trace;
      }
    }
    throw error::InternalError("no such device");
  };
  const RankTrace& trace = device(0);
  EXPECT_EQ(trace.format, Format::kNsight);
  EXPECT_EQ(trace.device_name, "H200");
  ASSERT_EQ(trace.events.size(), 2U);
  EXPECT_EQ(trace.events[0].start_ns, 1'780'000'000'000'000'010);
  EXPECT_EQ(trace.events[0].kind, EventClass::kGemm);
  EXPECT_EQ(trace.events[1].kind, EventClass::kCommunication);
  ASSERT_EQ(trace.actions.size(), 1U);
  EXPECT_EQ(trace.events[0].action, 0);  // launched at 1, within PP:0F0 of 0 to 5
  EXPECT_EQ(trace.events[1].action, -1);
  ASSERT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(trace.steps[0].number, 1);
  EXPECT_EQ(device(1).events[0].kind, EventClass::kCopyToHost);
  const RankSummary summary = summarise(trace);
  EXPECT_NEAR(summary.span_s, 20e-9, 1e-15);
  EXPECT_NEAR(summary.exposed_s, 10e-9, 1e-15);  // 20 to 30
}

TEST(NsightReader, LivesWithoutTablesThatWereNotMade) {
  const std::vector<RankTrace> traces = read_file(seed("good_kernels"));
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_EQ(traces[0].events[0].start_ns, 10);
  EXPECT_TRUE(traces[0].actions.empty());
}

TEST(NsightReader, NamesTableAndRowOfAFault) {
  try {
    (void)read_file(seed("bad_reversed"));
    FAIL();
  } catch (const error::ScenarioError& refused) {
    EXPECT_NE(refused.fault().problem.find("table CUPTI_ACTIVITY_KIND_KERNEL, row 1"), std::string::npos)
        << refused.what();
  }
}

}  // namespace
}  // namespace lamina::validate::hardware_trace
