#include "validate/hardware_trace/clocks.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "validate/hardware_trace/classify.hpp"
#include "validate/hardware_trace/instances.hpp"
#include "validate/hardware_trace/intervals.hpp"
#include "validate/hardware_trace/numbers.hpp"

namespace lamina::validate::hardware_trace {
namespace {

RankTrace rank(int number) {
  RankTrace trace;
  trace.rank = number;
  trace.names = {"nccl", "group"};
  return trace;
}

void add(RankTrace& trace, CollectiveName name, std::int64_t start_ns, std::int64_t end_ns, int peer = -1,
         std::int64_t sequence = -1) {
  Event event;
  event.start_ns = start_ns;
  event.duration_ns = end_ns - start_ns;
  event.name = 0;
  event.kind = EventClass::kCommunication;
  event.detail = static_cast<std::int32_t>(trace.communications.size());
  trace.events.push_back(event);
  Communication detail;
  detail.name = name;
  detail.group = 1;
  detail.peer = peer;
  detail.sequence = sequence;
  trace.communications.push_back(detail);
}

TEST(Clocks, OffsetIsHalfTheDifferenceOfTheFastestMessages) {
  // Rank 1 is 1000 ns ahead. Messages take at least 40 ns forth and 60 ns back, so the estimate is 10 ns short:
  // ((40 + 1000) - (60 - 1000)) / 2 = 990, and its bound ((40 + 1000) + (60 - 1000)) / 2 = 50.
  std::vector<RankTrace> traces = {rank(0), rank(1)};
  add(traces[0], CollectiveName::kSend, 0, 40, 1);
  add(traces[1], CollectiveName::kReceive, 1000, 1000 + 40, 0);
  add(traces[0], CollectiveName::kSend, 200, 300, 1);
  add(traces[1], CollectiveName::kReceive, 1200, 1200 + 100, 0);
  add(traces[1], CollectiveName::kSend, 1500, 1560, 0);
  add(traces[0], CollectiveName::kReceive, 500, 560, 1);
  const Matched matched = match_instances(traces);
  EXPECT_EQ(matched.instances.size(), 3U);
  EXPECT_EQ(matched.alone, 0);
  std::vector<ClockOffset> offsets = estimate_offsets(traces, matched);
  EXPECT_EQ(offsets[0].offset_ns, 0);
  EXPECT_EQ(offsets[1].offset_ns, 990);
  EXPECT_EQ(offsets[1].bound_ns, 50);
  align(traces, offsets);
  EXPECT_TRUE(offsets[1].corrected);
  EXPECT_EQ(traces[1].events[0].start_ns, 10);
}

TEST(Clocks, CollectivesEndAtOneTime) {
  // Three ranks, offsets 0, +700 and -300; ends jitter by at most 4 ns.
  std::vector<RankTrace> traces = {rank(0), rank(1), rank(2)};
  const std::int64_t offsets[] = {0, 700, -300};
  const std::int64_t jitter[][3] = {{0, 1, -2}, {0, 0, 0}, {0, -4, 1}};
  for (int k = 0; k < 3; ++k) {
    for (int r = 0; r < 3; ++r) {
      const std::int64_t end = 1000 * (k + 1) + offsets[r] + jitter[k][r];
      add(traces[static_cast<std::size_t>(r)], CollectiveName::kAllReduce, end - 100 * (r + 1), end);
    }
  }
  const auto estimated = estimate_offsets(traces, match_instances(traces));
  EXPECT_EQ(estimated[1].offset_ns, 700);
  EXPECT_EQ(estimated[2].offset_ns, -300);
  EXPECT_LE(estimated[1].bound_ns, 4);
}

TEST(Clocks, OffsetsBelowTheirBoundAreLeftAlone) {
  std::vector<RankTrace> traces = {rank(0), rank(1)};
  add(traces[0], CollectiveName::kSend, 0, 40, 1);
  add(traces[1], CollectiveName::kReceive, 0, 50, 0);
  add(traces[1], CollectiveName::kSend, 100, 140, 0);
  add(traces[0], CollectiveName::kReceive, 100, 140, 1);
  std::vector<ClockOffset> offsets = estimate_offsets(traces, match_instances(traces));
  align(traces, offsets);
  EXPECT_EQ(offsets[1].offset_ns, 5);
  EXPECT_FALSE(offsets[1].corrected);
  EXPECT_EQ(traces[1].events[0].start_ns, 0);
}

TEST(Clocks, RanksThatShareNothingAreNotJoined) {
  std::vector<RankTrace> traces = {rank(0), rank(1)};
  add(traces[0], CollectiveName::kSend, 0, 40, 5);
  const Matched matched = match_instances(traces);
  EXPECT_EQ(matched.alone, 1);
  EXPECT_LT(estimate_offsets(traces, matched)[1].bound_ns, 0);
}

TEST(Waiting, TransferIsFromTheLatestStartToTheCommonEnd) {
  std::vector<RankTrace> traces = {rank(0), rank(1)};
  add(traces[0], CollectiveName::kAllGather, 0, 500);
  add(traces[1], CollectiveName::kAllGather, 400, 500);  // late: rank 0 waits 400 of its 500 ns
  const auto rows = waiting_rows(traces, match_instances(traces));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].name, "all_gather");
  EXPECT_NEAR(rows[0].transfer_s, 100e-9, 1e-15);
  EXPECT_NEAR(rows[0].waiting_s, 200e-9, 1e-15);  // mean of 400 and 0
  EXPECT_NEAR(rows[0].most_waiting_s, 400e-9, 1e-15);
}

