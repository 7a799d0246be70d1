#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/paths.hpp"
#include "tests/unit/model/model_fixtures.hpp"

// The roofline's constants against matrix products that others measured. One file tuned them (the H100 rows of the
// first test); the others are the check.
namespace lamina::model {
namespace {

struct Measurement {
  Kernel kernel;
  double seconds = 0;
};

using Row = std::vector<std::string>;

std::filesystem::path measured(const std::string& file) {
  return tests::shared_folder() / "measured" / "gemm" / file;
}

std::vector<Row> rows_of(const std::filesystem::path& path) {
  std::vector<Row> rows;
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line.front() == '#') {
      continue;
    }
    Row row;
    std::stringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) {
      row.push_back(cell);
    }
    rows.push_back(row);
  }
  if (!rows.empty()) {
    rows.erase(rows.begin());  // names of the columns
  }
  return rows;
}

std::vector<Measurement> xla_table(const std::string& device) {
  std::vector<Measurement> result;
  for (const Row& row : rows_of(measured("xla_default_matmul_perf_table.csv"))) {
    if (row.at(0) == device) {
      const Kernel kernel =
          matrix_product(std::stod(row.at(1)), std::stoll(row.at(2)), std::stoll(row.at(3)), std::stoll(row.at(4)));
      result.push_back({kernel, kernel.flops.value() / std::stod(row.at(5))});
    }
  }
  return result;
}

double median_error(const std::vector<Measurement>& measurements, const scenario::Accelerator& accelerator,
                    scenario::DataType type) {
  const catalog::Catalog<CostModel> models = cost_models();
  const scenario::PluginChoice choice = roofline();
  std::vector<double> errors;
  for (const Measurement& measurement : measurements) {
    const double predicted =
        models.find("roofline")->implementation->time(measurement.kernel, accelerator, type, choice.parameters).value();
    errors.push_back(std::abs(predicted / measurement.seconds - 1));
  }
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2), errors.end());
  const double median = errors.at(errors.size() / 2);
  testing::Test::RecordProperty("median_error", std::to_string(median));
  return median;
}

scenario::Accelerator device(double peak, double bandwidth, int multiprocessors) {
  scenario::Accelerator accelerator;
  accelerator.peak = {{scenario::DataType::kFp16, FlopsPerSecond(peak)},
                      {scenario::DataType::kBf16, FlopsPerSecond(peak)}};
  accelerator.memory_bandwidth = BytesPerSecond(bandwidth);
  accelerator.multiprocessors = multiprocessors;
  return accelerator;
}

TEST(RooflineMeasured, IsWithinFivePercentMedianOfTheH100TableThatTunedIt) {
  const std::vector<Measurement> table = xla_table("sm_90");
  if (table.empty()) {
    GTEST_SKIP() << "measured data is absent: gemm/xla_default_matmul_perf_table.csv";
  }
  EXPECT_LT(median_error(table, h100(), scenario::DataType::kBf16), 0.05);
}

// B200: 2250 TFLOP/s dense in 16 bits, 8 TB/s, 148 multiprocessors.
TEST(RooflineMeasured, IsWithinFifteenPercentMedianOfTheB200Table) {
  const std::vector<Measurement> table = xla_table("sm_100_B200");
  if (table.empty()) {
    GTEST_SKIP() << "measured data is absent: gemm/xla_default_matmul_perf_table.csv";
  }
  EXPECT_LT(median_error(table, device(2250e12, 8e12, 148), scenario::DataType::kBf16), 0.15);
}

// V100-SXM2: 125 TFLOP/s, 900 GB/s, 80 multiprocessors.
TEST(RooflineMeasured, IsWithinFifteenPercentMedianOfDeepBenchOnV100) {
  std::vector<Measurement> table;
  for (const Row& row : rows_of(measured("deepbench_v100.csv"))) {
    if (row.at(0) == "mixed_fp16") {
      table.push_back({matrix_product(1, std::stoll(row.at(2)), std::stoll(row.at(3)), std::stoll(row.at(4))),
                       std::stod(row.at(7)) * 1e-3});
    }
  }
  if (table.empty()) {
    GTEST_SKIP() << "measured data is absent: gemm/deepbench_v100.csv";
  }
  EXPECT_LT(median_error(table, device(125e12, 900e9, 80), scenario::DataType::kFp16), 0.15);
}

TEST(RooflineMeasured, IsWithinFifteenPercentMedianOfSquareProductsOnA100) {
  std::vector<Measurement> table;
  for (const Row& row : rows_of(measured("triton_docs_cublas_fp16_square.csv"))) {
    const std::int64_t size = std::stoll(row.at(1));
    const Kernel kernel = matrix_product(1, size, size, size);
    table.push_back({kernel, kernel.flops.value() / (std::stod(row.at(2)) * 1e12)});
  }
  if (table.empty()) {
    GTEST_SKIP() << "measured data is absent: gemm/triton_docs_cublas_fp16_square.csv";
  }
  EXPECT_LT(median_error(table, device(312e12, 1555e9, 108), scenario::DataType::kFp16), 0.15);
}

}  // namespace
}  // namespace lamina::model
