// Plug-in "onednn": matrix products by oneDNN.
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

#include <oneapi/dnnl/dnnl.hpp>

#include "validate/cpu/products.hpp"

namespace lamina::validate::cpu {
namespace {

using dnnl::memory;

const char* name_of(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::avx512_core_amx:
      return "AVX-512, AMX";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "AVX-512, bf16";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "AVX-512, VNNI";
    case dnnl::cpu_isa::avx512_core:
      return "AVX-512";
    case dnnl::cpu_isa::avx2_vnni:
    case dnnl::cpu_isa::avx2:
      return "AVX2";
    default:
      return "another instruction set";
  }
}

class OneDnn final : public Products {
 public:
  explicit OneDnn(bool half) : half_(half) {
    if (half && dnnl::get_effective_cpu_isa() < dnnl::cpu_isa::avx512_core) {
      throw std::runtime_error(
          "oneDNN multiplies bf16 on processors with AVX-512 only; set strategy.precision.compute to fp32");
    }
  }

  [[nodiscard]] std::string description() const override {
    const dnnl_version_t* version = dnnl_version();
    return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
           std::to_string(version->patch) + ", " + name_of(dnnl::get_effective_cpu_isa()) + ", " +
           (half_ ? "bf16" : "float32");
  }

  void run(const Shape& shape, const char* a, const char* b, char* c) override {
    Product& product = find(shape);
    product.a.set_data_handle(const_cast<char*>(a));  // read only: the library has one kind of handle
    product.b.set_data_handle(const_cast<char*>(b));
    product.c.set_data_handle(c);
    product.primitive.execute(stream_, product.arguments);
    stream_.wait();
  }

 private:
  struct Product {
    dnnl::matmul primitive;
    memory a;
    memory b;
    memory c;
    std::unordered_map<int, memory> arguments;
  };

  Product& find(const Shape& shape) {
    const auto found = products_.find(shape);
    if (found != products_.end()) {
      return found->second;
    }
    const auto type = half_ ? memory::data_type::bf16 : memory::data_type::f32;
    const auto tag = [](bool transposed) { return transposed ? memory::format_tag::acb : memory::format_tag::abc; };
    const memory::desc a({shape.batch, shape.m, shape.k}, type, tag(shape.transpose_a));
    const memory::desc b({shape.batch, shape.k, shape.n}, type, tag(shape.transpose_b));
    const memory::desc c({shape.batch, shape.m, shape.n}, shape.accumulate ? memory::data_type::f32 : type, tag(false));
    dnnl::primitive_attr attributes;
    if (shape.accumulate) {
      dnnl::post_ops sum;
      sum.append_sum(1.0F);
      attributes.set_post_ops(sum);
    }
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, c), attributes, engine_);
    Product product{dnnl::matmul(description),
                    memory(a, engine_, nullptr),
                    memory(b, engine_, nullptr),
                    memory(c, engine_, nullptr),
                    {}};
    product.arguments = {{DNNL_ARG_SRC, product.a}, {DNNL_ARG_WEIGHTS, product.b}, {DNNL_ARG_DST, product.c}};
    return products_.emplace(shape, std::move(product)).first->second;
  }

  bool half_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<Shape, Product> products_;
};

}  // namespace
}  // namespace lamina::validate::cpu

extern "C" {
__attribute__((visibility("default"))) int lamina_plugin_version() {
  return lamina::validate::kPluginVersion;
}

__attribute__((visibility("default"))) lamina::validate::cpu::Products* lamina_make_products(bool half) {
  return std::make_unique<lamina::validate::cpu::OneDnn>(half).release();
}
}
