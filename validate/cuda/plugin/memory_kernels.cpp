// Which kernel of ours a memory-bound kernel of the cost model is, and on how many elements, so that it moves as many
// bytes as the model counts.
#include <algorithm>
#include <string>

#include "validate/cuda/plugin/kernel_runner.hpp"

namespace lamina::validate::cuda {
namespace {

using model::Pass;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::size_t bytes_of(const KernelCall& call) {
  return static_cast<std::size_t>(call.kernel.bytes.value());
}

/// At least 1, for models that have no such size.
std::size_t width_of(std::int64_t size) {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, size));
}

}  // namespace

void KernelRunner::move_memory(const KernelCall& call, Cursor& cursor, cudaStream_t stream) {
  const std::string& name = call.kernel.name;
  if (ends_with(name, "_norm")) {
    norms(call, stream);
  } else if (ends_with(name, "_bias")) {
    const std::size_t width = width_of(setup_.hidden);
    const std::size_t rows = bytes_of(call) / (kernels::bytes_of(element_) * width);
    const void* dy = inputs_.take(rows * width * kernels::bytes_of(element_));
    LAMINA_CHECKED(kernels::column_sums(dy, reinterpret_cast<float*>(sums_.data()), rows, static_cast<int>(width),
                                        element_, stream));
  } else if (name == "softmax") {
    softmax(call, stream);
  } else if (name == "cross_entropy") {
    loss(call, stream);
  } else if (name == "embedding_lookup") {
    lookup(call, cursor, stream);
  } else if (ends_with(name, "_dropout") || (ends_with(name, "_residual") && setup_.dropout)) {
    drop(call, stream);
  } else {
    elementwise(call, stream);
  }
}

void KernelRunner::norms(const KernelCall& call, cudaStream_t stream) {
  const bool backward = call.pass == Pass::kInputGradient;
  const std::size_t arrays = !backward ? 2 : call.kernel.name == "final_norm" ? 3 : 4;  // read and written
  const std::size_t width = width_of(setup_.hidden);
  const std::size_t row = width * kernels::bytes_of(element_);
  const std::size_t rows = bytes_of(call) / (arrays * row);
  const auto columns = static_cast<int>(width);
  const void* x = inputs_.take(rows * row);
  if (call.pass == Pass::kWeightGradient) {
    const void* dy = inputs_.take(rows * row);
    LAMINA_CHECKED(
        kernels::norm_scale_gradient(x, dy, reinterpret_cast<float*>(sums_.data()), rows, columns, element_, stream));
  } else if (backward) {
    const void* dy = inputs_.take(rows * row);
    const void* residual = arrays == 4 ? inputs_.take(rows * row) : nullptr;
    LAMINA_CHECKED(kernels::norm_gradient(x, dy, residual, outputs_.take(rows * row), rows, columns, element_, stream));
  } else {
    LAMINA_CHECKED(kernels::norm(x, outputs_.take(rows * row), rows, columns, element_, stream));
  }
}

void KernelRunner::softmax(const KernelCall& call, cudaStream_t stream) {
  const bool backward = call.pass == Pass::kInputGradient;
  const std::size_t width = width_of(setup_.sequence);
  const std::size_t row = width * kernels::bytes_of(element_);
  const std::size_t rows = bytes_of(call) / ((backward ? 3 : 2) * row);
  const auto columns = static_cast<int>(width);
  const void* x = inputs_.take(rows * row);
  if (backward) {
    const void* dy = inputs_.take(rows * row);
    LAMINA_CHECKED(kernels::softmax_gradient(x, dy, outputs_.take(rows * row), rows, columns, element_, stream));
  } else {
    LAMINA_CHECKED(kernels::softmax(x, outputs_.take(rows * row), rows, columns, element_, stream));
  }
}

void KernelRunner::loss(const KernelCall& call, cudaStream_t stream) {
  const std::size_t width = width_of(setup_.vocabulary);
  const std::size_t element = kernels::bytes_of(element_);
  const std::size_t rows = bytes_of(call) / ((element + sizeof(float)) * width);
  const std::size_t floats = rows * width * sizeof(float);
  const auto columns = static_cast<int>(width);
  if (call.pass == Pass::kInputGradient) {
    const auto* probabilities = reinterpret_cast<const float*>(inputs_.take(floats));
    void* gradient = outputs_.take(rows * width * element);
    LAMINA_CHECKED(kernels::cross_entropy_gradient(probabilities, gradient, rows, columns, element_, stream));
  } else {
    const void* logits = inputs_.take(rows * width * element);
    auto* probabilities = reinterpret_cast<float*>(outputs_.take(floats));
    LAMINA_CHECKED(kernels::cross_entropy(logits, probabilities, rows, columns, element_, stream));
  }
}

