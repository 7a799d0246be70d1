#pragma once

// Row by row: norms, softmax, cross entropy; sums over rows; lookups.
#include "validate/cuda/plugin/kernels/elements.cuh"

namespace lamina::validate::cuda::kernels {
namespace {

/// Of all threads of a block; every thread gets it. `scratch` has a place per thread.
template <class Combine>
__device__ float combine_block(float value, float* scratch, Combine combine) {
  __syncthreads();  // the last result has been read
  scratch[threadIdx.x] = value;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      scratch[threadIdx.x] = combine(scratch[threadIdx.x], scratch[threadIdx.x + half]);
    }
  }
  __syncthreads();
  return scratch[0];
}

struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

struct Largest {
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};

template <int kCount>
struct HowMany {
  static constexpr int kValue = kCount;
};

template <int kCount>
struct Values {
  float of[kCount];
};

/// `kCount` neighbours at once; a whole pack is one access.
template <int kCount, class T>
__device__ Values<kCount> load(const T* from) {
  Values<kCount> result;
  if constexpr (kCount == Pack<T>::kCount) {
    const Pack<T> pack = *reinterpret_cast<const Pack<T>*>(from);
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      result.of[e] = to_float(pack.values[e]);
    }
  } else {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      result.of[e] = to_float(from[e]);
    }
  }
  return result;
}

template <int kCount, class T>
__device__ void store(T* to, const Values<kCount>& values) {
  if constexpr (kCount == Pack<T>::kCount) {
    Pack<T> pack;
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      pack.values[e] = from_float<T>(values.of[e]);
    }
    *reinterpret_cast<Pack<T>*>(to) = pack;
  } else {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      to[e] = from_float<T>(values.of[e]);
    }
  }
}

/// Calls visit(column, how many) for this thread's part of a row; `how many` is a constant: a pack where rows are
/// aligned, else 1.
template <class T, class Visit>
__device__ void for_row(int width, Visit visit) {
  constexpr int kPack = Pack<T>::kCount;
  const auto thread = static_cast<int>(threadIdx.x);
  const auto threads = static_cast<int>(blockDim.x);
  if (width % kPack == 0) {
    for (int column = thread * kPack; column < width; column += threads * kPack) {
      visit(column, HowMany<kPack>{});
    }
  } else {
    for (int column = thread; column < width; column += threads) {
      visit(column, HowMany<1>{});
    }
  }
}

constexpr float kEpsilon = 1e-5F;

template <class T>
__device__ float inverse_norm(const T* x, int width, float* scratch) {
  float squares = 0;
  for_row<T>(width, [&](int column, auto count) {
    const auto values = load<count.kValue>(x + column);
    for (int e = 0; e < count.kValue; ++e) {
      squares += values.of[e] * values.of[e];
    }
  });
  return rsqrtf(combine_block(squares, scratch, Sum{}) / static_cast<float>(width) + kEpsilon);
}

template <class T>
__device__ float product_of(const T* a, const T* b, int width, float* scratch) {
  float product = 0;
  for_row<T>(width, [&](int column, auto count) {
    const auto left = load<count.kValue>(a + column);
    const auto right = load<count.kValue>(b + column);
    for (int e = 0; e < count.kValue; ++e) {
      product += left.of[e] * right.of[e];
    }
  });
  return combine_block(product, scratch, Sum{});
}

template <class T>
__global__ void norm_rows(const T* x, T* y, std::size_t rows, int width) {
  __shared__ float scratch[kThreads];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::size_t first = row * static_cast<std::size_t>(width);
    const float inverse = inverse_norm(x + first, width, scratch);
    for_row<T>(width, [&](int column, auto count) {
      auto values = load<count.kValue>(x + first + column);
      for (int e = 0; e < count.kValue; ++e) {
        values.of[e] *= inverse;
      }
      store(y + first + column, values);
    });
  }
}

/// With n the norm of the row: dx = (dy - x (x . dy) / (width n^2)) / n.
template <class T>
__global__ void norm_rows_gradient(const T* x, const T* dy, const T* residual, T* dx, std::size_t rows, int width) {
  __shared__ float scratch[kThreads];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::size_t first = row * static_cast<std::size_t>(width);
    const float inverse = inverse_norm(x + first, width, scratch);
    const float along =
        product_of(x + first, dy + first, width, scratch) * inverse * inverse / static_cast<float>(width);
    for_row<T>(width, [&](int column, auto count) {
      const auto in = load<count.kValue>(x + first + column);
      auto out = load<count.kValue>(dy + first + column);
      for (int e = 0; e < count.kValue; ++e) {
        out.of[e] = (out.of[e] - in.of[e] * along) * inverse;
      }
      if (residual != nullptr) {
        const auto more = load<count.kValue>(residual + first + column);
        for (int e = 0; e < count.kValue; ++e) {
          out.of[e] += more.of[e];
        }
      }
      store(dx + first + column, out);
    });
  }
}

