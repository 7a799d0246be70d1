#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "validate/cpu/kernel_engine.hpp"
#include "validate/cpu/products.hpp"

namespace lamina::validate::cpu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

float rounded(float value, bool half) {
  return half ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffff0000U) : value;
}

/// Numbers as a library reads and writes them: bf16 is the upper half of a float32.
class Matrix {
 public:
  Matrix(std::int64_t count, bool half, std::uint32_t seed)
      : half_(half), bytes_(static_cast<std::size_t>(count) * (half ? 2 : 4)) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      seed = seed * 1664525U + 1013904223U;
      const float value = rounded(static_cast<float>(seed >> 8) / 8388608.0F - 1, half);
      const auto bits = std::bit_cast<std::uint32_t>(value);
      const auto upper = static_cast<std::uint16_t>(bits >> 16);
      std::memcpy(bytes_.data() + i * (half ? 2 : 4), half ? static_cast<const void*>(&upper) : &bits, half ? 2 : 4);
    }
  }

  [[nodiscard]] char* data() { return bytes_.data(); }

  [[nodiscard]] double at(std::int64_t index) const {
    std::uint32_t bits = 0;
    if (half_) {
      std::uint16_t upper = 0;
      std::memcpy(&upper, bytes_.data() + index * 2, 2);
      bits = static_cast<std::uint32_t>(upper) << 16;
    } else {
      std::memcpy(&bits, bytes_.data() + index * 4, 4);
    }
    return static_cast<double>(std::bit_cast<float>(bits));
  }

 private:
  bool half_;
  std::vector<char> bytes_;
};

/// In double precision, straight from the definition.
std::vector<double> product_of(const Shape& shape, const Matrix& a, const Matrix& b, const Matrix& c) {
  std::vector<double> result;
  for (std::int64_t one = 0; one < shape.batch; ++one) {
    for (std::int64_t i = 0; i < shape.m; ++i) {
      for (std::int64_t j = 0; j < shape.n; ++j) {
        double sum = shape.accumulate ? c.at((one * shape.m + i) * shape.n + j) : 0;
        for (std::int64_t l = 0; l < shape.k; ++l) {
          const std::int64_t in_a = shape.transpose_a ? l * shape.m + i : i * shape.k + l;
          const std::int64_t in_b = shape.transpose_b ? j * shape.k + l : l * shape.n + j;
          sum += a.at(one * shape.m * shape.k + in_a) * b.at(one * shape.k * shape.n + in_b);
        }
        result.push_back(sum);
      }
    }
  }
  return result;
}

/// Nothing, and the test is skipped, where this build has no such plug-in.
std::unique_ptr<ProductLibrary> library_of(const std::string& name) {
  try {
    return std::make_unique<ProductLibrary>(name);
  } catch (const error::EnvironmentError& missing) {
    EXPECT_THAT(missing.what(), HasSubstr("is not in"));
    return nullptr;
  }
}

std::unique_ptr<Products> products_of(const ProductLibrary& library, bool half) {
  try {
    return library.make(half);
  } catch (const std::runtime_error& refused) {
    EXPECT_THAT(refused.what(), HasSubstr("strategy.precision.compute"));
    return nullptr;
  }
}

class ProductsOf : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(ProductsOf, AreThoseOfTheDefinitionTransposedAndAccumulated) {
  const auto [name, half] = GetParam();
  const auto library = library_of(name);
  if (!library) {
    GTEST_SKIP() << "built without " << name;
  }
  const auto products = products_of(*library, half);
  if (!products) {
    GTEST_SKIP() << name << " does not multiply this type here";
  }
  for (const std::int64_t batch : {1, 3}) {
    for (int kind = 0; kind < 8; ++kind) {
      const Shape shape{batch, 33, 70, 129, (kind & 1) != 0, (kind & 2) != 0, (kind & 4) != 0};
      SCOPED_TRACE(testing::Message() << "batch " << batch << ", kind " << kind);
      Matrix a(batch * shape.m * shape.k, half, 1);
      Matrix b(batch * shape.k * shape.n, half, 2);
      Matrix c(batch * shape.m * shape.n, half && !shape.accumulate, 3);
      const std::vector<double> expected = product_of(shape, a, b, c);
      products->run(shape, a.data(), b.data(), c.data());
      // k sums of numbers below 1 in float32 (2^-24 each); a result in bf16 is cut to 8 bits.
      const double of_sums = static_cast<double>(shape.k) * std::ldexp(1.0, -24) * static_cast<double>(shape.k);
      const double of_result = half && !shape.accumulate ? std::ldexp(1.0, -8) : std::ldexp(1.0, -23);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(c.at(static_cast<std::int64_t>(i)), expected[i], of_sums + of_result * std::fabs(expected[i])) << i;
      }
    }
  }
}

using Kind = std::tuple<const char*, bool>;
INSTANTIATE_TEST_SUITE_P(Engines, ProductsOf,
                         testing::Values(Kind{"onednn", false}, Kind{"onednn", true}, Kind{"openblas", false}),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param)) + (std::get<1>(one.param) ? "Half" : "Single");
                         });

