#include "validate/cuda/plugin/kernel_runner.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "sim/error/error.hpp"

namespace lamina::validate::cuda {
namespace {

using kernels::Element;
using model::KernelKind;
using model::Pass;
using scenario::DataType;

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kAdamBytes = 24;  ///< master weight and two moments in float, read and written
constexpr std::size_t kRingBytes = std::size_t{512} << 20;  ///< beyond all caches, where lists need less at once

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// What 16-bit and narrower activations are kept in.
DataType stored_type(DataType type) {
  return type == DataType::kFp8 ? DataType::kBf16 : type;
}

Element element_of(DataType type) {
  switch (stored_type(type)) {
    case DataType::kFp16:
      return Element::kHalf;
    case DataType::kFp32:
    case DataType::kTf32:
      return Element::kFloat;
    default:
      return Element::kBfloat;
  }
}

/// Products into 16 bits have one 16-bit type; which of the two does not change the bytes.
DataType output_type(DataType in, DataType wanted) {
  const DataType narrow = stored_type(in);
  return size_of(wanted) == 2 && size_of(narrow) == 2 ? narrow : wanted;
}

bool has_weights(const model::Kernel& kernel) {
  return kernel.batch <= 1;
}

std::size_t elements(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

bool is_attention(const model::Kernel& kernel) {
  return kernel.name.rfind("fused_attention", 0) == 0;
}

}  // namespace

Units units_of(const graph::Program& program) {
  Units units;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> numbers;
  for (const graph::Operation& operation : program.operations) {
    const auto next = static_cast<std::int32_t>(numbers.size());
    const bool computes = operation.kind == graph::OperationKind::kCompute;
    units.of_operation.push_back(computes ? numbers.try_emplace({operation.stage, operation.layer}, next).first->second
                                          : -1);
  }
  units.count = numbers.size();
  return units;
}

std::byte* KernelRunner::Ring::take(std::size_t bytes) {
  if (next + bytes > memory.size()) {
    next = 0;
  }
  std::byte* result = memory.data() + next;
  next += aligned(bytes);
  return result;
}

KernelRunner::KernelRunner(const DeviceSetup& setup, std::int32_t rank, Products& products, cudaStream_t stream)
    : setup_(setup),
      products_(products),
      used_(setup.calls->lists.size(), 0),
      element_(element_of(setup.precision.compute)),
      activation_type_(stored_type(setup.precision.compute)),
      gradient_type_(stored_type(setup.precision.gradients)),
      gradient_element_(element_of(setup.precision.gradients)) {
  if (!setup.hold_compute) {
    find_sizes(rank);
    allocate(stream);
  }
}

void KernelRunner::find_sizes(std::int32_t rank) {
  const auto of_program = static_cast<std::size_t>(setup_.deployment->ranks[static_cast<std::size_t>(rank)].program);
  const graph::Program& program = setup_.graph->programs[of_program];
  const Units units = units_of(program);
  const auto sets = [&](int limit) {
    return limit > 0 ? std::min(units.count, static_cast<std::size_t>(limit)) : units.count;
  };
  weight_bytes_.assign(std::max<std::size_t>(1, sets(setup_.weight_sets)), kAlignment);
  gradient_bytes_.assign(std::max<std::size_t>(1, sets(setup_.gradient_sets)), kAlignment);
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const std::int32_t list = setup_.calls->list_of[of_program][i];
    if (list == KernelCalls::kNone) {
      continue;
    }
    used_[static_cast<std::size_t>(list)] = 1;
    const auto unit = static_cast<std::size_t>(units.of_operation[i]);
    std::size_t weights = 0;
    std::size_t gradients = 0;
    for (const KernelCall& call : setup_.calls->lists[static_cast<std::size_t>(list)]) {
      const model::Kernel& kernel = call.kernel;
      const auto bytes = static_cast<std::size_t>(kernel.bytes.value());
      if (call.updates) {
        const std::size_t parameters = parameters_of(call);
        state_parameters_ = std::max(state_parameters_, parameters);
        weights = std::max(weights, parameters * size_of(stored_type(setup_.precision.weights)));
        gradients = std::max(gradients, parameters * size_of(gradient_type_));
      } else if (kernel.kind == KernelKind::kMemoryBound) {
        const std::size_t table = elements(setup_.vocabulary, setup_.hidden);
        weights += kernel.name == "embedding_lookup" && call.pass != Pass::kWeightGradient
                       ? table * kernels::bytes_of(element_)
                       : 0;
        gradients += kernel.name == "embedding_lookup" && call.pass == Pass::kWeightGradient
                         ? table * size_of(gradient_type_)
                         : 0;
        input_bytes_ = std::max(input_bytes_, bytes + 8 * kAlignment);
        output_bytes_ = std::max(output_bytes_, bytes + 8 * kAlignment);
      } else {
        const std::size_t batch = static_cast<std::size_t>(std::max(1.0, kernel.batch));
        const std::size_t of_a = elements(kernel.m, kernel.k);
        const std::size_t of_b = elements(kernel.k, kernel.n);
        const std::size_t of_c = elements(kernel.m, kernel.n);
        const std::size_t factor = is_attention(kernel) ? 4 : 1;  // q, k, v, o, their gradients, statistics
        input_bytes_ = std::max(input_bytes_, factor * batch * (of_a + of_b) * 4 + 8 * kAlignment);
        output_bytes_ =
            std::max(output_bytes_, factor * batch * (of_c + static_cast<std::size_t>(kernel.m)) * 4 + 8 * kAlignment);
        const bool of_weights = has_weights(kernel) && !is_attention(kernel);
        const bool accumulates = of_weights && call.pass == Pass::kWeightGradient;
        const std::size_t operand = size_of(kernel.type.value_or(setup_.precision.compute));
        weights += of_weights && !accumulates ? aligned(of_b * operand) : 0;
        gradients += accumulates ? aligned(of_c * std::max(size_of(gradient_type_), std::size_t{2})) : 0;
      }
    }
    std::size_t& of_weights = weight_bytes_[unit % weight_bytes_.size()];
    std::size_t& of_gradients = gradient_bytes_[unit % gradient_bytes_.size()];
    of_weights = std::max(of_weights, weights);
    of_gradients = std::max(of_gradients, gradients);
  }
}

void KernelRunner::allocate(cudaStream_t stream) {
  for (const std::size_t bytes : weight_bytes_) {
    weights_.emplace_back(bytes, "weights of a layer");
    fill(weights_.back(), stream);
  }
  for (const std::size_t bytes : gradient_bytes_) {
    gradients_.emplace_back(bytes, "gradients of a layer");
    fill(gradients_.back(), stream);
  }
  inputs_.memory = DeviceMemory(std::max(input_bytes_, std::min(kRingBytes, 4 * input_bytes_)), "activations");
  outputs_.memory = DeviceMemory(std::max(output_bytes_, std::min(kRingBytes, 4 * output_bytes_)), "activations");
  fill(inputs_.memory, stream);
  if (state_parameters_ > 0) {
    const std::size_t bytes = state_parameters_ * sizeof(float);
    state_ = DeviceMemory(3 * aligned(bytes), "optimizer state of a layer");
    LAMINA_CHECKED(kernels::fill(state_.data(), 2 * aligned(bytes) / sizeof(float), Element::kFloat, 3, 0.05F, stream));
    LAMINA_CHECKED(cudaMemsetAsync(state_.data() + 2 * aligned(bytes), 0, aligned(bytes), stream));  // squares
  }
  sums_ =
      DeviceMemory(aligned(static_cast<std::size_t>(std::max<std::int64_t>(1, setup_.hidden)) * sizeof(float)), "sums");
  LAMINA_CHECKED(cudaMemsetAsync(sums_.data(), 0, sums_.size(), stream));
  workspace_ = DeviceMemory(Products::kWorkspaceBytes, "cuBLASLt's workspace");
  for (std::size_t list = 0; list < used_.size(); ++list) {
    for (const KernelCall& call : setup_.calls->lists[list]) {
      check_head(call);
      if (used_[list] && call.kernel.kind == KernelKind::kMatrixProduct && !call.updates &&
          !is_attention(call.kernel)) {
        products_.prepare(product_of(call));
      }
    }
  }
}

void KernelRunner::check_head(const KernelCall& call) {
  if (is_attention(call.kernel) && call.kernel.n > kernels::kLargestHead) {
    throw error::EnvironmentError(std::string("fused attention on GPUs takes heads of up to ")
                                      .append(std::to_string(kernels::kLargestHead))
                                      .append(" elements, not ")
                                      .append(std::to_string(call.kernel.n))
                                      .append("; set strategy.fused_attention: false"));
  }
}

void KernelRunner::fill(const DeviceMemory& memory, cudaStream_t stream) {
  if (setup_.precision.compute == DataType::kFp8) {
    LAMINA_CHECKED(kernels::fill_bytes(memory.data(), memory.size(), 1, stream));
    return;
  }
  const std::size_t count = memory.size() / kernels::bytes_of(element_);
  LAMINA_CHECKED(kernels::fill(memory.data(), count, element_, 1, 0.1F, stream));
}

double KernelRunner::memory_bytes() const {
  std::size_t bytes = state_.size() + sums_.size() + workspace_.size() + inputs_.memory.size() + outputs_.memory.size();
  for (const auto* sets : {&weights_, &gradients_}) {
    for (const DeviceMemory& memory : *sets) {
      bytes += memory.size();
    }
  }
  return static_cast<double>(bytes);
}

std::byte* KernelRunner::weights(Cursor& cursor, std::size_t bytes) {
  const DeviceMemory& memory = weights_[static_cast<std::size_t>(cursor.unit) % weights_.size()];
  const std::size_t at = cursor.weights + bytes <= memory.size() ? cursor.weights : 0;
  cursor.weights = at + aligned(bytes);
  return memory.data() + at;
}

std::byte* KernelRunner::gradients(Cursor& cursor, std::size_t bytes) {
  const DeviceMemory& memory = gradients_[static_cast<std::size_t>(cursor.unit) % gradients_.size()];
  const std::size_t at = cursor.gradients + bytes <= memory.size() ? cursor.gradients : 0;
  cursor.gradients = at + aligned(bytes);
  return memory.data() + at;
}

void KernelRunner::run(std::int32_t list, std::int32_t unit, cudaStream_t stream) {
  Cursor cursor;
  cursor.unit = std::max(unit, 0);
  for (const KernelCall& call : setup_.calls->lists[static_cast<std::size_t>(list)]) {
    launch(call, cursor, stream);
  }
}

void KernelRunner::launch(const KernelCall& call, Cursor& cursor, cudaStream_t stream) {
  if (call.updates) {
    update(call, cursor, stream);
  } else if (call.kernel.kind == KernelKind::kMemoryBound) {
    move_memory(call, cursor, stream);
  } else if (is_attention(call.kernel)) {
    attend(call, stream);
  } else {
    multiply(call, cursor, stream);
  }
}

Product KernelRunner::product_of(const KernelCall& call) const {
  const model::Kernel& kernel = call.kernel;
  Product product;
  product.batch = static_cast<std::int64_t>(std::max(1.0, kernel.batch));
  product.m = kernel.m;
  product.n = kernel.n;
  product.k = kernel.k;
  product.in = kernel.type.value_or(setup_.precision.compute);
  product.out = output_type(product.in, activation_type_);
  if (!has_weights(kernel)) {
    product.transpose_b = kernel.name == "attention_scores" || kernel.name == "probability_gradient";
    product.transpose_a = kernel.name == "value_gradient" || kernel.name == "key_gradient";
  } else if (call.pass == Pass::kWeightGradient) {
    product.transpose_a = true;  // x^T dy
    product.accumulate = true;
    product.out = output_type(product.in, gradient_type_);
  } else {
    product.transpose_b = call.pass == Pass::kInputGradient;  // dy W^T
  }
  if (product.in == DataType::kFp8) {  // the only order that it is multiplied in: training keeps transposed copies
    product.transpose_a = false;
    product.transpose_b = true;
  }
  return product;
}

void KernelRunner::multiply(const KernelCall& call, Cursor& cursor, cudaStream_t stream) {
  const Product product = product_of(call);
  const auto batch = static_cast<std::size_t>(product.batch);
  const std::size_t a = batch * elements(product.m, product.k) * size_of(product.in);
  const std::size_t b = batch * elements(product.k, product.n) * size_of(product.in);
  const std::size_t c = batch * elements(product.m, product.n) * size_of(product.out);
  const bool of_weights = has_weights(call.kernel);
  const bool accumulates = product.accumulate;
  const void* left = inputs_.take(a);
  const void* right = of_weights && !accumulates ? weights(cursor, b) : inputs_.take(b);
  void* out = accumulates ? gradients(cursor, c) : outputs_.take(c);
  products_.run(product, left, right, out, workspace_.data(), stream);
}

void KernelRunner::attend(const KernelCall& call, cudaStream_t stream) {
  const model::Kernel& kernel = call.kernel;  // batch heads of m = sequence rows, n = head size, k = sequence
  kernels::Heads heads;
  heads.batch = static_cast<int>(std::max(1.0, kernel.batch));
  heads.sequence = static_cast<int>(kernel.m);
  heads.head = static_cast<int>(kernel.n);
  heads.scale = 1 / std::sqrt(static_cast<float>(std::max(1, heads.head)));
  const bool backward = kernel.name == "fused_attention_backward";
  const double square = 2 * kernel.batch * static_cast<double>(kernel.m) * static_cast<double>(kernel.n) *
                        static_cast<double>(kernel.k) * (backward ? 5 : 2);
  heads.causal = kernel.flops.value() < 0.75 * square;
  const std::size_t rows = static_cast<std::size_t>(heads.batch) * elements(heads.sequence, 1);
  const std::size_t bytes = rows * static_cast<std::size_t>(heads.head) * kernels::bytes_of(element_);
  const void* q = inputs_.take(bytes);
  const void* k = inputs_.take(bytes);
  const void* v = inputs_.take(bytes);
  if (!backward) {
    void* o = outputs_.take(bytes);
    auto* statistics = reinterpret_cast<float*>(outputs_.take(rows * sizeof(float)));
    LAMINA_CHECKED(kernels::attention(q, k, v, o, statistics, heads, element_, stream));
    return;
  }
  kernels::AttentionGradient arrays;
  arrays.q = q;
  arrays.k = k;
  arrays.v = v;
  arrays.o = inputs_.take(bytes);
  arrays.d_o = inputs_.take(bytes);
  arrays.statistics = reinterpret_cast<const float*>(inputs_.take(rows * sizeof(float)));
  arrays.products = reinterpret_cast<float*>(outputs_.take(rows * sizeof(float)));
  arrays.dq = outputs_.take(bytes);
  arrays.dk = outputs_.take(bytes);
  arrays.dv = outputs_.take(bytes);
  LAMINA_CHECKED(kernels::attention_gradient(arrays, heads, element_, stream));
}

/// Of an update that moves as many bytes as its kernel says.
std::size_t KernelRunner::parameters_of(const KernelCall& call) const {
  const std::size_t each = kAdamBytes + size_of(gradient_type_) + size_of(stored_type(setup_.precision.weights));
  return static_cast<std::size_t>(call.kernel.bytes.value()) / each;
}

void KernelRunner::update(const KernelCall& call, const Cursor& cursor, cudaStream_t stream) {
  const std::size_t third = state_.size() / 3;
  const kernels::AdamState state{reinterpret_cast<float*>(state_.data()),
                                 reinterpret_cast<float*>(state_.data() + third),
                                 reinterpret_cast<float*>(state_.data() + 2 * third)};
  const auto unit = static_cast<std::size_t>(cursor.unit);
  ++step_;
  LAMINA_CHECKED(kernels::adam(state, gradients_[unit % gradients_.size()].data(),
                               weights_[unit % weights_.size()].data(), parameters_of(call), step_, gradient_element_,
                               element_of(setup_.precision.weights), stream));
}

}  // namespace lamina::validate::cuda