void KernelRunner::lookup(const KernelCall& call, Cursor& cursor, cudaStream_t stream) {
  const std::size_t width = width_of(setup_.hidden);
  const std::size_t element = kernels::bytes_of(element_);
  const std::size_t table_rows = width_of(setup_.vocabulary);
  const auto columns = static_cast<int>(width);
  if (call.pass == Pass::kWeightGradient) {
    const std::size_t of_gradient = size_of(gradient_type_);
    const std::size_t rows = bytes_of(call) / ((element + 2 * of_gradient) * width);
    const void* dy = inputs_.take(rows * width * element);
    void* table = gradients(cursor, table_rows * width * of_gradient);
    LAMINA_CHECKED(kernels::lookup_gradient(dy, table, rows, columns, table_rows, element_, gradient_element_, stream));
  } else {
    const std::size_t rows = bytes_of(call) / (2 * width * element);
    const void* table = weights(cursor, table_rows * width * element);
    LAMINA_CHECKED(
        kernels::lookup(table, outputs_.take(rows * width * element), rows, columns, table_rows, element_, stream));
  }
}

/// Dropout, alone or with the residual that follows it; a byte of mask per element.
void KernelRunner::drop(const KernelCall& call, cudaStream_t stream) {
  const bool backward = call.pass == Pass::kInputGradient || call.pass == Pass::kWeightGradient;
  const bool residual = ends_with(call.kernel.name, "_residual");
  const std::size_t element = kernels::bytes_of(element_);
  const std::size_t arrays = residual && !backward ? 3 : 2;
  const std::size_t count = bytes_of(call) / (arrays * element + 1);
  const void* x = inputs_.take(count * element);
  if (backward) {
    const auto* mask = reinterpret_cast<const std::uint8_t*>(inputs_.take(count));
    LAMINA_CHECKED(kernels::dropout_gradient(x, mask, outputs_.take(count * element), count, element_, stream));
  } else {
    const void* added = residual ? inputs_.take(count * element) : nullptr;
    auto* mask = reinterpret_cast<std::uint8_t*>(outputs_.take(count));
    LAMINA_CHECKED(kernels::dropout(x, added, outputs_.take(count * element), mask, count, 1, element_, stream));
  }
}

void KernelRunner::elementwise(const KernelCall& call, cudaStream_t stream) {
  const std::string& name = call.kernel.name;
  const bool backward = call.pass == Pass::kInputGradient;
  std::size_t arrays = 2;
  if (name == "swiglu") {
    arrays = backward ? 5 : 3;
  } else if ((name == "gelu" && backward) || ends_with(name, "_residual") || name == "position_embedding") {
    arrays = 3;
  }
  const std::size_t count = bytes_of(call) / (arrays * kernels::bytes_of(element_));
  const std::size_t size = count * kernels::bytes_of(element_);
  const void* x = inputs_.take(size);
  const void* y = arrays > 2 ? inputs_.take(size) : nullptr;
  void* out = outputs_.take(size);
  if (name == "swiglu" && backward) {
    const void* dy = inputs_.take(size);
    void* d_up = outputs_.take(size);
    LAMINA_CHECKED(kernels::swiglu_gradient(x, y, dy, out, d_up, count, element_, stream));
  } else if (name == "swiglu") {
    LAMINA_CHECKED(kernels::swiglu(x, y, out, count, element_, stream));
  } else if (name == "gelu" && backward) {
    LAMINA_CHECKED(kernels::gelu_gradient(x, y, out, count, element_, stream));
  } else if (name == "gelu") {
    LAMINA_CHECKED(kernels::gelu(x, out, count, element_, stream));
  } else if (arrays == 3) {
    LAMINA_CHECKED(kernels::add(x, y, out, count, element_, stream));
  } else if (name == "rotary" && setup_.head > 1 && setup_.head % 2 == 0) {
    const auto head = static_cast<int>(setup_.head);
    const auto sequence = static_cast<int>(width_of(setup_.sequence));
    LAMINA_CHECKED(kernels::rotary(x, out, count, head, head, sequence, element_, stream));
  } else {
    LAMINA_CHECKED(kernels::copy(x, out, count, element_, stream));
  }
}

}  // namespace lamina::validate::cuda
