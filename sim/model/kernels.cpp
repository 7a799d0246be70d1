#include "sim/model/kernels.hpp"

#include <utility>

namespace lamina::model {
namespace {

Kernel matrix_product(const ParameterProduct& product, std::int64_t m, std::int64_t n, std::int64_t k, double bytes) {
  Kernel kernel;
  kernel.name = product.name;
  kernel.kind = KernelKind::kMatrixProduct;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.row_lengths = product.n | product.k;
  kernel.flops = Flops(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
  kernel.bytes = Bytes(bytes);
  kernel.type = product.type;
  return kernel;
}

double elements(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

/// Per element of an operand in fp8: 16 bits read, written as they lie and transposed; the transposed copy alone.
constexpr double kCastBytes = 2 + 1 + 1;
constexpr double kTransposeBytes = 1 + 1;

bool is_narrow(const ParameterProduct& product, const Shape& shape) {
  return shape.narrow && !product.type.has_value();
}

double operand_bytes(const ParameterProduct& product, const Shape& shape) {
  return product.type.has_value() ? scenario::bytes_of(*product.type) : shape.operand_bytes;
}

}  // namespace

Kernel forward_product(const ParameterProduct& product, const Shape& shape) {
  const auto& [name, m, n, k, type, after_norm] = product;
  return matrix_product(
      product, m, n, k,
      operand_bytes(product, shape) * (elements(m, k) + elements(k, n)) + shape.activation_bytes * elements(m, n));
}

Kernel input_gradient_product(const ParameterProduct& product, const Shape& shape) {
  const auto& [name, m, n, k, type, after_norm] = product;
  return matrix_product(
      product, m, k, n,
      operand_bytes(product, shape) * (elements(m, n) + elements(k, n)) + shape.activation_bytes * elements(m, k));
}

Kernel weight_gradient_product(const ParameterProduct& product, const Shape& shape) {
  const auto& [name, m, n, k, type, after_norm] = product;
  const double result_bytes = shape.fused_gradients ? 2 * shape.weight_gradient_bytes : shape.activation_bytes;
  return matrix_product(
      product, k, n, m,
      operand_bytes(product, shape) * (elements(m, k) + elements(m, n)) + result_bytes * elements(k, n));
}

Kernel gradient_accumulation(double parameters, const Shape& shape) {
  return memory_bound("gradient_accumulation", (2 * shape.weight_gradient_bytes + shape.activation_bytes) * parameters);
}

void add_forward(BlockKernels& block, const ParameterProduct& product, const Shape& shape) {
  if (is_narrow(product, shape)) {
    const double bytes = product.after_norm ? kTransposeBytes : kCastBytes;
    block.of(Pass::kForward).push_back(memory_bound(product.name + "_cast", bytes * elements(product.m, product.k)));
  }
  block.of(Pass::kForward).push_back(forward_product(product, shape));
}

void add_backward(BlockKernels& block, const ParameterProduct& product, const Shape& shape) {
  if (is_narrow(product, shape)) {
    block.of(Pass::kInputGradient)
        .push_back(memory_bound(product.name + "_gradient_cast", kCastBytes * elements(product.m, product.n)));
  }
  block.of(Pass::kInputGradient).push_back(input_gradient_product(product, shape));
  std::vector<Kernel>& weight_gradient = block.of(Pass::kWeightGradient);
  weight_gradient.push_back(weight_gradient_product(product, shape));
  if (!shape.fused_gradients) {
    weight_gradient.push_back(gradient_accumulation(elements(product.k, product.n), shape));
  }
}

Kernel memory_bound(std::string name, double bytes) {
  Kernel kernel;
  kernel.name = std::move(name);
  kernel.kind = KernelKind::kMemoryBound;
  kernel.bytes = Bytes(bytes);
  return kernel;
}

std::optional<scenario::DataType> wide_type(const Shape& shape) {
  return shape.narrow ? std::optional(scenario::DataType::kBf16) : std::nullopt;
}

std::vector<Kernel> optimizer_kernels(double parameters, const scenario::Strategy& strategy) {
  const scenario::Precision& precision = strategy.precision;
  const double gradient = scenario::bytes_of(precision.gradients);
  const double adam = 2 * precision.state_bytes_per_parameter + gradient + scenario::bytes_of(precision.weights);
  std::vector<Kernel> kernels = {memory_bound("optimizer", parameters * adam)};
  if (!strategy.fused_optimizer) {
    constexpr double kSingle = 4;  // bytes of fp32
    const double cast = gradient < kSingle ? gradient + kSingle : 0;
    const double unscaling = precision.compute == scenario::DataType::kFp16 ? 2 * kSingle : 0;
    const double norm_and_clipping = 3 * kSingle;
    const double zeroing = gradient;
    const double adam_reads_cast = kSingle - gradient;
    const double master_weights = kSingle;
    const double passes = cast + unscaling + norm_and_clipping + zeroing + adam_reads_cast + master_weights;
    kernels.push_back(memory_bound("optimizer_passes", parameters * passes));
  }
  return kernels;
}

}  // namespace lamina::model
