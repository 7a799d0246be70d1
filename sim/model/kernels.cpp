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
  kernel.flops = Flops(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
  kernel.bytes = Bytes(bytes);
  kernel.type = product.type;
  return kernel;
}

double elements(std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns);
}

double operand_bytes(const ParameterProduct& product, const Shape& shape) {
  return product.type.has_value() ? scenario::bytes_of(*product.type) : shape.operand_bytes;
}

}  // namespace

Kernel forward_product(const ParameterProduct& product, const Shape& shape) {
  const auto& [name, m, n, k, type] = product;
  return matrix_product(
      product, m, n, k,
      operand_bytes(product, shape) * (elements(m, k) + elements(k, n)) + shape.activation_bytes * elements(m, n));
}

Kernel input_gradient_product(const ParameterProduct& product, const Shape& shape) {
  const auto& [name, m, n, k, type] = product;
  return matrix_product(
      product, m, k, n,
      operand_bytes(product, shape) * (elements(m, n) + elements(k, n)) + shape.activation_bytes * elements(m, k));
}

Kernel weight_gradient_product(const ParameterProduct& product, const Shape& shape) {
  const auto& [name, m, n, k, type] = product;
  return matrix_product(product, k, n, m,
                        operand_bytes(product, shape) * (elements(m, k) + elements(m, n)) +
                            2 * shape.weight_gradient_bytes * elements(k, n));
}

void add_forward(BlockKernels& block, const ParameterProduct& product, const Shape& shape) {
  block.of(Pass::kForward).push_back(forward_product(product, shape));
}

void add_backward(BlockKernels& block, const ParameterProduct& product, const Shape& shape) {
  block.of(Pass::kInputGradient).push_back(input_gradient_product(product, shape));
  block.of(Pass::kWeightGradient).push_back(weight_gradient_product(product, shape));
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

Kernel optimizer_kernel(double parameters, const scenario::Precision& precision) {
  const double per_parameter = 2 * precision.state_bytes_per_parameter + scenario::bytes_of(precision.gradients) +
                               scenario::bytes_of(precision.weights);
  return memory_bound("optimizer", parameters * per_parameter);
}

}  // namespace lamina::model
