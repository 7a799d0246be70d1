#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/calibration/calibration_fixture.hpp"
#include "validate/calibration/matrix_fit.hpp"
#include "validate/calibration/write.hpp"

namespace lamina::validate::calibration {
namespace {

using scenario::DataType;
using testing::Contains;
using testing::HasSubstr;

/// Times of `roofline` itself with known parameters: square, thin and small products on an H100.
std::string made_table(double matrix, double memory, double launch) {
  const auto models = model::cost_models();
  const auto* roofline = models.find("roofline");
  catalog::Parameters parameters;
  parameters.set_number("matrix_efficiency", matrix);
  parameters.set_number("tile_depth", 128);
  parameters.set_number("memory_efficiency", memory);
  parameters.set_number("launch_floor", launch);
  scenario::Accelerator h100;
  h100.peak[DataType::kBf16] = FlopsPerSecond(989.5e12);
  h100.memory_bandwidth = BytesPerSecond(3.35e12);
  h100.multiprocessors = 132;
  std::string text = "device,dtype,b,m,n,k,time_us\n";
  for (const int m : {8, 16, 64, 256, 1024, 4096, 8192}) {
    for (const int n : {512, 1024, 4096, 8192}) {
      for (const int k : {512, 4096, 8192}) {
        model::Kernel kernel;
        kernel.m = m;
        kernel.n = n;
        kernel.k = k;
        kernel.flops = Flops(2.0 * m * n * k);
        kernel.bytes = Bytes(2.0 * (1.0 * m * k + 1.0 * k * n + 1.0 * m * n));
        const double time = roofline->implementation->time(kernel, h100, DataType::kBf16, parameters).value();
        text += fmt::format("NVIDIA H100 80GB HBM3,bf16,1,{},{},{},{:.9g}\n", m, n, k, time * 1e6);
      }
    }
  }
  return text;
}

Calibration from_table(const std::string& text, const Options& options = {}) {
  const Folder folder;
  return calibrate({}, {folder.file("gemm.csv", text)}, options, surroundings());
}

TEST(ProductFit, FindsTheParametersThatMadeTheTimes) {
  const Entry entry = from_table(made_table(0.72, 0.6, 3e-6)).entries.at(0);
  EXPECT_EQ(entry.kind, Kind::kAccelerator);
  EXPECT_NEAR(entry.constants[0].value, 0.72, 0.02);
  EXPECT_NEAR(entry.constants[1].value, 0.6, 0.02);
  EXPECT_NEAR(entry.constants[2].value / 3e-6, 1, 0.05);
  EXPECT_TRUE(entry.constants[0].resolved && entry.constants[1].resolved && entry.constants[2].resolved);
  EXPECT_LT(entry.residuals[0].worst, 0.05);
  EXPECT_EQ(entry.table.rows.size(), 84U);
}

TEST(ProductFit, LeavesWhatTheShapesDoNotTellAtTheDefault) {
  const Entry entry = from_table(
                          "device,dtype,m,n,k,tflops\nH100,bf16,8192,8192,8192,700\nH100,bf16,8192,8192,4096,690\n"
                          "H100,bf16,16384,8192,8192,705\nH100,bf16,4096,8192,8192,690\n")
                          .entries.at(0);
  EXPECT_TRUE(entry.constants[0].resolved);
  EXPECT_FALSE(entry.constants[1].resolved);
  EXPECT_FALSE(entry.constants[2].resolved);
  EXPECT_DOUBLE_EQ(entry.constants[1].value, 0.8) << "the default of roofline";
  EXPECT_LE(entry.constants[2].value, 5e-6);
}

TEST(ProductFit, IsWhatAScenarioRunsWith) {
  Options options;
  options.name = "mine";
  const Folder folder;
  const auto file = folder.file("mine.yaml", to_yaml(from_table(made_table(0.72, 0.6, 3e-6), options)));
  const std::string text = fmt::format(
      "schema_version: 1\nhardware: {}\nmodel: x32\ncluster: {{node: dgx-h100, accelerator: "
      "mine, network: infiniband-ndr}}\nstrategy: {{data_parallel: 8, micro_batches: 1}}\n",
      file.string());
  const auto load = [&](const std::string& more) {
    return scenario::load_text(text + more, "/t.yaml", tests::source_folder() / "scenarios", surroundings().plugins);
  };
  const scenario::Scenario measured = load("");
  EXPECT_EQ(measured.cluster.node.accelerator.name, "mine");
  EXPECT_DOUBLE_EQ(measured.cluster.node.accelerator.memory.value(), 80.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(measured.simulation.cost_model.name, "roofline");
  EXPECT_NEAR(measured.simulation.cost_model.parameters.number("matrix_efficiency"), 0.72, 0.02);
  const scenario::Scenario chosen = load("simulation: {cost_model: ideal}\n");
  EXPECT_EQ(chosen.simulation.cost_model.name, "ideal") << "what the scenario says comes first";
}

TEST(ProductFit, LeavesRowsAboveThePeakOutAndCountsThem) {
  const Entry entry = from_table(
                          "device,dtype,m,n,k,tflops\nH100,fp8,8192,8192,8192,1400\nH100,fp8,4096,8192,8192,1350\n"
                          "H100,fp8,4096,4096,4096,2100\n")
                          .entries.at(0);
  ASSERT_EQ(entry.left_out.size(), 1U);
  EXPECT_THAT(entry.left_out[0].reason, HasSubstr("suspicious: above the peak of 1979 TFLOP/s"));
  EXPECT_EQ(entry.left_out[0].rows, 1);
  EXPECT_THAT(entry.notes, Contains(HasSubstr("33 % of the rows are above the peak")));
  const auto all = fault_of([] { (void)from_table("device,dtype,m,n,k,tflops\nH100,fp8,4096,4096,4096,2100\n"); });
  EXPECT_THAT(all.problem, HasSubstr("Every product is faster"));
}

TEST(ProductFit, AnF32AboveThePlainUnitsIsTf32) {
  const Entry entry =
      from_table("device,b,m,n,k,f32xf32_to_f32_flops\nsm_90,1,4096,4096,4096,400000000000000\n").entries.at(0);
  EXPECT_THAT(entry.measured, Contains(Label{"data_type", "tf32"}));
  const Entry plain =
      from_table("device,b,m,n,k,f32xf32_to_f32_flops\nsm_90,1,4096,4096,4096,50000000000000\n").entries.at(0);
  EXPECT_THAT(plain.measured, Contains(Label{"data_type", "fp32"}));
}

TEST(ProductFit, OneEntryForEachAcceleratorAndType) {
  const std::string table =
      "device,dtype,m,n,k,tflops\nH100,bf16,8192,8192,8192,700\nA100,bf16,8192,8192,8192,260\n"
      "A100,fp32,8192,8192,8192,17\nIntel Gaudi 3,bf16,8192,8192,8192,1200\n";
  const Calibration all = from_table(table);
  ASSERT_EQ(all.entries.size(), 3U);
  EXPECT_EQ(all.entries[0].name, "gemm-h100-bf16");
  ASSERT_EQ(all.skipped.size(), 1U);
  EXPECT_THAT(all.skipped[0], HasSubstr("Gaudi"));
  Options options;
  options.select = {{"device", "a100"}, {"dtype", "fp32"}};
  const Calibration one = from_table(table, options);
  ASSERT_EQ(one.entries.size(), 1U);
  EXPECT_EQ(one.entries[0].name, "gemm");
  options.select = {{"device", "V100"}};
  EXPECT_THAT(fault_of([&] { (void)from_table(table, options); }).allowed, HasSubstr("device=H100 dtype=bf16"));
  options.select = {{"colour", "red"}};
  EXPECT_THAT(fault_of([&] { (void)from_table(table, options); }).problem, HasSubstr("by this key"));
}

TEST(ProductFit, AsksForWhatTheTableDoesNotSay) {
  const std::string table = "m,n,k,tflops\n8192,8192,8192,200\n";
  EXPECT_THAT(fault_of([&] { (void)from_table(table); }).problem, HasSubstr("data type: --dtype"));
  Options options;
  options.type = DataType::kFp16;
  EXPECT_THAT(fault_of([&] { (void)from_table(table, options); }).problem, HasSubstr("accelerator: --accelerator"));
  options.accelerator = "a100-sxm-40gb";
  options.peak = "250 TFLOP/s";
  const Entry entry = from_table(table, options).entries.at(0);
  EXPECT_THAT(entry.settings,
              testing::AllOf(Contains(Label{"base", "a100-sxm-40gb"}), Contains(Label{"peak", "{fp16: 250 TFLOP/s}"})));
  // 0.8 of the peak, and tiles lose a little more
  EXPECT_GT(entry.constants[0].value, 0.8);
  EXPECT_LT(entry.constants[0].value, 0.9);
  options.accelerator = "a100";
  EXPECT_THAT(fault_of([&] { (void)from_table(table, options); }).nearest, HasSubstr("a100-sxm"));
}

struct Known {
  const char* device;
  const char* base;
  const char* peak;  ///< of its changes
};

class EveryKnownAccelerator : public testing::TestWithParam<Known> {};

TEST_P(EveryKnownAccelerator, StandsOnTheCatalogue) {
  const auto known = known_accelerator(GetParam().device);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->base, GetParam().base);
  EXPECT_FALSE(known->source.empty());
  EXPECT_THAT(as_yaml(*known), HasSubstr(GetParam().peak));
}

INSTANTIATE_TEST_SUITE_P(Names, EveryKnownAccelerator,
                         testing::Values(Known{"NVIDIA H100 80GB HBM3", "h100-sxm", ""},
                                         Known{"NVIDIA H100 PCIe", "h100-sxm", "bf16: 756 TFLOP/s"},
                                         Known{"NVIDIA H200", "h200-sxm", ""},
                                         Known{"NVIDIA GH200 120GB", "h200-sxm", ""},
                                         Known{"NVIDIA A100-SXM4-40GB", "a100-sxm-40gb", ""},
                                         Known{"NVIDIA A100-PCIE-40GB", "a100-sxm-40gb", ""},
                                         Known{"NVIDIA A100 80GB PCIe", "a100-sxm-80gb", "1935 GB/s"},
                                         Known{"Tesla V100-SXM2-32GB", "v100-sxm2-32gb", ""},
                                         Known{"Tesla V100-PCIE-32GB", "v100-sxm2-32gb", "fp16: 112 TFLOP/s"},
                                         Known{"sm_100_B200", "b200", ""}, Known{"NVIDIA GB200 SXM", "gb200", ""},
                                         Known{"H800", "h100-sxm", ""}),
                         [](const auto& known) { return "name_" + std::to_string(known.index); });

TEST(KnownAccelerators, LackWhatTheCatalogueLacks) {
  for (const char* name : {"AMD MI300X", "NVIDIA B300 SXM", "Intel Gaudi 2", "sm_103", "GPU", ""}) {
    EXPECT_FALSE(known_accelerator(name)) << name;
  }
}

TEST(ProductTable, ReadsShapesOutOfNamesOfOperations) {
  const auto sets = read_product_table(
      "# fp16 on A100\nfile,op,elapsed_s,tflops\nmm,1024x1280x512,0.000,68.9\nbmm,bmm (128x1024x2048x256),0.0023,243\n"
      "t,\"qkv_transform (4x4096x12288, b=2048)\",0.0034,241.616\nt,mlp_fused_gelu (2048x4x16384),0.0005,\n",
      "a.csv");
  ASSERT_EQ(sets.size(), 1U);
  EXPECT_EQ(sets[0].device, "a100");
  EXPECT_EQ(sets[0].type, DataType::kFp16);
  ASSERT_EQ(sets[0].products.size(), 3U);
  EXPECT_DOUBLE_EQ(sets[0].products[0].seconds, 2.0 * 1024 * 1280 * 512 / 68.9e12);
  EXPECT_DOUBLE_EQ(sets[0].products[1].batch, 128);
  // 2 x 4 x 2048 x 4096 x 12288 FLOPs in the printed 3.4 ms
  EXPECT_NEAR(sets[0].products[2].seconds, 0.0034, 0.00005);
  EXPECT_EQ(sets[0].left_out.at(0).rows, 1);
}

TEST(ProductTable, DoesNotTakeAPresumedAcceleratorForAStatedOne) {
  EXPECT_EQ(read_product_table("# fp16, GPU presumed A100\nmnk,x_tflops\n256,4\n", "a.csv").at(0).device, "");
}

struct Bad {
  const char* name;
  const char* text;
  int line;
  int column;
};

class EveryBadProduct : public testing::TestWithParam<Bad> {};

TEST_P(EveryBadProduct, IsRefusedWithItsPlace) {
  const auto refused = fault_of([] { (void)read_product_table(GetParam().text, "a.csv"); });
  EXPECT_EQ(refused.location.line, GetParam().line);
  EXPECT_EQ(refused.location.column, GetParam().column);
  EXPECT_FALSE(refused.problem.empty());
  EXPECT_FALSE(refused.allowed.empty());
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryBadProduct,
                         testing::Values(Bad{"empty", "", 0, 0}, Bad{"header_only", "m,n,k,time_us\n", 0, 0},
                                         Bad{"other_columns", "a,b\n1,2\n", 0, 0},
                                         Bad{"zero_time", "m,n,k,time_us\n1,1,1,0\n", 2, 7},
                                         Bad{"negative_side", "m,n,k,time_us\n1,-1,1,3\n", 2, 3},
                                         Bad{"nan", "m,n,k,time_us\n1,1,1,nan\n", 2, 7},
                                         Bad{"infinite", "m,n,k,time_us\n1,1,1,inf\n", 2, 7},
                                         Bad{"not_available", "m,n,k,time_us\r\n1,1,1,N/A\r\n", 2, 7},
                                         Bad{"short_row", "m,n,k,time_us\n1,1,1\n", 2, 1},
                                         Bad{"unknown_type", "dtype,m,n,k,time_us\nint4,1,1,1,1\n", 2, 1}),
                         [](const auto& bad) { return std::string(bad.param.name); });

}  // namespace
}  // namespace lamina::validate::calibration
