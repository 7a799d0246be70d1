#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "tests/support/paths.hpp"
#include "tests/unit/hardware_trace/kineto_text.hpp"
#include "validate/hardware_trace/summary.hpp"

namespace lamina::validate::hardware_trace {
namespace {

using testing::event;
using ::testing::HasSubstr;
using testing::kineto;
using testing::read_text;

std::string refusal(const std::string& text) {
  try {
    (void)read_text(text);
  } catch (const error::ScenarioError& refused) {
    return refused.what();
  }
  return "accepted";
}

TEST(KinetoReader, KeepsNanosecondsOfDatesThatADoubleCannotHold) {
  const RankTrace trace = read_text(kineto({event("kernel", "gemm", "1669783687929439.123", "0.007")}));
  ASSERT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(trace.events[0].start_ns,
            1'669'783'687'929'439'123);  // 61 bits; a double would give ...439.0 us or ...439.25
  EXPECT_EQ(trace.events[0].duration_ns, 7);
}

TEST(KinetoReader, AddsTheBaseTimeWhereverItStands) {
  const std::string kernel = event("kernel", "gemm", "5.5", "1");
  EXPECT_EQ(read_text(kineto({kernel}, R"("baseTimeNanoseconds": 1711964646000000000,)")).events[0].start_ns,
            1'711'964'646'000'005'500);
  const std::string after = R"({"traceEvents": [)" + kernel + R"(], "baseTimeNanoseconds": 1711964646000000000})";
  EXPECT_EQ(read_text(after).events[0].start_ns, 1'711'964'646'000'005'500);
}

TEST(KinetoReader, FindsTheJobAndTheDevice) {
  const RankTrace trace = read_text(kineto({event("kernel", "gemm", "1", "1", R"("device": 1, "stream": 7)")},
                                           R"("deviceProperties": [{"id": 0, "name": "A"}, {"id": 1, "name": "B"}],
      "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"rank": 77}]},)"));
  EXPECT_EQ(trace.rank, 3);
  EXPECT_EQ(trace.world_size, 8);
  EXPECT_EQ(trace.backend, "nccl");
  EXPECT_EQ(trace.device_name, "B");
  EXPECT_EQ(trace.events[0].stream, 7);
}

TEST(KinetoReader, FindsCollectivesInTheirThreePlaces) {
  const std::string details =
      R"("Collective name": "_allgather_base", "In msg nelems": 100, "Out msg nelems": 800, "dtype": "BFloat16",
         "Group size": 8, "Process Group Name": "5", "Seq": 12, )";
  const RankTrace trace =
      read_text(kineto({event("kernel", "ncclDevKernel_AllGather_RING_LL", "1", "1", details + R"("External id": 1)"),
                        event("kernel", "ncclKernel_AllGather_RING_LL", "2", "1", R"("External id": 40)"),
                        event("cpu_op", "record_param_comms", "0", "1", details + R"("External id": 40)"),
                        event("kernel", "ncclKernel_AllReduce_RING_LL_Sum_float", "3", "1", R"("External id": 41)")}));
  ASSERT_EQ(trace.events.size(), 3U);
  const auto detail = [&](std::size_t i) {
    return trace.communications.at(static_cast<std::size_t>(trace.events[i].detail));
  };
  EXPECT_EQ(detail(0).source, DetailSource::kKernel);
  EXPECT_EQ(detail(1).source, DetailSource::kCpuOperation);
  EXPECT_EQ(detail(2).source, DetailSource::kName);
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(detail(i).name, CollectiveName::kAllGather);
    EXPECT_EQ(detail(i).bytes, 1600);  // 800 elements of two bytes
    EXPECT_EQ(detail(i).group_size, 8);
    EXPECT_EQ(detail(i).sequence, 12);
    EXPECT_EQ(trace.name_of(detail(i).group), "5");
  }
  EXPECT_EQ(detail(2).name, CollectiveName::kAllReduce);
  EXPECT_EQ(detail(2).bytes, 0);
}

TEST(KinetoReader, AssignsKernelsToWhatLaunchedThem) {
  // The device runs late: the kernel of micro-batch 3 starts when the host announces micro-batch 4.
  const RankTrace trace =
      read_text(kineto({event("user_annotation", "ProfilerStep#7", "0", "100"),
                        event("user_annotation", "PP:1F3", "10", "10"), event("user_annotation", "PP:1B0", "20", "10"),
                        event("cuda_runtime", "cudaLaunchKernel", "15", "1", R"("correlation": 9)"),
                        event("kernel", "gemm", "25", "4", R"("correlation": 9)"),
                        event("kernel", "elementwise", "27", "1", R"("correlation": 10)")}));
  ASSERT_EQ(trace.actions.size(), 2U);
  EXPECT_EQ(trace.actions[0].kind, 'F');
  EXPECT_EQ(trace.actions[0].stage, 1);
  EXPECT_EQ(trace.actions[0].micro_batch, 3);
  EXPECT_EQ(trace.events[0].action, 0);
  EXPECT_EQ(trace.events[1].action, 1);  // no launch in the trace: its own start counts
  ASSERT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(trace.steps[0].number, 7);
  EXPECT_EQ(trace.events[0].step, 0);
}

TEST(KinetoReader, TakesAnArrayWithoutObjectAroundIt) {
  EXPECT_EQ(read_text("[" + event("Kernel", "gemm", "1", "2") + "]").events.size(), 1U);
}

