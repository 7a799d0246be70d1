#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/trace/events.hpp"
#include "tests/unit/trace/synthetic.hpp"

namespace lamina::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kLine = "1,2,9,7,forward-compute,0.5,0.25,3,0,3,2\n";

/// Message of the ScenarioError.
std::string refusal(const std::string& text) {
  try {
    (void)read_events(text, "job.csv");
  } catch (const error::ScenarioError& fault) {
    return fault.what();
  }
  return "accepted";
}

TEST(TraceEvents, AreReadFromColumnsByName) {
  const auto events = read_events(
      "mb_id,duration,start_ts,optype,step,stage,dp_rank,more\n"
      "3,0.25,0.5,backward-compute,7,2,1,x\n",
      "job.csv");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, EventKind::kBackward);
  EXPECT_EQ(events[0].step, 7);
  EXPECT_EQ(events[0].replica, 1);
  EXPECT_EQ(events[0].rank, 2);
  EXPECT_EQ(events[0].micro_batch, 3);
  EXPECT_EQ(events[0].chunk, 0);
  EXPECT_DOUBLE_EQ(events[0].start_s, 0.5);
  EXPECT_DOUBLE_EQ(events[0].duration_s, 0.25);
}

TEST(TraceEvents, OfATimelineTakeRanksFromNamesAndMicroseconds) {
  const auto events = read_events(
      "dp_pid,process_name,tid,thread_name,step,op,model_chunk,mb_id,seq_id,start_us,dur_us\n"
      "0,DP rank [12],0,\"PP rank 3, TP rank 1, pp-comm\",16,forward-send,-1,-1,4,1500000,250\n",
      "job.csv");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, EventKind::kForwardSend);
  EXPECT_EQ(events[0].replica, 12);
  EXPECT_EQ(events[0].rank, 3);
  EXPECT_EQ(events[0].sequence, 4);
  EXPECT_DOUBLE_EQ(events[0].start_s, 1.5);
  EXPECT_DOUBLE_EQ(events[0].duration_s, 250e-6);
}

TEST(TraceEvents, JoinedMessagesAreEachOfThem) {
  const auto events =
      read_events(testing::kHeader + std::string("0,1,1,7,forward-send-backward-recv,1,2,0,-1,-1,-1\n"), "job.csv");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, EventKind::kForwardSend);
  EXPECT_EQ(events[1].kind, EventKind::kBackwardReceive);
}

TEST(TraceEvents, OutsideThePipelineAreLeftOut) {
  EXPECT_EQ(read_events(testing::kHeader + kLine + "1,2,9,7,optimizer,5,1,0,-1,-1,-1\n", "job.csv").size(), 1U);
}

TEST(TraceEvents, TakeWindowsLinesWholeNumbersWithPointsAndEmptyFields) {
  const auto events =
      read_events("\xEF\xBB\xBF# recorded by somebody\r\n" + std::string(testing::kHeader).substr(0, 70) +
                      "\r\n\r\n1.0,2.0,9,7.0,forward-compute,0.5,0.25,,,3.0,2\r\n",
                  "job.csv");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].micro_batch, 3);
  EXPECT_EQ(events[0].sequence, -1);
}

TEST(TraceEvents, RefuseAFileThatIsNoTrace) {
  EXPECT_THAT(refusal("a,b\n1,2\n"), AllOf(HasSubstr("job.csv:1:1"), HasSubstr("no column"), HasSubstr("dp_rank")));
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal(testing::kHeader), HasSubstr("no event"));
  EXPECT_THAT(refusal("dp_rank,stage,rank,step,optype,start_ts,seq_id,mc,mb_id,gmc\n" + kLine),
              HasSubstr("no column duration"));
}

TEST(TraceEvents, RefuseWhatIsNoNumberWithItsPlace) {
  const auto with = [](const std::string& line) { return refusal(testing::kHeader + kLine + line + "\n"); };
  EXPECT_THAT(with("1,2,9,7,forward-compute,soon,0.25,3,0,4,2"),
              AllOf(HasSubstr("job.csv:3:25"), HasSubstr("start_ts"), HasSubstr("\"soon\"")));
  EXPECT_THAT(with("1,2,9,7,forward-compute,0.5,-0.25,3,0,4,2"), HasSubstr("not negative"));
  EXPECT_THAT(with("1,2,9,7,forward-compute,nan,0.25,3,0,4,2"), HasSubstr("finite"));
  EXPECT_THAT(with("1,2,9,7,forward-compute,1e400,0.25,3,0,4,2"), HasSubstr("finite"));
  EXPECT_THAT(with("1,-2,9,7,forward-compute,0.5,0.25,3,0,4,2"), HasSubstr("from 0 to 65535"));
  EXPECT_THAT(with("1,2,9,7.5,forward-compute,0.5,0.25,3,0,4,2"), HasSubstr("whole number"));
  EXPECT_THAT(with("1,2,9,7,forward-compute,0.5,0.25,3,0,,2"), HasSubstr("mb_id"));
  EXPECT_THAT(with("1,2,9,7,forward-compute,0.5"), AllOf(HasSubstr("6 fields"), HasSubstr("11")));
  EXPECT_THAT(with("1,2,9,7,\"forward-compute,0.5,0.25,3,0,4,2"), HasSubstr("quoted"));
}

TEST(TraceEvents, RefuseATimelineNameWithoutRank) {
  EXPECT_THAT(refusal("process_name,thread_name,step,op,start_us,dur_us,mb_id\n"
                      "DP rank [x],PP rank 0,1,forward-compute,0,1,0\n"),
              AllOf(HasSubstr("job.csv:2:1"), HasSubstr("DP rank")));
}

}  // namespace
}  // namespace lamina::trace
