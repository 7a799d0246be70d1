#include "validate/calibration/nccl_log.hpp"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/calibration/calibration_fixture.hpp"

/// The logs are written here after the print statements of nccl-tests (src/common.cu and the print_header of each
/// program, versions 2.0 to 2.17) and of version 1; the numbers are made up.
namespace lamina::validate::calibration {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr const char* kNew =
    R"(# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   1888 on   worker-1 device  1 [0x91] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid   1885 on   worker-0 device  0 [0x8d] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid   1886 on   worker-0 device  1 [0x91] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           0             0     float     sum      -1     0.13    0.00    0.00      0     0.12    0.00    0.00      0
           8             2     float     sum      -1    20.50    0.00    0.00      0    20.10    0.00    0.00      0
worker-1:1887:1887 [0] NCCL INFO Launch mode Parallel
   536870912     134217728     float     sum      -1   5000.0  107.37  161.06      0    N/A      N/A     N/A    N/A
  8589934592    2147483648     float     sum      -1    80000  107.37  161.06      0    80100  107.24  160.86      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 40.1
)";

TransferSet read_one(const std::string& text, std::optional<Collective> collective = Collective::kAllReduce) {
  auto sets = read_nccl_log(text, "a.log", collective);
  EXPECT_EQ(sets.size(), 1U);
  return sets.front();
}

TEST(NcclLog, GivesRanksNodesAndTheTimesOfBothForms) {
  const TransferSet set = read_one(kNew);
  EXPECT_EQ(set.ranks, 4);
  EXPECT_EQ(set.nodes, 2);
  ASSERT_EQ(set.transfers.size(), 3U);
  EXPECT_DOUBLE_EQ(set.transfers[0].bytes, 8);
  EXPECT_DOUBLE_EQ(set.transfers[0].seconds, 20.5e-6);
  EXPECT_DOUBLE_EQ(set.transfers[0].in_place_seconds, 20.1e-6);
  EXPECT_TRUE(std::isnan(set.transfers[1].in_place_seconds)) << "N/A";
  EXPECT_DOUBLE_EQ(set.transfers[2].seconds, 80e-3);
  EXPECT_THAT(set.conditions, Contains(Label{"hardware", "NVIDIA H100 80GB HBM3"}));
  EXPECT_THAT(set.conditions, Contains(Label{"host", "worker-0, worker-1"}));
}

TEST(NcclLog, LeavesRowsWithoutBytesOutAndCountsThem) {
  const TransferSet set = read_one(kNew);
  ASSERT_EQ(set.left_out.size(), 1U);
  EXPECT_EQ(set.left_out[0].reason, "no bytes");
  EXPECT_EQ(set.left_out[0].rows, 1);
}

TEST(NcclLog, IsTheSameWithCarriageReturnsTagsAndIndentation) {
  std::string changed;
  for (const char c : std::string(kNew)) {
    changed += c == '\n' ? "\r\n    [1,0]<stdout>:" : std::string(1, c);
  }
  // mpirun tags begin their lines
  std::string tagged;
  for (std::size_t at = 0; at < changed.size(); ++at) {
    tagged += changed.compare(at, 5, "    [") == 0 ? "" : std::string(1, changed[at]);
    at += changed.compare(at, 5, "    [") == 0 ? 3 : 0;
  }
  const TransferSet set = read_one(tagged);
  EXPECT_EQ(set.ranks, 4);
  ASSERT_EQ(set.transfers.size(), 3U);
  EXPECT_DOUBLE_EQ(set.transfers[2].seconds, 80e-3);
}

TEST(NcclLog, TheCollectiveIsTheProgramNamedLast) {
  for (const auto& [program, collective] :
       {std::pair("all_reduce_perf", Collective::kAllReduce),
        std::pair("./build/all_gather_perf -b 8", Collective::kAllGather),
        std::pair("alltoall_perf", Collective::kAllToAll), std::pair("reduce_scatter_perf", Collective::kReduceScatter),
        std::pair("sendrecv_perf", Collective::kSendReceive), std::pair("reduce_perf", Collective::kReduce)}) {
    const std::string text = fmt::format("# Collective test starting: {}\n{}", program, kNew);
    EXPECT_EQ(read_one(text, std::nullopt).collective, collective) << program;
  }
}