TEST(KinetoReader, PassesOverWhatItDoesNotKnow) {
  const RankTrace trace = read_text(
      kineto({R"({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x", "labels": [1, {"a": []}]}})",
              R"({"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 2,
                  "args": {"blocks per SM": NaN, "grid": [1, 2, 3], "stream": "7", "shape": {"stream": 9}}})"},
             R"("schemaVersion": 1, "x": {"traceEvents": 3},)"));
  ASSERT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(trace.events[0].stream, 7);
  EXPECT_EQ(trace.records, 2);
}

TEST(KinetoReader, RefusesWithFileAndByte) {
  const std::string good = kineto({event("kernel", "gemm", "1", "2")});
  EXPECT_THAT(refusal(good.substr(0, good.size() / 2)), AllOf(HasSubstr("trace.json"), HasSubstr("(byte ")));
  EXPECT_THAT(refusal(kineto({event("kernel", "gemm", "1", "-2")})), HasSubstr("\"dur\""));
  EXPECT_THAT(refusal(kineto({event("kernel", "gemm", "NaN", "2")})), HasSubstr("\"ts\""));
  EXPECT_THAT(refusal(kineto({event("kernel", "gemm", "1e300", "2")})), HasSubstr("\"ts\""));
  EXPECT_THAT(refusal(kineto({event("kernel", "gemm", "[1]", "2")})), HasSubstr("missing"));
  EXPECT_THAT(refusal(kineto({event("cpu_op", "aten::mm", "1", "2")})), HasSubstr("no kernels"));
  EXPECT_THAT(refusal(R"({"baseTimeNanoseconds": 1e30, "traceEvents": []})"), HasSubstr("baseTimeNanoseconds"));
  EXPECT_THAT(refusal(std::string(100000, '[')), HasSubstr("nested"));
  EXPECT_THAT(refusal(R"({"a":)" + std::string(100000, '[')), HasSubstr("nested"));
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal("hello"), HasSubstr("no trace"));
}

TEST(KinetoReader, BoundsWhatAHostileTraceAsksFor) {
  const auto refused = [](const std::string& text, Limits limits) {
    const auto source = open_bytes(text, "trace.json");
    EXPECT_THROW((void)read_kineto(*source, limits), error::ScenarioError);
  };
  std::vector<std::string> events;
  for (int i = 0; i < 12; ++i) {
    events.push_back(event("kernel", fmt::format("gemm{}", i), "1", "2"));
  }
  refused(kineto(events), {10, 100, 1000});
  refused(kineto(events), {100, 10, 1000});
  refused(kineto(events), {100, 100, 50});
}

TEST(KinetoReader, SaysWhatOtherTracesAre) {
  EXPECT_THAT(refusal(R"({"schema": "1.0.3-chakra.0.0.4", "nodes": [{"id": 1}]})"), HasSubstr("execution trace"));
  EXPECT_THAT(refusal(R"([{"name": "forward-compute", "ph": "X", "ts": 1, "dur": 2}])"), HasSubstr("trace replay"));
  EXPECT_THAT(refusal("dp_rank,stage,step,optype,start_ts\n0,0,0,forward-compute,1\n"), HasSubstr("trace replay"));
}

TEST(KinetoReader, ReadsRealTracesAsAnotherParserDoes) {
  const auto folder = tests::shared_folder() / "measured" / "traces" / "hta";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no measured traces beside the source tree";
  }

  // Sums by Python: json.load, sorted intervals, whole microseconds. Exposed: communication outside all other kernels.
  struct Known {
    const char* file;
    std::int64_t events;
    double busy_us, compute_us, communication_us, exposed_us;
  };

  for (const Known& known : {Known{"df_index_resolver_rank1of2_v100.json.gz", 22290, 1000613, 620516, 357343, 357343},
                             Known{"trace_diff_control_rank3of8_a100.json.gz", 9450, 388587, 281336, 163535, 87921},
                             Known{"negative_queue_rank0of16_a100.json.gz", 7747, 438424, 210998, 187870, 185317}}) {
    const RankSummary summary = summarise(read_file(folder / known.file).front());
    EXPECT_EQ(summary.events, known.events);
    EXPECT_NEAR(summary.busy_s * 1e6, known.busy_us, 1e-3);
    EXPECT_NEAR(summary.compute_s * 1e6, known.compute_us, 1e-3);
    EXPECT_NEAR(summary.communication_s * 1e6, known.communication_us, 1e-3);
    EXPECT_NEAR(summary.exposed_s * 1e6, known.exposed_us, 1e-3);
  }
  const RankSummary sized = summarise(read_file(folder / "nccl_data.json.gz").front());
  EXPECT_EQ(sized.communications, 21);
  EXPECT_EQ(sized.found_in[static_cast<std::size_t>(DetailSource::kKernel)], 21);
  ASSERT_EQ(sized.collectives.size(), 2U);
  EXPECT_EQ(sized.collectives[0].name, "all_reduce");
  // 3 steps x 4 bytes x (6637568 + 2431040 + 2049000 + 7875584 + 6563840) elements
  EXPECT_EQ(sized.collectives[0].bytes, 3 * 4 * 25557032.0);
}

}  // namespace
}  // namespace lamina::validate::hardware_trace
