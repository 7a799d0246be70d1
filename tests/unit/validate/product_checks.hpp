#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "validate/cpu/products.hpp"

/// The same checks for every library of products.
namespace lamina::validate::cpu {

inline float rounded(float value, bool half) {
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
inline std::vector<double> product_of(const Shape& shape, const Matrix& a, const Matrix& b, const Matrix& c) {
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

/// Holds a library's products against the definition, transposed and accumulated; where the library does not multiply
/// the type on this processor, its refusal must say what to set.
inline void expect_products_of_the_definition(const std::string& name, bool half) {
  const ProductLibrary library(name);
  std::unique_ptr<Products> products;
  try {
    products = library.make(half);
  } catch (const std::runtime_error& refused) {
    EXPECT_TRUE(half);
    EXPECT_THAT(refused.what(), testing::HasSubstr("strategy.precision.compute"));
    return;
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

}  // namespace lamina::validate::cpu
