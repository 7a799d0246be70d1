#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>

#include "sim/scenario/scenario.hpp"
#include "validate/cuda/plugin/resources.hpp"

namespace lamina::validate::cuda {

/// c[i] = op(a[i]) op(b[i]) for `batch` dense row-major matrices one after the other; op transposes. `accumulate` adds
/// to c.
struct Product {
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;  ///< a is stored k x m
  bool transpose_b = false;  ///< b is stored n x k
  bool accumulate = false;
  scenario::DataType in = scenario::DataType::kBf16;   ///< of a and b; fp8 is e4m3
  scenario::DataType out = scenario::DataType::kBf16;  ///< of c
  auto operator<=>(const Product&) const = default;
};

/// Bytes of an element on the device.
[[nodiscard]] std::size_t size_of(scenario::DataType type);

/// Matrix products by cuBLASLt, accumulated in float32: one plan per shape, made when it is first met.
class Products {
 public:
  static constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;

  Products();

  /// @param workspace kWorkspaceBytes that no other stream uses meanwhile
  /// @throws EnvironmentError when the device or the library does not multiply these types
  void run(const Product& product, const void* a, const void* b, void* c, void* workspace, cudaStream_t stream);

  /// What `run` does at its first call of a shape.
  void prepare(const Product& product) { (void)plan(product); }

 private:
  struct DestroyHandle {
    void operator()(cublasLtHandle_t handle) const { (void)cublasLtDestroy(handle); }
  };

  struct DestroyDescription {
    void operator()(cublasLtMatmulDesc_t description) const { (void)cublasLtMatmulDescDestroy(description); }
  };

  struct DestroyLayout {
    void operator()(cublasLtMatrixLayout_t layout) const { (void)cublasLtMatrixLayoutDestroy(layout); }
  };

  using Layout = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>, DestroyLayout>;

  struct Plan {
    std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>, DestroyDescription> description;
    Layout a;
    Layout b;
    Layout c;
    cublasLtMatmulAlgo_t algorithm{};
  };

  Plan& plan(const Product& product);
  void choose(const Product& product, Plan& plan);
  static Layout layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t batch);

  std::unique_ptr<std::remove_pointer_t<cublasLtHandle_t>, DestroyHandle> handle_;
  std::map<Product, Plan> plans_;
};

}  // namespace lamina::validate::cuda
