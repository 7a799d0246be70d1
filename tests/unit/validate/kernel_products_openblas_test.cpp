#include <algorithm>
#include <cstdint>
#include <ctime>
#include <functional>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/validate/product_checks.hpp"

namespace lamina::validate::cpu {
namespace {

TEST(OpenBlasProducts, AreThoseOfTheDefinition) {
  expect_products_of_the_definition("openblas", false);
}

TEST(OpenBlasProducts, RefuseBf16AndTellTheirVersion) {
  const ProductLibrary library("openblas");
  EXPECT_THROW((void)library.make(true), std::runtime_error);
  EXPECT_THAT(library.make(false)->description(),
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
  const ProductLibrary library("openblas");
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
  const auto products = library.make(false);
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

}  // namespace
}  // namespace lamina::validate::cpu