TEST(Instances, SequenceNumbersBringTogetherWhatOrderWouldNot) {
  // Rank 1 did not record the first collective.
  std::vector<RankTrace> traces = {rank(0), rank(1)};
  add(traces[0], CollectiveName::kAllReduce, 0, 10, -1, 1);
  add(traces[0], CollectiveName::kAllReduce, 20, 30, -1, 2);
  add(traces[1], CollectiveName::kAllReduce, 22, 30, -1, 2);
  const Matched matched = match_instances(traces);
  ASSERT_EQ(matched.instances.size(), 1U);
  EXPECT_EQ(matched.instances[0].parts[0].event, 1U);
  EXPECT_EQ(matched.alone, 1);
}

TEST(Instances, UnevenNumbersWithoutSequenceAreSaidNotGuessed) {
  std::vector<RankTrace> traces = {rank(0), rank(1)};
  add(traces[0], CollectiveName::kAllReduce, 0, 10);
  add(traces[0], CollectiveName::kAllReduce, 20, 30);
  add(traces[1], CollectiveName::kAllReduce, 22, 30);
  const Matched matched = match_instances(traces);
  EXPECT_TRUE(matched.instances.empty());
  ASSERT_EQ(matched.uneven.size(), 1U);
  EXPECT_EQ(matched.uneven[0], "all_reduce of group group");
}

TEST(Intervals, UnionAndOverlapByHand) {
  const auto a = united({{5, 9}, {0, 3}, {2, 4}, {7, 7}});
  EXPECT_EQ(a, (std::vector<Interval>{{0, 4}, {5, 9}}));
  EXPECT_EQ(length(a), 8);
  EXPECT_EQ(common_length(a, {{3, 6}, {8, 20}}), 1 + 1 + 1);
}

TEST(ScaledDecimal, IsExactAndRefusesTheRest) {
  EXPECT_EQ(scaled_decimal("1669783687929439.123", 3), 1669783687929439123);
  EXPECT_EQ(scaled_decimal("0.0009", 3), 0);
  EXPECT_EQ(scaled_decimal("-12.5", 3), -12500);
  EXPECT_EQ(scaled_decimal("1.5e3", 0), 1500);
  EXPECT_EQ(scaled_decimal("12e-1", 1), 12);
  EXPECT_EQ(scaled_decimal("9223372036854775807", 0), 9223372036854775807);
  for (const char* text : {"9223372036854775808", "1e19", "NaN", "Infinity", "", "-", ".", "1.2.3", "1e", "0x10"}) {
    EXPECT_FALSE(scaled_decimal(text, 0).has_value()) << text;
  }
  EXPECT_EQ(scaled_decimal("0e999999", 3), 0);
}

TEST(Classify, NamesOfKernelsCollectivesAndActions) {
  EXPECT_EQ(class_of_kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"), EventClass::kCommunication);
  EXPECT_EQ(class_of_kernel("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT"), EventClass::kGemm);
  EXPECT_EQ(class_of_kernel("void pytorch_flash::flash_fwd_kernel<...>"), EventClass::kAttention);
  EXPECT_EQ(class_of_kernel("void at::native::vectorized_elementwise_kernel<4>"), EventClass::kMemoryBound);
  EXPECT_EQ(class_of_kernel("somebody_s_kernel"), EventClass::kOtherKernel);
  EXPECT_EQ(collective_of("ncclKernel_ReduceScatter_RING_LL_Sum_half"), CollectiveName::kReduceScatter);
  EXPECT_EQ(collective_of("_reduce_scatter_base"), CollectiveName::kReduceScatter);
  EXPECT_EQ(collective_of("allreduce"), CollectiveName::kAllReduce);
  EXPECT_EQ(collective_of("all_to_allv"), CollectiveName::kAllToAll);
  EXPECT_EQ(collective_of("recv"), CollectiveName::kReceive);
  Action action;
  EXPECT_TRUE(parse_action("PP:12W7", action));
  EXPECT_EQ(action.kind, 'W');
  EXPECT_EQ(action.stage, 12);
  EXPECT_EQ(action.micro_batch, 7);
  EXPECT_TRUE(parse_action("PP:3UNSHARD", action));
  EXPECT_EQ(action.kind, '?');
  EXPECT_TRUE(parse_action("Backward 2", action));
  EXPECT_EQ(action.kind, 'B');
  EXPECT_FALSE(parse_action("Forward pass", action));
  EXPECT_FALSE(parse_action("Optimizer.step#Adam.step", action));
  EXPECT_EQ(step_number("ProfilerStep#551"), 551);
  EXPECT_EQ(step_number("ProfilerStep#x"), -1);
}

}  // namespace
}  // namespace lamina::validate::hardware_trace
