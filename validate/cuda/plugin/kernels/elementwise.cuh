#pragma once

// Element by element: activations, residuals, dropout, rotation, Adam.
#include <cmath>

#include "validate/cuda/plugin/kernels/elements.cuh"

namespace lamina::validate::cuda::kernels {
namespace {

template <class T, int kInputs, int kOutputs>
struct Arrays {
  const T* in[kInputs];
  T* out[kOutputs];
};

/// out[o][i] = f(in[0][i], ...): `f` gets the inputs and sets the outputs.
template <class T, int kInputs, int kOutputs, class Function>
__global__ void map(Arrays<T, kInputs, kOutputs> arrays, std::size_t count, Function f) {
  using Vector = Pack<T>;
  constexpr std::size_t kWidth = Vector::kCount;
  const std::size_t vectors = count / kWidth;
  for (std::size_t i = first_index(); i < vectors; i += stride()) {
    Vector in[kInputs];
    Vector out[kOutputs];
#pragma unroll
    for (int k = 0; k < kInputs; ++k) {
      in[k] = reinterpret_cast<const Vector*>(arrays.in[k])[i];
    }
#pragma unroll
    for (int e = 0; e < Vector::kCount; ++e) {
      float x[kInputs];
      float y[kOutputs];
#pragma unroll
      for (int k = 0; k < kInputs; ++k) {
        x[k] = to_float(in[k].values[e]);
      }
      f(x, y);
#pragma unroll
      for (int k = 0; k < kOutputs; ++k) {
        out[k].values[e] = from_float<T>(y[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < kOutputs; ++k) {
      reinterpret_cast<Vector*>(arrays.out[k])[i] = out[k];
    }
  }
  for (std::size_t i = vectors * kWidth + first_index(); i < count; i += stride()) {
    float x[kInputs];
    float y[kOutputs];
    for (int k = 0; k < kInputs; ++k) {
      x[k] = to_float(arrays.in[k][i]);
    }
    f(x, y);
    for (int k = 0; k < kOutputs; ++k) {
      arrays.out[k][i] = from_float<T>(y[k]);
    }
  }
}

template <int kInputs, int kOutputs, class Function>
cudaError_t run_map(const void* const (&in)[kInputs], void* const (&out)[kOutputs], std::size_t count, Element element,
                    cudaStream_t stream, Function f) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    Arrays<T, kInputs, kOutputs> arrays;
    for (int k = 0; k < kInputs; ++k) {
      arrays.in[k] = static_cast<const T*>(in[k]);
    }
    for (int k = 0; k < kOutputs; ++k) {
      arrays.out[k] = static_cast<T*>(out[k]);
    }
    return launch(map<T, kInputs, kOutputs, Function>, blocks_for(count / Pack<T>::kCount), kThreads, stream, arrays,
                  count, f);
  });
}

__device__ inline float normal_share(float x) {
  return 0.5F * (1 + erff(x * 0.70710678F));
}

struct Copy {
  __device__ void operator()(const float (&x)[1], float (&y)[1]) const { y[0] = x[0]; }
};

struct Add {
  __device__ void operator()(const float (&x)[2], float (&y)[1]) const { y[0] = x[0] + x[1]; }
};

struct Gelu {
  __device__ void operator()(const float (&x)[1], float (&y)[1]) const { y[0] = x[0] * normal_share(x[0]); }
};

struct GeluGradient {
  __device__ void operator()(const float (&x)[2], float (&y)[1]) const {
    y[0] = x[1] * (normal_share(x[0]) + x[0] * 0.39894228F * expf(-0.5F * x[0] * x[0]));
  }
};

struct Swiglu {
  __device__ void operator()(const float (&x)[2], float (&y)[1]) const { y[0] = x[0] / (1 + expf(-x[0])) * x[1]; }
};

struct SwigluGradient {
  __device__ void operator()(const float (&x)[3], float (&y)[2]) const {
    const float sigmoid = 1 / (1 + expf(-x[0]));
    y[0] = x[2] * x[1] * sigmoid * (1 + x[0] * (1 - sigmoid));
    y[1] = x[2] * x[0] * sigmoid;
  }
};

constexpr float kKept = 0.9F;

template <class T>
__global__ void drop(const T* x, const T* residual, T* y, std::uint8_t* mask, std::size_t count, unsigned seed) {
  constexpr int kWidth = Pack<T>::kCount;
  for (std::size_t i = first_index(); i * kWidth < count; i += stride()) {
    for (std::size_t e = i * kWidth; e < (i + 1) * kWidth && e < count; ++e) {
      const bool keep = static_cast<float>(mix(static_cast<unsigned>(e) ^ seed)) < kKept * 4294967296.0F;
      mask[e] = keep ? 1 : 0;
      const float kept = keep ? to_float(x[e]) / kKept : 0;
      y[e] = from_float<T>(residual == nullptr ? kept : kept + to_float(residual[e]));
    }
  }
}

template <class T>
__global__ void drop_gradient(const T* dy, const std::uint8_t* mask, T* dx, std::size_t count) {
  for (std::size_t i = first_index(); i < count; i += stride()) {
    dx[i] = from_float<T>(mask[i] != 0 ? to_float(dy[i]) / kKept : 0);
  }
}

template <class T>
__global__ void rotate(const T* x, T* y, std::size_t pairs, int width, int head, int sequence) {
  for (std::size_t i = first_index(); i < pairs; i += stride()) {
    const std::size_t element = 2 * i;
    const auto position =
        static_cast<float>(element / static_cast<std::size_t>(width) % static_cast<std::size_t>(sequence));
    const auto in_head = static_cast<float>(element % static_cast<std::size_t>(width) % static_cast<std::size_t>(head));
    const float angle = position * exp2f(-13.287712F * in_head / static_cast<float>(head));  // log2(10000)
    const float sine = sinf(angle);
    const float cosine = cosf(angle);
    const float a = to_float(x[element]);
    const float b = to_float(x[element + 1]);
    y[element] = from_float<T>(a * cosine - b * sine);
    y[element + 1] = from_float<T>(a * sine + b * cosine);
  }
}

template <class T>
__global__ void scatter_numbers(T* out, std::size_t count, unsigned seed, float scale) {
  for (std::size_t i = first_index(); i < count; i += stride()) {
    const unsigned bits = mix(static_cast<unsigned>(i) * 2654435761U + mix(seed + static_cast<unsigned>(i >> 32)));
    out[i] = from_float<T>(scale * (static_cast<float>(bits >> 8) / 8388608.0F - 1 + 5.9604645e-8F));
  }
}

__global__ void scatter_bytes(std::uint8_t* out, std::size_t count, unsigned seed) {
  for (std::size_t i = first_index(); i < count; i += stride()) {
    out[i] = static_cast<std::uint8_t>(mix(static_cast<unsigned>(i) * 2654435761U + seed) & 0xbfU);
  }
}

template <class G, class W>
__global__ void adam_step(AdamState state, const G* gradient, W* weight, std::size_t count, float first_correction,
                          float second_correction) {
  for (std::size_t i = first_index(); i < count; i += stride()) {
    const float g = to_float(gradient[i]);
    const float first = 0.9F * state.first[i] + 0.1F * g;
    const float second = 0.95F * state.second[i] + 0.05F * g * g;
    const float master =
        state.master[i] - 1e-4F * (first * first_correction) / (sqrtf(second * second_correction) + 1e-8F);
    state.first[i] = first;
    state.second[i] = second;
    state.master[i] = master;
    weight[i] = from_float<W>(master);
  }
}

}  // namespace

cudaError_t fill(void* out, std::size_t count, Element element, std::uint32_t seed, float scale, cudaStream_t stream) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    return launch(scatter_numbers<T>, blocks_for(count), kThreads, stream, static_cast<T*>(out), count, seed, scale);
  });
}

