#include "validate/cuda/plugin/products.hpp"

#include <string>

#include "sim/error/error.hpp"

namespace lamina::validate::cuda {
namespace {

using scenario::DataType;

cudaDataType_t cuda_type(DataType type) {
  switch (type) {
    case DataType::kFp16:
      return CUDA_R_16F;
    case DataType::kBf16:
      return CUDA_R_16BF;
    case DataType::kFp8:
      return CUDA_R_8F_E4M3;
    case DataType::kFp32:
    case DataType::kTf32:
      break;
  }
  return CUDA_R_32F;
}

const char* name_of(DataType type) {
  switch (type) {
    case DataType::kFp16:
      return "fp16";
    case DataType::kBf16:
      return "bf16";
    case DataType::kFp8:
      return "fp8 (e4m3)";
    case DataType::kTf32:
      return "tf32";
    case DataType::kFp32:
      break;
  }
  return "fp32";
}

template <class Value>
void set(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  LAMINA_CHECKED(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value));
}

struct DestroyPreference {
  void operator()(cublasLtMatmulPreference_t preference) const { (void)cublasLtMatmulPreferenceDestroy(preference); }
};

}  // namespace

std::size_t size_of(DataType type) {
  switch (type) {
    case DataType::kFp8:
      return 1;
    case DataType::kFp16:
    case DataType::kBf16:
      return 2;
    case DataType::kFp32:
    case DataType::kTf32:
      break;
  }
  return 4;
}

Products::Products() {
  cublasLtHandle_t handle = nullptr;
  LAMINA_CHECKED(cublasLtCreate(&handle));
  handle_.reset(handle);
}

void Products::run(const Product& product, const void* a, const void* b, void* c, void* workspace,
                   cudaStream_t stream) {
  Plan& with = plan(product);
  const float alpha = 1;
  const float beta = product.accumulate ? 1 : 0;
  // cuBLASLt counts columns first: c^T = op(b)^T op(a)^T, with the same memory.
  LAMINA_CHECKED(cublasLtMatmul(handle_.get(), with.description.get(), &alpha, b, with.b.get(), a, with.a.get(), &beta,
                                c, with.c.get(), c, with.c.get(), &with.algorithm, workspace, kWorkspaceBytes, stream));
}

Products::Layout Products::layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t batch) {
  cublasLtMatrixLayout_t made = nullptr;
  LAMINA_CHECKED(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(columns),
                                            static_cast<std::uint64_t>(rows), columns));
  Layout result(made);
  if (batch > 1) {
    const auto count = static_cast<std::int32_t>(batch);
    const std::int64_t distance = rows * columns;
    LAMINA_CHECKED(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
    LAMINA_CHECKED(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &distance,
                                                    sizeof distance));
  }
  return result;
}

Products::Plan& Products::plan(const Product& product) {
  const auto found = plans_.find(product);
  if (found != plans_.end()) {
    return found->second;
  }
  Plan plan;
  const cublasComputeType_t compute = product.in == DataType::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  cublasLtMatmulDesc_t description = nullptr;
  LAMINA_CHECKED(cublasLtMatmulDescCreate(&description, compute, CUDA_R_32F));
  plan.description.reset(description);
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, product.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, product.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  const auto& [batch, m, n, k, transpose_a, transpose_b, accumulate, in, out] = product;
  plan.a = layout(cuda_type(in), transpose_a ? k : m, transpose_a ? m : k, batch);
  plan.b = layout(cuda_type(in), transpose_b ? n : k, transpose_b ? k : n, batch);
  plan.c = layout(cuda_type(out), m, n, batch);
  choose(product, plan);
  return plans_.emplace(product, std::move(plan)).first->second;
}

void Products::choose(const Product& product, Plan& plan) {
  cublasLtMatmulPreference_t made = nullptr;
  LAMINA_CHECKED(cublasLtMatmulPreferenceCreate(&made));
  const std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>, DestroyPreference> preference(made);
  const std::size_t workspace = kWorkspaceBytes;
  LAMINA_CHECKED(cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                      sizeof workspace));
  cublasLtMatmulHeuristicResult_t best{};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_.get(), plan.description.get(), plan.b.get(), plan.a.get(), plan.c.get(),
                                     plan.c.get(), made, 1, &best, &count);
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) {
    check(status, {"cublasLtMatmulAlgoGetHeuristic(...)", __FILE__, __LINE__});
  }
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || count == 0) {
    std::string text = "cuBLASLt has no product of ";
    text.append(name_of(product.in)).append(" into ").append(name_of(product.out)).append(", ");
    text.append(std::to_string(product.m)).append(" x ").append(std::to_string(product.n)).append(" x ");
    text.append(std::to_string(product.k)).append(" (batch ").append(std::to_string(product.batch));
    throw error::EnvironmentError(text.append("), on this device: choose another precision in the scenario"));
  }
  plan.algorithm = best.algo;
}

}  // namespace lamina::validate::cuda