TEST(NcclLog, TwoRunsOfTwoProgramsAreTwoSets) {
  const std::string text = fmt::format("mpirun all_reduce_perf\n{}+ mpirun alltoall_perf\n{}", kNew, kNew);
  const auto sets = read_nccl_log(text, "a.log", std::nullopt);
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[0].collective, Collective::kAllReduce);
  EXPECT_EQ(sets[1].collective, Collective::kAllToAll);
  EXPECT_EQ(sets[0].transfers.size(), sets[1].transfers.size());
}

struct Row {
  const char* name;
  const char* header;
  const char* row;
  double microseconds;
  double in_place;  ///< 0: none
};

class EveryColumns : public testing::TestWithParam<Row> {};

TEST_P(EveryColumns, AreTold) {
  const Row& row = GetParam();
  const TransferSet set = read_one(fmt::format("# x\n{}\n{}\n", row.header, row.row));
  ASSERT_EQ(set.transfers.size(), 1U);
  EXPECT_DOUBLE_EQ(set.transfers[0].bytes, 1048576);
  EXPECT_DOUBLE_EQ(set.transfers[0].seconds, row.microseconds * 1e-6);
  if (row.in_place > 0) {
    EXPECT_DOUBLE_EQ(set.transfers[0].in_place_seconds, row.in_place * 1e-6);
  } else {
    EXPECT_TRUE(std::isnan(set.transfers[0].in_place_seconds));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Versions, EveryColumns,
    testing::Values(Row{"error_without_root", "# size count type redop time algbw busbw error time algbw busbw error",
                        " 1048576 262144 float sum 84.54 12.4 21.7 2e-07 85.1 12.3 21.6 1e-07", 84.54, 85.1},
                    Row{"all_gather_of_2018", "# size count type time algbw busbw error time algbw busbw error",
                        " 1048576 32768 float 40.1 26.1 22.9 0e+00 40.2 26.0 22.8 0e+00", 40.1, 40.2},
                    Row{"broadcast_with_root", "# size count type root time algbw busbw error time algbw busbw error",
                        " 1048576 262144 half 0 41 25.5 25.5 0e+00 42 25.4 25.4 0e+00", 41, 42},
                    Row{"reduce_with_redop_and_root",
                        "# size count type redop root time algbw busbw error time algbw busbw error",
                        " 1048576 262144 float sum 0 41 25.5 25.5 0e+00 42 25.4 25.4 0e+00", 41, 42},
                    Row{"one_form_only", "# bytes N type root time algbw busbw res",
                        " 1048576 262144 float 0 39.5 26.5 26.5 1e-07", 39.5, 0},
                    Row{"unchecked", "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
                        " 1048576 262144 bfloat16 sum -1 39.5 26.5 26.5 N/A 40.5 25.9 25.9 N/A", 39.5, 40.5},
                    Row{"with_time_of_day",
                        "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong timestamp",
                        " 1048576 262144 fp8_e4m3 sum -1 39.5 26.5 26.5 0 40.5 25.9 25.9 0 2025-05-01 12:00:01", 39.5,
                        40.5},
                    Row{"exponent", "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
                        " 1048576 262144 float sum -1 1.2e+05 0.1 0.1 0 1.3e+05 0.1 0.1 0", 1.2e5, 1.3e5}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(NcclLog, KnowsTheRanksFromTheFactorWhereNoneAreListed) {
  // 2 x 7/8 = 1.75
  const TransferSet set =
      read_one("# algbw\n 1073741824 268435456 float sum -1 5000 214.75 375.81 0 5000 214.75 375.81 0\n");
  EXPECT_EQ(set.ranks, 8);
  EXPECT_EQ(set.nodes, 0);
  EXPECT_EQ(ranks_from_factor(Collective::kAllGather, 0.9375), 16);
  EXPECT_EQ(ranks_from_factor(Collective::kBroadcast, 1), 0);
  EXPECT_EQ(ranks_from_factor(Collective::kAllReduce, 1.9986), 0) << "1440 or 1430? three digits do not tell";
}

TEST(NcclLog, WarnsOfWrongData) {
  std::string text = kNew;
  text.replace(text.find("20.50    0.00    0.00      0"), 29, "20.50    0.00    0.00      3");
  EXPECT_THAT(read_one(text).notes, Contains(HasSubstr("#wrong is not 0 in 1 measurements (first in line 13)")));
}

TEST(NcclLog, WarnsWhereTheFactorIsAnotherCollectives) {
  EXPECT_THAT(read_one(kNew, Collective::kAllGather).notes, Contains(HasSubstr("is the collective right?")));
  EXPECT_THAT(read_one(kNew).notes, testing::IsEmpty());
}

struct Fault {
  const char* name;
  const char* before;
  const char* after;
  int line;
  int column;
  const char* problem;
};

class EveryBadLine : public testing::TestWithParam<Fault> {};

TEST_P(EveryBadLine, IsRefusedWithItsPlace) {
  const Fault& fault = GetParam();
  std::string text = kNew;
  const std::size_t at = text.find(fault.before);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(fault.before).size(), fault.after);
  const auto refused = fault_of([&] { (void)read_one(text); });
  EXPECT_EQ(refused.location.file, "a.log");
  EXPECT_EQ(refused.location.line, fault.line);
  EXPECT_EQ(refused.location.column, fault.column);
  EXPECT_THAT(refused.problem, HasSubstr(fault.problem));
  EXPECT_FALSE(refused.read.empty());
  EXPECT_FALSE(refused.allowed.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, EveryBadLine,
    testing::Values(Fault{"zero", "20.50", " 0.00", 13, 58, "more than zero"},
                    Fault{"negative", "20.50", "-0.50", 13, 57, "out of range"},
                    Fault{"nan", "20.50", "  nan", 13, 59, "not a number"},
                    Fault{"infinite", "20.50", "  inf", 13, 59, "not a number"},
                    Fault{"letters", "20.50", "2O.50", 13, 57, "not a number"},
                    Fault{"cut", "107.24  160.86      0", "107.2", 16, 101, "cut short"},
                    Fault{"cut_to_the_size", "134217728     float", "\n", 15, 18, "cut short"},
                    Fault{"unknown_type", "2     float", "2     quart", 13, 32, "column is unknown"},
                    Fault{"rank_twice", "Rank  1", "Rank  0", 5, 1, "listed twice"},
                    Fault{"no_time", "5000.0  107.37  161.06      0", "N/A N/A N/A N/A", 15, 56, "has no time"}),
    [](const auto& fault) { return std::string(fault.param.name); });

TEST(NcclLog, WithoutARowIsRefused) {
  for (const char* text : {"", "\n\n", "# nThread 1\n# Using devices\n", "mpirun: command not found\n", "12 34\n"}) {
    const auto refused = fault_of([&] { (void)read_nccl_log(text, "a.log", Collective::kAllReduce); });
    EXPECT_THAT(refused.problem, HasSubstr("no row of measurements")) << text;
  }
}

TEST(NcclLog, WithoutACollectiveIsRefused) {
  EXPECT_THAT(fault_of([] { (void)read_nccl_log(kNew, "a.log", std::nullopt); }).problem,
              HasSubstr("which collective"));
}

TEST(NcclLog, EveryBeginningOfALogIsReadOrRefused) {
  const std::string text = kNew;
  int read = 0;
  for (std::size_t length = 0; length <= text.size(); ++length) {
    try {
      (void)read_nccl_log(text.substr(0, length), "a.log", Collective::kAllReduce);
      ++read;
    } catch (const error::ScenarioError& fault) {
      EXPECT_EQ(fault.fault().location.file, "a.log");
    }
  }
  EXPECT_GT(read, 100);
}

TEST(Collectives, HaveTheFactorsOfNcclTests) {
  // doc/PERFORMANCE.md of nccl-tests
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kReduceScatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kAllToAll, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kBroadcast, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::kReduce, 8), 1);
  // 8 ranks of a node send 1/16 to each of 8 others
  EXPECT_DOUBLE_EQ(node_factor(Collective::kAllToAll, 16, 2), 4);
  EXPECT_DOUBLE_EQ(node_factor(Collective::kAllReduce, 16, 2), 1.875);
}

}  // namespace
}  // namespace lamina::validate::calibration