cudaError_t fill_bytes(void* out, std::size_t count, std::uint32_t seed, cudaStream_t stream) {
  return launch(scatter_bytes, blocks_for(count), kThreads, stream, static_cast<std::uint8_t*>(out), count, seed);
}

cudaError_t copy(const void* in, void* out, std::size_t count, Element element, cudaStream_t stream) {
  return run_map({in}, {out}, count, element, stream, Copy{});
}

cudaError_t add(const void* a, const void* b, void* out, std::size_t count, Element element, cudaStream_t stream) {
  return run_map({a, b}, {out}, count, element, stream, Add{});
}

cudaError_t gelu(const void* x, void* y, std::size_t count, Element element, cudaStream_t stream) {
  return run_map({x}, {y}, count, element, stream, Gelu{});
}

cudaError_t gelu_gradient(const void* x, const void* dy, void* dx, std::size_t count, Element element,
                          cudaStream_t stream) {
  return run_map({x, dy}, {dx}, count, element, stream, GeluGradient{});
}

cudaError_t swiglu(const void* gate, const void* up, void* y, std::size_t count, Element element, cudaStream_t stream) {
  return run_map({gate, up}, {y}, count, element, stream, Swiglu{});
}

cudaError_t swiglu_gradient(const void* gate, const void* up, const void* dy, void* dgate, void* dup, std::size_t count,
                            Element element, cudaStream_t stream) {
  return run_map({gate, up, dy}, {dgate, dup}, count, element, stream, SwigluGradient{});
}

cudaError_t dropout(const void* x, const void* residual, void* y, std::uint8_t* mask, std::size_t count,
                    std::uint32_t seed, Element element, cudaStream_t stream) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    return launch(drop<T>, blocks_for(count / Pack<T>::kCount + 1), kThreads, stream, static_cast<const T*>(x),
                  static_cast<const T*>(residual), static_cast<T*>(y), mask, count, seed);
  });
}

cudaError_t dropout_gradient(const void* dy, const std::uint8_t* mask, void* dx, std::size_t count, Element element,
                             cudaStream_t stream) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    return launch(drop_gradient<T>, blocks_for(count), kThreads, stream, static_cast<const T*>(dy), mask,
                  static_cast<T*>(dx), count);
  });
}

cudaError_t rotary(const void* x, void* y, std::size_t count, int width, int head, int sequence, Element element,
                   cudaStream_t stream) {
  return with_type(element, [&](auto type) {
    using T = decltype(type);
    return launch(rotate<T>, blocks_for(count / 2), kThreads, stream, static_cast<const T*>(x), static_cast<T*>(y),
                  count / 2, width, head, sequence);
  });
}

cudaError_t adam(const AdamState& state, const void* gradient, void* weight, std::size_t count, int step,
                 Element gradient_element, Element weight_element, cudaStream_t stream) {
  const auto first = static_cast<float>(1 / (1 - std::pow(0.9, step)));
  const auto second = static_cast<float>(1 / (1 - std::pow(0.95, step)));
  return with_type(gradient_element, [&](auto gradient_type) {
    using G = decltype(gradient_type);
    return with_type(weight_element, [&](auto weight_type) {
      using W = decltype(weight_type);
      return launch(adam_step<G, W>, blocks_for(count), kThreads, stream, state, static_cast<const G*>(gradient),
                    static_cast<W*>(weight), count, first, second);
    });
  });
}

}  // namespace lamina::validate::cuda::kernels
