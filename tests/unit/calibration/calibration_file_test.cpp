#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/calibration/calibration_fixture.hpp"
#include "validate/calibration/read.hpp"
#include "validate/calibration/transfer_table.hpp"
#include "validate/calibration/write.hpp"

/// Files written, read back and named by scenarios; and every file of other people's measurements that is at hand.
namespace lamina::validate::calibration {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kSweep =
    "# Ring test. collective=all_reduce ranks=4 nodes=1. Hardware: 4 x \"GPU\"\n"
    "size_bytes,oop_time_us,ip_time_us\n0,0.1,0.1\n8,10,11\n1024,10,10\n65536,11,12\n1048576,30,31\n16777216,300,310\n"
    "1073741824,17000,17100\n";

Calibration from_sweep() {
  const Folder folder;
  Options options;
  options.conditions = {{"date", "2026-03-01"}, {"clock", "1.98 GHz \"fixed\""}};
  return calibrate({folder.file("ring.csv", kSweep)}, {}, options, surroundings());
}

TEST(CalibrationFile, ReadsBackAsItWasWritten) {
  const Folder folder;
  const std::string written = to_yaml(from_sweep());
  const Calibration read = read_calibration(folder.file("mine.yaml", written));
  EXPECT_EQ(to_yaml(read), written);
  EXPECT_THAT(read.conditions, Contains(Label{"clock", "1.98 GHz \"fixed\""}));
  const Entry& entry = read.entries.at(0);
  EXPECT_EQ(entry.table.columns, (std::vector<std::string>{"size_bytes", "time_s", "samples", "spread"}));
  ASSERT_THAT(entry.table.rows, SizeIs(6));
  EXPECT_DOUBLE_EQ(entry.table.rows[0][1], 10e-6);
  EXPECT_EQ(entry.table.rows[5][0], 1073741824);
  EXPECT_TRUE(std::isnan(entry.table.rows[0][3]));
  EXPECT_THAT(entry.left_out, SizeIs(1));
}

TEST(CalibrationFile, IsTheSameForTheSameInput) {
  EXPECT_EQ(to_yaml(from_sweep()), to_yaml(from_sweep()));
  EXPECT_EQ(to_console(from_sweep()), to_console(from_sweep()));
}

TEST(CalibrationFile, KeepsMeasuredAndFittedApart) {
  const Entry entry = from_sweep().entries.at(0);
  // what the file says, to the digit, whatever was fitted
  EXPECT_DOUBLE_EQ(entry.table.rows.back()[1], 17000e-6);
  for (const Constant& constant : entry.constants) {
    EXPECT_FALSE(constant.tuned_by.empty()) << constant.key;
  }
}

TEST(CalibrationFile, ThatIsBrokenIsRefusedWithItsPlace) {
  const Folder folder;
  const std::string written = to_yaml(from_sweep());
  const auto fault = [&](const std::string& before, const std::string& after) {
    std::string text = written;
    const std::size_t at = text.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    text.replace(at, before.size(), after);
    const auto file = folder.file("mine.yaml", text);
    return fault_of([&] { (void)read_calibration(file); });
  };
  EXPECT_THAT(fault("version: 1", "version: 2").problem, HasSubstr("version"));
  EXPECT_THAT(fault("hardware: device_links.ring", "hardware: networks.ring").problem, HasSubstr("no such hardware"));
  EXPECT_THAT(fault("key: latency", "key: altitude").problem, HasSubstr("no such key"));
  EXPECT_THAT(fault("        1024,1e-05", "        1024,ten").problem, HasSubstr("no number"));
  EXPECT_THAT(fault("        1024,1e-05", "        1e-05").problem, HasSubstr("3 fields"));
  EXPECT_THAT(fault("calibration:\n", "other:\n").problem, HasSubstr("missing"));
  EXPECT_GT(fault("key: latency", "key: altitude").location.line, 10);
}

TEST(CalibrationFile, NamesComeFromTheFileAndDifferFromTheCatalogue) {
  const Folder folder;
  const auto file = folder.file("NVLink3 (mine).csv", kSweep);
  EXPECT_EQ(calibrate({file}, {}, {}, surroundings()).entries.at(0).name, "nvlink3-mine");
  Options options;
  options.name = "nvlink3";
  EXPECT_THAT(fault_of([&] { (void)calibrate({file}, {}, options, surroundings()); }).problem,
              HasSubstr("entry of this name in device_links"));
  options.name = "mine";
  const Calibration twice = calibrate({file, file}, {}, options, surroundings());
  EXPECT_NE(twice.entries.at(0).name, twice.entries.at(1).name);
}

TEST(TransferTable, TellsWhatIsMissing) {
  const Folder folder;
  const auto problem = [&](const std::string& text, Options options = {}) {
    const auto file = folder.file("t.csv", text);
    return fault_of([&] { (void)calibrate({file}, {}, options, surroundings()); }).problem;
  };
  EXPECT_THAT(problem("size_bytes,time_us\n8,1\n"), HasSubstr("which collective"));
  Options options;
  options.collective = Collective::kAllReduce;
  EXPECT_THAT(problem("size_bytes,time_us\n8,1\n", options), HasSubstr("--ranks"));
  options.ranks = 6;
  EXPECT_THAT(problem("size_bytes,time_us\n8,1\n", options), HasSubstr("--nodes"));
  options.nodes = 4;
  EXPECT_THAT(problem("size_bytes,time_us\n8,1\n", options), HasSubstr("do not spread"));
  EXPECT_THAT(problem("size_bytes,time_us\n"), HasSubstr("no row"));
  EXPECT_THAT(problem("a,b\n1,2\n"), HasSubstr("known sets of columns"));
}

TEST(TransferTable, RefusesBadFieldsWithTheirPlace) {
  for (const auto& [row, column] :
       {std::pair("8,0", 3), std::pair("8,-1", 3), std::pair("8,nan", 3), std::pair("8,inf", 3), std::pair("-8,1", 1),
        std::pair("8.5,1", 1), std::pair("8,N/A", 3), std::pair("8", 1)}) {
    const std::string text = fmt::format("# collective=all_reduce\nsize_bytes,time_us\r\n16,1\r\n{}\r\n", row);
    const auto fault = fault_of([&] { (void)read_transfer_table(text, "t.csv", std::nullopt); });
    EXPECT_EQ(fault.location.line, 4) << row;
    EXPECT_EQ(fault.location.column, column) << row;
  }
}

TEST(TransferTable, ReadsRatesByNameAndLeavesOutWhatHasTooFewDigits) {
  const auto sets = read_transfer_table(
      "# all-reduce\nset,size_bytes,busbw_GBps\na_8gpu,1024,0.01\na_8gpu,1048576,40.00\nb_4node_32gpu,1048576,20.0\n"
      "c_8gpu_allgather_peak,,361.4\n",
      "t.csv", std::nullopt);
  ASSERT_THAT(sets, SizeIs(3));
  EXPECT_EQ(sets[0].ranks, 8);
  EXPECT_EQ(sets[0].nodes, 0);
  EXPECT_THAT(sets[0].transfers, SizeIs(1));
  EXPECT_DOUBLE_EQ(sets[0].transfers[0].bus_rate, 40e9);
  EXPECT_EQ(sets[0].left_out.at(0).rows, 1);
  EXPECT_EQ(sets[1].nodes, 4);
  EXPECT_EQ(sets[1].ranks, 32);
  EXPECT_EQ(sets[2].collective, Collective::kAllGather);
  EXPECT_THAT(sets[2].rates, testing::ElementsAre(361.4e9));
}

TEST(TransferTable, ReadsLayoutsOfExpertParallelGroups) {
  const auto sets = read_transfer_table(
      "arch,topo,dispatch_GBps,combine_GBps\nSM90,EP 8 x 2,90,81\nSM100,EP 8,726,740\n", "t.csv", std::nullopt);
  ASSERT_THAT(sets, SizeIs(4));
  EXPECT_EQ(sets[0].ranks, 16);
  EXPECT_EQ(sets[0].nodes, 2);
  EXPECT_EQ(sets[3].ranks, 8);
  EXPECT_EQ(sets[3].nodes, 1);
  EXPECT_THAT(sets[3].rates, testing::ElementsAre(740e9));
}

std::vector<std::filesystem::path> measured(const char* folder) {
  std::vector<std::filesystem::path> files;
  std::error_code status;
  for (std::filesystem::directory_iterator entry(tests::shared_folder() / "measured" / folder, status), end;
       !status && entry != end; entry.increment(status)) {
    if (entry->path().extension() == ".csv") {
      files.push_back(entry->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A scenario that names the file: every entry of it is read when it is named, so one of each kind.
void expect_a_scenario_takes(const std::filesystem::path& hardware, const Calibration& calibration) {
  std::string cluster = "node: dgx-h100, nodes: 2, network: infiniband-ndr";
  for (const Entry& entry : calibration.entries) {
    cluster = entry.kind == Kind::kNetwork      ? fmt::format("node: dgx-h100, nodes: 2, network: {}", entry.name)
              : entry.kind == Kind::kDeviceLink ? fmt::format("node: {{base: dgx-h100, device_link: {}}}", entry.name)
                                                : fmt::format("node: dgx-h100, accelerator: {}", entry.name);
    const std::string text = fmt::format(
        "schema_version: 1\nhardware: {}\nmodel: x32\ncluster: {{{}}}\nstrategy: "
        "{{data_parallel: 8, micro_batches: 1, precision: {{compute: fp32}}}}\n",
        hardware.string(), cluster);
    EXPECT_NO_THROW((void)scenario::load_text(text, "/t.yaml", surroundings().catalogue, surroundings().plugins))
        << entry.name;
    if (&entry - calibration.entries.data() >= 3) {
      return;
    }
  }
}

void expect_whole(const std::filesystem::path& file, const Calibration& calibration) {
  const Folder folder;
  const std::string written = to_yaml(calibration);
  const auto hardware = folder.file("mine.yaml", written);
  EXPECT_LT(written.size(), std::size_t{4} << 20U);
  EXPECT_EQ(to_yaml(read_calibration(hardware)), written) << file;
  expect_a_scenario_takes(hardware, calibration);
  for (const Entry& entry : calibration.entries) {
    EXPECT_FALSE(entry.constants.empty()) << file;
    for (const Constant& constant : entry.constants) {
      EXPECT_TRUE(std::isfinite(constant.value) && constant.value >= 0) << file << " " << constant.key;
    }
    EXPECT_TRUE(entry.residuals.empty() || std::isfinite(entry.residuals[0].worst)) << file;
  }
}

TEST(MeasuredFiles, EveryTableOfCollectivesIsCalibratedAndNamedByAScenario) {
  const auto files = measured("nccl");
  if (files.empty()) {
    GTEST_SKIP() << "no measured files beside the source tree";
  }
  for (const auto& file : files) {
    Options options;
    const std::string name = file.filename().string();
    if (name.starts_with("aicb") || name.starts_with("ml_engineering")) {  // they do not say on how many nodes
      options.nodes = 1;
    }
    const Calibration calibration = calibrate({file}, {}, options, surroundings());
    EXPECT_FALSE(calibration.entries.empty()) << file;
    expect_whole(file, calibration);
  }
}

TEST(MeasuredFiles, EveryTableOfProductsIsCalibratedAndNamedByAScenario) {
  const auto files = measured("gemm");
  if (files.empty()) {
    GTEST_SKIP() << "no measured files beside the source tree";
  }
  for (const auto& file : files) {
    Options options;
    const std::string name = file.filename().string();
    if (name.starts_with("eleuther") || name.starts_with("triton")) {  // they do not say on which GPU
      options.accelerator = "a100-sxm-40gb";
    }
    const Calibration calibration = calibrate({}, {file}, options, surroundings());
    EXPECT_FALSE(calibration.entries.empty()) << file;
    expect_whole(file, calibration);
  }
}

TEST(MeasuredFiles, TwoNodesOfEightHdrPortsReachWhatTheirLogPrints) {
  // The log's largest size has a bus bandwidth of 188.7 GB/s (its last line), that is 23.6 GB/s a port.
  const auto file = tests::shared_folder() / "measured/nccl/ncclt_dgxa100_16gpu_2node_hdr_allreduce.csv";
  if (!std::filesystem::exists(file)) {
    GTEST_SKIP() << "no measured files beside the source tree";
  }
  Options options;
  options.link.nics_per_node = 8;
  const Entry entry = calibrate({file}, {}, options, surroundings()).entries.at(0);
  EXPECT_EQ(entry.kind, Kind::kNetwork);
  EXPECT_NEAR(entry.constants[0].value / (188.7e9 / 8), 1, 0.05);
  EXPECT_LT(entry.residuals.back().median, 0.1) << "from 16 MiB";
}

}  // namespace
}  // namespace lamina::validate::calibration
