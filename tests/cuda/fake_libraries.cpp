// cuBLASLt and NCCL of a device that is not there. Products are computed as cuBLASLt documents them: columns first,
// leading dimensions, strides between the matrices of a batch.
#include <cstdint>
#include <cstring>
#include <string>

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <nccl.h>

#include "tests/cuda/fake_device.hpp"
#include "tests/cuda/fake_stream.hpp"

namespace lamina::tests::fake {
namespace {

struct Description {
  cublasOperation_t a = CUBLAS_OP_N;
  cublasOperation_t b = CUBLAS_OP_N;
};

struct Layout {
  cudaDataType_t type = CUDA_R_32F;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t leading = 0;
  std::int32_t batch = 1;
  std::int64_t distance = 0;

  [[nodiscard]] std::size_t at(std::int64_t row, std::int64_t column, std::int64_t matrix) const {
    return static_cast<std::size_t>(row + column * leading + matrix * distance);
  }
};

const Layout& layout_of(cublasLtMatrixLayout_t handle) {
  return *reinterpret_cast<const Layout*>(handle);
}

float value_at(const void* data, const Layout& layout, std::size_t index) {
  switch (layout.type) {
    case CUDA_R_16F:
      return __half2float(static_cast<const __half*>(data)[index]);
    case CUDA_R_16BF:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]);
    case CUDA_R_8F_E4M3:
      return static_cast<float>(static_cast<const __nv_fp8_e4m3*>(data)[index]);
    default:
      return static_cast<const float*>(data)[index];
  }
}

void set_value(void* data, const Layout& layout, std::size_t index, float value) {
  switch (layout.type) {
    case CUDA_R_16F:
      static_cast<__half*>(data)[index] = __float2half(value);
      return;
    case CUDA_R_16BF:
      static_cast<__nv_bfloat16*>(data)[index] = __float2bfloat16(value);
      return;
    default:
      static_cast<float*>(data)[index] = value;
  }
}

struct Operands {
  const void* a;
  const Layout& of_a;
  const void* b;
  const Layout& of_b;
  const void* c;
  const Layout& of_c;
  void* d;
  const Layout& of_d;
};

std::int64_t inner_of(const Description& description, const Layout& a) {
  return description.a == CUBLAS_OP_N ? a.columns : a.rows;
}

void multiply(const Description& description, float alpha, float beta, const Operands& with) {
  const std::int64_t inner = inner_of(description, with.of_a);
  for (std::int64_t matrix = 0; matrix < with.of_d.batch; ++matrix) {
    for (std::int64_t row = 0; row < with.of_d.rows; ++row) {
      for (std::int64_t column = 0; column < with.of_d.columns; ++column) {
        double sum = 0;
        for (std::int64_t k = 0; k < inner; ++k) {
          const std::size_t left =
              description.a == CUBLAS_OP_N ? with.of_a.at(row, k, matrix) : with.of_a.at(k, row, matrix);
          const std::size_t right =
              description.b == CUBLAS_OP_N ? with.of_b.at(k, column, matrix) : with.of_b.at(column, k, matrix);
          sum += static_cast<double>(value_at(with.a, with.of_a, left)) * value_at(with.b, with.of_b, right);
        }
        const float before = beta == 0 ? 0 : value_at(with.c, with.of_c, with.of_c.at(row, column, matrix));
        set_value(with.d, with.of_d, with.of_d.at(row, column, matrix),
                  alpha * static_cast<float>(sum) + beta * before);
      }
    }
  }
}

cublasStatus_t blas_status(const char* function) {
  return static_cast<cublasStatus_t>(status_of(function));
}

ncclResult_t nccl_status(const char* function) {
  return static_cast<ncclResult_t>(status_of(function));
}

ncclResult_t note(const char* function, std::string text, cudaStream_t stream) {
  state().nccl.push_back(std::move(text));
  pass_time(stream, state().nccl_s);
  return nccl_status(function);
}

}  // namespace
}  // namespace lamina::tests::fake

using namespace lamina::tests::fake;  // the rest are C functions