constexpr std::size_t kRowsAtOnce = 64;

/// A block sums kRowsAtOnce rows: of dy (x null), or of dy x / norm.
template <class T>
__global__ void sum_rows(const T* x, const T* dy, float* out, std::size_t rows, int width) {
  __shared__ float scratch[kThreads];
  __shared__ float inverse[kRowsAtOnce];
  const std::size_t columns = static_cast<std::size_t>(width);
  for (std::size_t first = blockIdx.x * kRowsAtOnce; first < rows; first += gridDim.x * kRowsAtOnce) {
    const std::size_t here = rows - first < kRowsAtOnce ? rows - first : kRowsAtOnce;
    for (std::size_t row = 0; x != nullptr && row < here; ++row) {
      const float value = inverse_norm(x + (first + row) * columns, width, scratch);
      if (threadIdx.x == 0) {
        inverse[row] = value;
      }
    }
    __syncthreads();
    for_row<T>(width, [&](int column, auto count) {
      Values<count.kValue> sum{};
      for (std::size_t row = 0; row < here; ++row) {
        const std::size_t at = (first + row) * columns + static_cast<std::size_t>(column);
        const auto gradient = load<count.kValue>(dy + at);
        if (x == nullptr) {
          for (int e = 0; e < count.kValue; ++e) {
            sum.of[e] += gradient.of[e];
          }
        } else {
          const auto in = load<count.kValue>(x + at);
          for (int e = 0; e < count.kValue; ++e) {
            sum.of[e] += gradient.of[e] * in.of[e] * inverse[row];
          }
        }
      }
      for (int e = 0; e < count.kValue; ++e) {
        atomicAdd(out + column + e, sum.of[e]);
      }
    });
    __syncthreads();
  }
}

/// exp(x - largest) / sum of them, into floats or the type of x.
template <class T, class Out>
__global__ void softmax_rows(const T* x, Out* y, std::size_t rows, int width) {
  __shared__ float scratch[kThreads];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::size_t first = row * static_cast<std::size_t>(width);
    float largest = -3.0e38F;
    for_row<T>(width, [&](int column, auto count) {
      const auto values = load<count.kValue>(x + first + column);
      for (int e = 0; e < count.kValue; ++e) {
        largest = Largest{}(largest, values.of[e]);
      }
    });
    largest = combine_block(largest, scratch, Largest{});
    float total = 0;
    for_row<T>(width, [&](int column, auto count) {
      const auto values = load<count.kValue>(x + first + column);
      for (int e = 0; e < count.kValue; ++e) {
        total += expf(values.of[e] - largest);
      }
    });
    const float share = 1 / combine_block(total, scratch, Sum{});
    for_row<T>(width, [&](int column, auto count) {
      auto values = load<count.kValue>(x + first + column);
      for (int e = 0; e < count.kValue; ++e) {
        values.of[e] = expf(values.of[e] - largest) * share;
      }
      store(y + first + column, values);
    });
  }
}

template <class T>
__global__ void softmax_rows_gradient(const T* y, const T* dy, T* dx, std::size_t rows, int width) {
  __shared__ float scratch[kThreads];
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::size_t first = row * static_cast<std::size_t>(width);
    const float product = product_of(y + first, dy + first, width, scratch);
    for_row<T>(width, [&](int column, auto count) {
      const auto probabilities = load<count.kValue>(y + first + column);
      auto out = load<count.kValue>(dy + first + column);
      for (int e = 0; e < count.kValue; ++e) {
        out.of[e] = probabilities.of[e] * (out.of[e] - product);
      }
      store(dx + first + column, out);
    });
  }
}

__device__ inline std::size_t pick(std::size_t row, std::size_t choices) {
  return row * 7919 % choices;
}

template <class T>
__global__ void loss_gradient(const float* probabilities, T* gradient, std::size_t rows, int width) {
  const auto columns = static_cast<std::size_t>(width);
  const float mean = 1 / static_cast<float>(rows);
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const auto label = static_cast<int>(pick(row, columns));
    for_row<T>(width, [&](int column, auto count) {
      auto values = load<count.kValue>(probabilities + row * columns + static_cast<std::size_t>(column));
      for (int e = 0; e < count.kValue; ++e) {
        values.of[e] = (values.of[e] - (column + e == label ? 1.0F : 0.0F)) * mean;
      }
      store(gradient + row * columns + static_cast<std::size_t>(column), values);
    });
  }
}

