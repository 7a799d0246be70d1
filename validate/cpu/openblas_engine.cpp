// Plug-in "openblas": matrix products by OpenBLAS, in float32; distributions build it without its products of bf16.
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include <cblas.h>
#include <dlfcn.h>

#include "validate/cpu/products.hpp"

namespace lamina::validate::cpu {
namespace {

blasint to_blas(std::int64_t size) {
  if (size > std::numeric_limits<blasint>::max()) {
    throw std::runtime_error("OpenBLAS of this build has no matrices with a side of " + std::to_string(size));
  }
  return static_cast<blasint>(size);
}

/// OpenBLAS's own function. Names of BLAS are everyone's: the command has loaded GSL's slow one with SimGrid, and a
/// call by name would be to that.
decltype(&cblas_sgemm) find_sgemm() {
  Dl_info library{};
  const bool known = dladdr(reinterpret_cast<const void*>(&openblas_get_config), &library) != 0;
  void* handle = known ? dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  void* address = handle != nullptr ? dlsym(handle, "cblas_sgemm") : nullptr;
  if (address == nullptr) {
    throw std::runtime_error("OpenBLAS has no cblas_sgemm here; take another build of it, or another engine");
  }
  return reinterpret_cast<decltype(&cblas_sgemm)>(address);
}

class OpenBlas final : public Products {
 public:
  explicit OpenBlas(bool half) : sgemm_(find_sgemm()) {
    if (half) {
      throw std::runtime_error("OpenBLAS multiplies float32 only; set strategy.precision.compute to fp32");
    }
    openblas_set_num_threads(1);
  }

  [[nodiscard]] std::string description() const override {
    const std::string options = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
    const std::size_t version = options.find(' ');
    return options.substr(0, options.find(' ', version == std::string::npos ? version : version + 1)) +
           ", kernels for " + openblas_get_corename() + ", float32";
  }

  void run(const Shape& shape, const char* a, const char* b, char* c) override {
    const blasint m = to_blas(shape.m);
    const blasint n = to_blas(shape.n);
    const blasint k = to_blas(shape.k);
    const float kept = shape.accumulate ? 1.0F : 0.0F;
    for (std::int64_t one = 0; one < shape.batch; ++one) {
      sgemm_(CblasRowMajor, shape.transpose_a ? CblasTrans : CblasNoTrans,
             shape.transpose_b ? CblasTrans : CblasNoTrans, m, n, k, 1.0F,
             reinterpret_cast<const float*>(a) + one * shape.m * shape.k, shape.transpose_a ? m : k,
             reinterpret_cast<const float*>(b) + one * shape.k * shape.n, shape.transpose_b ? k : n, kept,
             reinterpret_cast<float*>(c) + one * shape.m * shape.n, n);
    }
  }

 private:
  decltype(&cblas_sgemm) sgemm_;
};

}  // namespace
}  // namespace lamina::validate::cpu

extern "C" {
__attribute__((visibility("default"))) int lamina_plugin_version() {
  return lamina::validate::kPluginVersion;
}

__attribute__((visibility("default"))) lamina::validate::cpu::Products* lamina_make_products(bool half) {
  return std::make_unique<lamina::validate::cpu::OpenBlas>(half).release();
}
}
