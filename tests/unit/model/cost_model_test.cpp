#include <random>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "tests/unit/model/model_fixtures.hpp"

namespace lamina::model {
namespace {

constexpr auto kBf16 = scenario::DataType::kBf16;

Kernel stream(double bytes) {
  Kernel kernel;
  kernel.kind = KernelKind::kMemoryBound;
  kernel.bytes = Bytes(bytes);
  return kernel;
}

double time_of(const scenario::PluginChoice& choice, const Kernel& kernel,
               const scenario::Accelerator& accelerator = a100(), scenario::DataType type = kBf16) {
  const catalog::Catalog<CostModel> models = cost_models();
  return models.find(choice.name)->implementation->time(kernel, accelerator, type, choice.parameters).value();
}

scenario::PluginChoice unit_roofline() {
  scenario::PluginChoice choice = roofline();
  choice.parameters.set_number("launch_floor", 0);
  choice.parameters.set_number("matrix_efficiency", 1);
  choice.parameters.set_number("memory_efficiency", 1);
  return choice;
}

TEST(Ideal, TakesFlopsOverTheStatedFractionOfPeak) {
  const Kernel kernel = matrix_product(1, 4096, 4096, 4096);
  EXPECT_DOUBLE_EQ(time_of(ideal(), kernel), 2.0 * 4096 * 4096 * 4096 / 312e12);
  EXPECT_DOUBLE_EQ(time_of(ideal(0.5), kernel), 2.0 * 4096 * 4096 * 4096 / 156e12);
  EXPECT_DOUBLE_EQ(time_of(ideal(), kernel, a100(), scenario::DataType::kFp32), 2.0 * 4096 * 4096 * 4096 / 19.5e12);
}

TEST(Ideal, GivesMemoryBoundWorkForFree) {
  EXPECT_EQ(time_of(ideal(), stream(1e9)), 0);
}

TEST(Roofline, StreamsAtTheMemoryBandwidthAfterTheLaunchFloor) {
  EXPECT_DOUBLE_EQ(time_of(roofline(), stream(0)), 5e-6);
  EXPECT_DOUBLE_EQ(time_of(roofline(), stream(2039e6)), 5e-6 + 1e-3 / 0.8);
}

// 2048 x 2048 outputs are 128 tiles of 256 x 128: one full wave on 128 multiprocessors. On 108 the better choice is 256
// tiles of 128 x 128 (rate 0.9) in three waves: 3 x 108 x 128 x 128 / 0.9 against 2048 x 2048.
TEST(Roofline, PaysForAWaveThatIsNotFull) {
  scenario::Accelerator matching = a100();
  matching.multiprocessors = 128;
  const Kernel kernel = matrix_product(1, 2048, 2048, 4096);
  const double full = time_of(unit_roofline(), kernel, matching);
  EXPECT_NEAR(full / (2.0 * 2048 * 2048 * (4096 + 128) / 312e12), 1, 1e-12);
  EXPECT_NEAR(time_of(unit_roofline(), kernel) / full, 3 * 108 * 128.0 * 128 / 0.9 / (2048.0 * 2048), 1e-12);
}

TEST(Roofline, LosesMoreOnAShortDepth) {
  const double deep = time_of(unit_roofline(), matrix_product(1, 32768, 27648, 4096)) / 4096;
  const double shallow = time_of(unit_roofline(), matrix_product(1, 32768, 27648, 512)) / 512;
  EXPECT_NEAR(shallow / deep, (1 + 128.0 / 512) / (1 + 128.0 / 4096), 1e-9);
}

TEST(Roofline, IsBoundByMemoryWhenARowMeetsAMatrix) {
  const Kernel kernel = matrix_product(1, 1, 16384, 16384);
  EXPECT_DOUBLE_EQ(time_of(unit_roofline(), kernel), kernel.bytes.value() / 2039e9);
}

TEST(Roofline, DealsTilesWithoutWavesWhenTheMultiprocessorsAreUnknown) {
  scenario::Accelerator unknown = a100();
  unknown.multiprocessors = 0;
  EXPECT_NEAR(time_of(unit_roofline(), matrix_product(1, 2048, 2048, 4096), unknown),
              2.0 * 2048 * 2048 * (4096 + 128) / 312e12, 1e-12);
}

TEST(Roofline, IsNeverFasterThanIdealAtPeak) {
  std::mt19937 random(20210604);
  std::uniform_int_distribution<std::int64_t> size(1, 9000);
  std::uniform_int_distribution<int> batch(1, 64);
  for (int i = 0; i < 2000; ++i) {
    const Kernel kernel = matrix_product(batch(random), size(random), size(random), size(random));
    EXPECT_GE(time_of(unit_roofline(), kernel), time_of(ideal(), kernel) * (1 - 1e-12))
        << kernel.batch << " x " << kernel.m << " x " << kernel.n << " x " << kernel.k;
  }
}

TEST(Roofline, DoesNotGetFasterWhenAnySizeGrows) {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> size(1, 5000);
  std::uniform_int_distribution<std::int64_t> growth(0, 700);
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t m = size(random);
    const std::int64_t n = size(random);
    const std::int64_t k = size(random);
    const double small = time_of(roofline(), matrix_product(3, m, n, k));
    EXPECT_GE(time_of(roofline(), matrix_product(3, m + growth(random), n, k)), small);
    EXPECT_GE(time_of(roofline(), matrix_product(3, m, n + growth(random), k)), small);
    EXPECT_GE(time_of(roofline(), matrix_product(3, m, n, k + growth(random))), small);
    EXPECT_GE(time_of(roofline(), matrix_product(4, m, n, k)), small);
  }
}

TEST(CostModels, DoNotGetFasterWhenFlopsOrBytesGrow) {
  for (const scenario::PluginChoice& choice : {ideal(), roofline()}) {
    Kernel kernel = matrix_product(2, 1000, 1000, 1000);
    double before = time_of(choice, kernel);
    for (int i = 0; i < 20; ++i) {
      kernel.flops = kernel.flops * 1.5;
      const double more_flops = time_of(choice, kernel);
      EXPECT_GE(more_flops, before) << choice.name;
      kernel.bytes = kernel.bytes * 2;
      before = time_of(choice, kernel);
      EXPECT_GE(before, more_flops) << choice.name;
    }
  }
}

TEST(CostModels, NameTheAcceleratorAndItsTypesWhenThePeakIsMissing) {
  for (const scenario::PluginChoice& choice : {ideal(), roofline()}) {
    try {
      static_cast<void>(time_of(choice, matrix_product(1, 64, 64, 64), a100(), scenario::DataType::kFp8));
      FAIL() << choice.name;
    } catch (const error::ScenarioError& fault) {
      EXPECT_NE(fault.fault().problem.find("a100-sxm-80gb"), std::string::npos);
      EXPECT_EQ(fault.fault().read, "fp8");
      EXPECT_EQ(fault.fault().allowed, "fp32, tf32, fp16, bf16");
    }
  }
}

TEST(CostModels, HaveTheDefaultsOfTheDocumentation) {
  const catalog::Catalog<CostModel> models = cost_models();
  ASSERT_EQ(models.entries().size(), 3U);
  EXPECT_EQ(models.entries()[0].info.name, "calibrated");
  std::string intervals;
  for (std::size_t i = 1; i <= 6; ++i) {
    intervals += models.entries()[0].info.parameters.at(i).default_value + " ";
  }
  EXPECT_EQ(intervals, "41 us 71 us 306 us 33 us 69 us 112 us ");
  EXPECT_EQ(models.entries()[1].info.name, "ideal");
  EXPECT_EQ(models.entries()[2].info.name, "roofline");
  EXPECT_EQ(models.entries()[2].info.parameters.at(0).default_value, "5 us");
}

}  // namespace
}  // namespace lamina::model
