#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "validate/cpu/kernel_engine.hpp"
#include "validate/cpu/products.hpp"

namespace lamina::validate::cpu {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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