extern "C" {

std::size_t cublasLtGetVersion() {
  return 130100;
}

const char* cublasLtGetStatusString(cublasStatus_t) {
  return "an error of the fake";
}

const char* cublasLtGetStatusName(cublasStatus_t) {
  return "CUBLAS_STATUS_OF_THE_FAKE";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new char);
  return blas_status("cublasLtCreate");
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<char*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t, cudaDataType_t) {
  *made = reinterpret_cast<cublasLtMatmulDesc_t>(new Description);
  return blas_status("cublasLtMatmulDescCreate");
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete reinterpret_cast<Description*>(description);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t which,
                                              const void* value, std::size_t bytes) {
  auto& of = *reinterpret_cast<Description*>(description);
  if (which == CUBLASLT_MATMUL_DESC_TRANSA || which == CUBLASLT_MATMUL_DESC_TRANSB) {
    std::memcpy(which == CUBLASLT_MATMUL_DESC_TRANSA ? &of.a : &of.b, value, bytes);
  }
  return blas_status("cublasLtMatmulDescSetAttribute");
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType_t type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t leading) {
  *made = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading, 1, 0});
  return blas_status("cublasLtMatrixLayoutCreate");
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which,
                                                const void* value, std::size_t bytes) {
  auto& of = *reinterpret_cast<Layout*>(layout);
  if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) {
    std::memcpy(&of.batch, value, bytes);
  } else if (which == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) {
    std::memcpy(&of.distance, value, bytes);
  }
  return blas_status("cublasLtMatrixLayoutSetAttribute");
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = reinterpret_cast<cublasLtMatmulPreference_t>(new char);
  return blas_status("cublasLtMatmulPreferenceCreate");
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<char*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, std::size_t) {
  return blas_status("cublasLtMatmulPreferenceSetAttribute");
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t*,
                                              int* count) {
  const cublasStatus_t status = blas_status("cublasLtMatmulAlgoGetHeuristic");
  *count = status == CUBLAS_STATUS_SUCCESS ? 1 : 0;
  return status;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t of_a, const void* b, cublasLtMatrixLayout_t of_b, const void* beta,
                              const void* c, cublasLtMatrixLayout_t of_c, void* d, cublasLtMatrixLayout_t of_d,
                              const cublasLtMatmulAlgo_t*, void*, std::size_t, cudaStream_t stream) {
  const auto& how = *reinterpret_cast<const Description*>(description);
  const Layout& out = layout_of(of_d);
  if (state().runs_kernels) {
    multiply(how, *static_cast<const float*>(alpha), *static_cast<const float*>(beta),
             {a, layout_of(of_a), b, layout_of(of_b), c, layout_of(of_c), d, out});
  }
  if (state().flops_per_s > 0) {
    const double flops = 2.0 * static_cast<double>(out.rows) * static_cast<double>(out.columns) *
                         static_cast<double>(inner_of(how, layout_of(of_a))) * out.batch;
    pass_time(stream, flops / state().flops_per_s);
  }
  return blas_status("cublasLtMatmul");
}

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t) {
  return "an NCCL error of the fake";
}

const char* ncclGetLastError(ncclComm_t) {
  return "";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* name) {
  std::memset(name, 1, sizeof *name);
  return nccl_status("ncclGetUniqueId");
}

ncclResult_t ncclGroupStart() {
  return nccl_status("ncclGroupStart");
}

ncclResult_t ncclGroupEnd() {
  return nccl_status("ncclGroupEnd");
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int size, ncclUniqueId, int rank, ncclConfig_t*) {
  *made = reinterpret_cast<ncclComm_t>(new char);
  state().nccl.push_back("init " + std::to_string(size) + " as " + std::to_string(rank));
  return nccl_status("ncclCommInitRankConfig");
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  delete reinterpret_cast<char*>(communicator);
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = nccl_status("ncclCommGetAsyncError");
  return ncclSuccess;
}

ncclResult_t ncclSend(const void*, std::size_t count, ncclDataType_t, int peer, ncclComm_t, cudaStream_t stream) {
  return note("ncclSend", "send " + std::to_string(count) + " to " + std::to_string(peer), stream);
}

ncclResult_t ncclRecv(void*, std::size_t count, ncclDataType_t, int peer, ncclComm_t, cudaStream_t stream) {
  return note("ncclRecv", "receive " + std::to_string(count) + " from " + std::to_string(peer), stream);
}

ncclResult_t ncclAllReduce(const void*, void*, std::size_t count, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                           cudaStream_t stream) {
  return note("ncclAllReduce", "all-reduce " + std::to_string(count), stream);
}

ncclResult_t ncclReduceScatter(const void*, void*, std::size_t count, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                               cudaStream_t stream) {
  return note("ncclReduceScatter", "reduce-scatter " + std::to_string(count), stream);
}

ncclResult_t ncclAllGather(const void*, void*, std::size_t count, ncclDataType_t, ncclComm_t, cudaStream_t stream) {
  return note("ncclAllGather", "all-gather " + std::to_string(count), stream);
}

ncclResult_t ncclBroadcast(const void*, void*, std::size_t count, ncclDataType_t, int root, ncclComm_t,
                           cudaStream_t stream) {
  return note("ncclBroadcast", "broadcast " + std::to_string(count) + " of " + std::to_string(root), stream);
}
}