template <class T>
__global__ void look_up(const T* table, T* out, std::size_t rows, int width, std::size_t table_rows) {
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* from = table + pick(row, table_rows) * static_cast<std::size_t>(width);
    T* to = out + row * static_cast<std::size_t>(width);
    for_row<T>(width, [&](int column, auto count) { store(to + column, load<count.kValue>(from + column)); });
  }
}

template <class T, class G>
__global__ void look_up_gradient(const T* dy, G* table, std::size_t rows, int width, std::size_t table_rows) {
  for (std::size_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* from = dy + row * static_cast<std::size_t>(width);
    G* to = table + pick(row, table_rows) * static_cast<std::size_t>(width);
    for_row<T>(width, [&](int column, auto count) {
      const auto values = load<count.kValue>(from + column);
      for (int e = 0; e < count.kValue; ++e) {
        atomicAdd(to + column + e, from_float<G>(values.of[e]));  // rows may look up the same
      }
    });
  }
}

std::size_t row_blocks(std::size_t rows) {
  return rows == 0 ? 1 : rows < kMostBlocks ? rows : kMostBlocks;
}

template <class T>
const T* typed(const void* array) {
  return static_cast<const T*>(array);
}

}  // namespace

cudaError_t norm(const void* x, void* y, std::size_t rows, int width, Element element, cudaStream_t stream) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    return launch(norm_rows<T>, row_blocks(rows), kThreads, stream, typed<T>(x), static_cast<T*>(y), rows, width);
  });
}

cudaError_t norm_gradient(const void* x, const void* dy, const void* residual, void* dx, std::size_t rows, int width,
                          Element element, cudaStream_t stream) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    return launch(norm_rows_gradient<T>, row_blocks(rows), kThreads, stream, typed<T>(x), typed<T>(dy),
                  typed<T>(residual), static_cast<T*>(dx), rows, width);
  });
}

cudaError_t norm_scale_gradient(const void* x, const void* dy, float* out, std::size_t rows, int width, Element element,
                                cudaStream_t stream) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    return launch(sum_rows<T>, row_blocks(rows / kRowsAtOnce + 1), kThreads, stream, typed<T>(x), typed<T>(dy), out,
                  rows, width);
  });
}

cudaError_t column_sums(const void* dy, float* out, std::size_t rows, int width, Element element, cudaStream_t stream) {
  return norm_scale_gradient(nullptr, dy, out, rows, width, element, stream);
}

cudaError_t softmax(const void* x, void* y, std::size_t rows, int width, Element element, cudaStream_t stream) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    return launch(softmax_rows<T, T>, row_blocks(rows), kThreads, stream, typed<T>(x), static_cast<T*>(y), rows, width);
  });
}

cudaError_t softmax_gradient(const void* y, const void* dy, void* dx, std::size_t rows, int width, Element element,
                             cudaStream_t stream) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    return launch(softmax_rows_gradient<T>, row_blocks(rows), kThreads, stream, typed<T>(y), typed<T>(dy),
                  static_cast<T*>(dx), rows, width);
  });
}

cudaError_t cross_entropy(const void* logits, float* probabilities, std::size_t rows, int width, Element element,
                          cudaStream_t stream) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    return launch(softmax_rows<T, float>, row_blocks(rows), kThreads, stream, typed<T>(logits), probabilities, rows,
                  width);
  });
}

cudaError_t cross_entropy_gradient(const float* probabilities, void* gradient, std::size_t rows, int width,
                                   Element element, cudaStream_t stream) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    return launch(loss_gradient<T>, row_blocks(rows), kThreads, stream, probabilities, static_cast<T*>(gradient), rows,
                  width);
  });
}

cudaError_t lookup(const void* table, void* out, std::size_t rows, int width, std::size_t table_rows, Element element,
                   cudaStream_t stream) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    return launch(look_up<T>, row_blocks(rows), kThreads, stream, typed<T>(table), static_cast<T*>(out), rows, width,
                  table_rows);
  });
}

cudaError_t lookup_gradient(const void* dy, void* table, std::size_t rows, int width, std::size_t table_rows,
                            Element element, Element table_element, cudaStream_t stream) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    return with_type(table_element, [&](auto table_type) {
      using G = decltype(table_type);
      return launch(look_up_gradient<T, G>, row_blocks(rows), kThreads, stream, typed<T>(dy), static_cast<G*>(table),
                    rows, width, table_rows);
    });
  });
}

}  // namespace lamina::validate::cuda::kernels