TEST(OpenBlasProducts, RefuseBf16AndTellTheirVersion) {
  const auto library = library_of("openblas");
  if (!library) {
    GTEST_SKIP() << "built without OpenBLAS";
  }
  EXPECT_THROW((void)library->make(true), std::runtime_error);
  EXPECT_THAT(library->make(false)->description(),
              testing::MatchesRegex("OpenBLAS [0-9]+\\.[0-9.]+(dev)?, kernels for [A-Za-z0-9]+, float32"));
}

/// Processor time of this thread that `run` takes.
double seconds_of(const std::function<void()>& run) {
  const auto now = [] {
    timespec date{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &date);
    return static_cast<double>(date.tv_sec) + static_cast<double>(date.tv_nsec) * 1e-9;
  };
  const double start = now();
  run();
  return now() - start;
}

// This program has GSL's functions of the same names in it (SimGrid brings them), plain loops. Which of them ran can be
// told by the time alone: the best kernels are 20 to 100 times as fast as loops, plain ones 3 times.
TEST(OpenBlasProducts, AreNotThoseOfAnotherLibraryWithTheSameNames) {
  const auto library = library_of("openblas");
  if (!library) {
    GTEST_SKIP() << "built without OpenBLAS";
  }
  constexpr std::int64_t kSide = 384;
  constexpr std::size_t kCount = kSide * kSide;
  std::vector<float> a(kCount, 0.5F);
  std::vector<float> b(kCount, 0.25F);
  std::vector<float> c(kCount, 0);
  const double loops = seconds_of([&] {
    for (std::size_t i = 0; i < kSide; ++i) {
      for (std::size_t l = 0; l < kSide; ++l) {
        for (std::size_t j = 0; j < kSide; ++j) {
          c[i * kSide + j] += a[i * kSide + l] * b[l * kSide + j];
        }
      }
    }
  });
  std::vector<float> result(kCount, 0);
  const auto products = library->make(false);
  const Shape shape{1, kSide, kSide, kSide};
  double fastest = loops;
  for (int round = 0; round < 5; ++round) {
    fastest = std::min(fastest, seconds_of([&] {
                         products->run(shape, reinterpret_cast<const char*>(a.data()),
                                       reinterpret_cast<const char*>(b.data()), reinterpret_cast<char*>(result.data()));
                       }));
  }
  EXPECT_EQ(result, c);  // sums of eighths: exact
  EXPECT_GT(loops, 8 * fastest);
}

/// Counts what it is asked for, and computes nothing.
class CountedProducts final : public Products {
 public:
  explicit CountedProducts(std::vector<Shape>& shapes) : shapes_(shapes) {}

  [[nodiscard]] std::string description() const override { return "none"; }

  void run(const Shape& shape, const char* /*a*/, const char* /*b*/, char* /*c*/) override { shapes_.push_back(shape); }

 private:
  std::vector<Shape>& shapes_;
};

model::Kernel product(const std::string& name, std::int64_t m, std::int64_t n, std::int64_t k, double batch = 1) {
  model::Kernel kernel;
  kernel.kind = model::KernelKind::kMatrixProduct;
  kernel.name = name;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.batch = batch;
  kernel.flops = Flops(2.0 * batch * static_cast<double>(m * n * k));
  return kernel;
}

TEST(KernelEngine, AsksForTransposedWeightsInTheInputGradientAndAddsUpTheWeightGradient) {
  const std::vector<std::vector<KernelCall>> lists = {{{product("qkv", 8, 24, 16), model::Pass::kForward, false},
                                                       {product("qkv", 8, 16, 24), model::Pass::kInputGradient, false},
                                                       {product("qkv", 16, 24, 8), model::Pass::kWeightGradient, false},
                                                       {product("scores", 8, 8, 4, 3), model::Pass::kForward, false}}};
  EngineSetup setup;
  setup.lists = &lists;
  setup.used = {1};
  setup.half = false;
  std::vector<Shape> shapes;
  const auto engine = make_kernel_engine(setup, std::make_unique<CountedProducts>(shapes));
  shapes.clear();
  engine->run(0, 0, 0);
  EXPECT_THAT(shapes, testing::ElementsAre(Shape{1, 8, 24, 16}, Shape{1, 8, 16, 24, false, true},
                                           Shape{1, 16, 24, 8, true, false, true}, Shape{3, 8, 8, 4}));
  EXPECT_EQ(engine->description(), "none, one core");
}

TEST(KernelEngine, RefusesMoreMemoryThanItMayTake) {
  const std::vector<std::vector<KernelCall>> lists = {{{product("qkv", 64, 64, 64), model::Pass::kForward, false}}};
  EngineSetup setup;
  setup.lists = &lists;
  setup.used = {1};
  setup.most_bytes = 1000;
  std::vector<Shape> shapes;
  try {
    (void)make_kernel_engine(setup, std::make_unique<CountedProducts>(shapes));
    FAIL() << "64 x 64 numbers in 1000 bytes";
  } catch (const std::runtime_error& refused) {
    EXPECT_THAT(refused.what(), AllOf(HasSubstr("MB of memory"), HasSubstr("smaller model")));
  }
  EXPECT_TRUE(shapes.empty());
}

}  // namespace
}  // namespace lamina::validate::cpu
