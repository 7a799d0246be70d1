#pragma once

// Attention without scores in memory. Eight neighbouring threads share a row: thread l of them has columns l, l + 8,
// ...
#include <type_traits>

#include "validate/cuda/plugin/kernels/elements.cuh"

namespace lamina::validate::cuda::kernels {
namespace {

constexpr int kLanes = 8;
constexpr int kRowThreads = 256;
constexpr int kRows = kRowThreads / kLanes;  ///< of a block
constexpr int kTileElements = 4096;          ///< two tiles of floats are 32 KiB

/// Where a thread stands: `row` of one head, whose array begins at `first`; `lane` of the row's threads.
struct Seat {
  std::size_t first = 0;
  std::size_t statistics = 0;  ///< first row of the head among all rows
  int block_row = 0;
  int row = 0;
  int lane = 0;

  __device__ std::size_t at(const Heads& heads, int of_row, int column) const {
    return first + static_cast<std::size_t>(of_row) * static_cast<std::size_t>(heads.head) +
           static_cast<std::size_t>(column);
  }
};

__device__ inline Seat seat_of(const Heads& heads) {
  const unsigned blocks = static_cast<unsigned>((heads.sequence + kRows - 1) / kRows);
  Seat seat;
  const std::size_t which = blockIdx.x / blocks;
  seat.statistics = which * static_cast<std::size_t>(heads.sequence);
  seat.first = seat.statistics * static_cast<std::size_t>(heads.head);
  seat.block_row = static_cast<int>(blockIdx.x % blocks) * kRows;
  seat.row = seat.block_row + static_cast<int>(threadIdx.x) / kLanes;
  seat.lane = static_cast<int>(threadIdx.x) % kLanes;
  return seat;
}

/// An array whose type is known when the kernel runs: a branch that all threads take alike, and a third of the code.
struct Array {
  const void* data = nullptr;
  Element element = Element::kFloat;

  __device__ float at(std::size_t index) const {
    switch (element) {
      case Element::kFloat:
        return static_cast<const float*>(data)[index];
      case Element::kHalf:
        return to_float(static_cast<const __half*>(data)[index]);
      case Element::kBfloat:
        break;
    }
    return to_float(static_cast<const __nv_bfloat16*>(data)[index]);
  }
};

__device__ inline void put(void* data, Element element, std::size_t index, float value) {
  switch (element) {
    case Element::kFloat:
      static_cast<float*>(data)[index] = value;
      return;
    case Element::kHalf:
      static_cast<__half*>(data)[index] = from_float<__half>(value);
      return;
    case Element::kBfloat:
      static_cast<__nv_bfloat16*>(data)[index] = from_float<__nv_bfloat16>(value);
  }
}

/// A thread's columns of a row; zeros outside.
template <int kPart>
__device__ void load_part(const Array& array, const Seat& seat, const Heads& heads, float (&part)[kPart]) {
#pragma unroll
  for (int i = 0; i < kPart; ++i) {
    const int column = seat.lane + kLanes * i;
    part[i] = seat.row < heads.sequence && column < heads.head ? array.at(seat.at(heads, seat.row, column)) : 0;
  }
}

template <int kPart>
__device__ void store_part(void* data, Element element, const Seat& seat, const Heads& heads,
                           const float (&part)[kPart]) {
#pragma unroll
  for (int i = 0; i < kPart; ++i) {
    const int column = seat.lane + kLanes * i;
    if (seat.row < heads.sequence && column < heads.head) {
      put(data, element, seat.at(heads, seat.row, column), part[i]);
    }
  }
}

/// Rows `from`... of the head into shared memory, by the whole block; zeros outside.
template <int kHead>
__device__ void load_tile(const Array& array, const Seat& seat, int from, const Heads& heads,
                          float (&tile)[kTileElements / kHead][kHead]) {
  for (int i = static_cast<int>(threadIdx.x); i < kTileElements; i += kRowThreads) {
    const int row = from + i / kHead;
    const int column = i % kHead;
    tile[i / kHead][column] = row < heads.sequence && column < heads.head ? array.at(seat.at(heads, row, column)) : 0;
  }
}

/// Over the threads of a row; all of them get it.
__device__ inline float sum_lanes(float value) {
  for (int distance = 1; distance < kLanes; distance *= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, distance);
  }
  return value;
}

/// Product of a row that a row's threads hold with one in shared memory; all of them get it.
template <int kPart>
__device__ float row_product(const float (&part)[kPart], const float* row, int lane) {
  float product = 0;
#pragma unroll
  for (int i = 0; i < kPart; ++i) {
    product += part[i] * row[lane + kLanes * i];
  }
  return sum_lanes(product);
}

template <int kPart>
__device__ void add_row(float (&part)[kPart], float factor, const float* row, int lane) {
#pragma unroll
  for (int i = 0; i < kPart; ++i) {
    part[i] += factor * row[lane + kLanes * i];
  }
}

__device__ inline bool sees(int query, int key, const Heads& heads) {
  return query < heads.sequence && key < heads.sequence && (!heads.causal || key <= query);
}

__device__ inline int smaller(int a, int b) {
  return a < b ? a : b;
}

template <int kHead>
__global__ void attend(Array q, Array k, Array v, void* o, float* statistics, Heads heads) {
  constexpr int kPart = kHead / kLanes;
  constexpr int kTile = kTileElements / kHead;
  __shared__ float keys[kTile][kHead];
  __shared__ float values[kTile][kHead];
  const Seat seat = seat_of(heads);
  float query[kPart];
  float sum[kPart] = {};
  load_part(q, seat, heads, query);
  float largest = -3.0e38F;
  float total = 0;
  const int end = heads.causal ? smaller(heads.sequence, seat.block_row + kRows) : heads.sequence;
  for (int from = 0; from < end; from += kTile) {
    __syncthreads();
    load_tile<kHead>(k, seat, from, heads, keys);
    load_tile<kHead>(v, seat, from, heads, values);
    __syncthreads();
    for (int key = 0; key < kTile; ++key) {
      const float score = heads.scale * row_product(query, keys[key], seat.lane);
      if (!sees(seat.row, from + key, heads)) {
        continue;
      }
      if (score > largest) {
        const float shrink = expf(largest - score);
        total *= shrink;
#pragma unroll
        for (int i = 0; i < kPart; ++i) {
          sum[i] *= shrink;
        }
        largest = score;
      }
      const float weight = expf(score - largest);
      total += weight;
      add_row(sum, weight, values[key], seat.lane);
    }
  }
#pragma unroll
  for (int i = 0; i < kPart; ++i) {
    sum[i] /= total;
  }
  store_part(o, q.element, seat, heads, sum);
  if (seat.row < heads.sequence && seat.lane == 0) {
    statistics[seat.statistics + static_cast<std::size_t>(seat.row)] = largest + logf(total);
  }
}

/// dq of a row; and products[row] = o . do.
template <int kHead>
__global__ void attend_gradient_query(AttentionGradient arrays, Element element, Heads heads) {
  constexpr int kPart = kHead / kLanes;
  constexpr int kTile = kTileElements / kHead;
  __shared__ float keys[kTile][kHead];
  __shared__ float values[kTile][kHead];
  const Seat seat = seat_of(heads);
  float query[kPart];
  float d_out[kPart];
  float gradient[kPart] = {};
  load_part({arrays.o, element}, seat, heads, query);
  load_part({arrays.d_o, element}, seat, heads, d_out);
  float product = 0;
#pragma unroll
  for (int i = 0; i < kPart; ++i) {
    product += query[i] * d_out[i];
  }
  product = sum_lanes(product);
  const std::size_t row = seat.statistics + static_cast<std::size_t>(seat.row);
  const bool inside = seat.row < heads.sequence;
  if (inside && seat.lane == 0) {
    arrays.products[row] = product;
  }
  load_part({arrays.q, element}, seat, heads, query);
  const float normalizer = inside ? arrays.statistics[row] : 0;
  const int end = heads.causal ? smaller(heads.sequence, seat.block_row + kRows) : heads.sequence;
  for (int from = 0; from < end; from += kTile) {
    __syncthreads();
    load_tile<kHead>({arrays.k, element}, seat, from, heads, keys);
    load_tile<kHead>({arrays.v, element}, seat, from, heads, values);
    __syncthreads();
    for (int key = 0; key < kTile; ++key) {
      const float score = heads.scale * row_product(query, keys[key], seat.lane);
      const float d_probability = row_product(d_out, values[key], seat.lane);
      if (sees(seat.row, from + key, heads)) {
        add_row(gradient, heads.scale * expf(score - normalizer) * (d_probability - product), keys[key], seat.lane);
      }
    }
  }
  store_part(arrays.dq, element, seat, heads, gradient);
}

/// dk and dv of a row of keys, over the queries that see it.
template <int kHead>
__global__ void attend_gradient_key(AttentionGradient arrays, Element element, Heads heads) {
  constexpr int kPart = kHead / kLanes;
  constexpr int kTile = kTileElements / kHead;
  __shared__ float queries[kTile][kHead];
  __shared__ float d_outs[kTile][kHead];
  const Seat seat = seat_of(heads);
  float key[kPart];
  float value[kPart];
  float d_key[kPart] = {};
  float d_value[kPart] = {};
  load_part({arrays.k, element}, seat, heads, key);
  load_part({arrays.v, element}, seat, heads, value);
  const int start = heads.causal ? seat.block_row / kTile * kTile : 0;
  for (int from = start; from < heads.sequence; from += kTile) {
    __syncthreads();
    load_tile<kHead>({arrays.q, element}, seat, from, heads, queries);
    load_tile<kHead>({arrays.d_o, element}, seat, from, heads, d_outs);
    __syncthreads();
    for (int query = 0; query < kTile; ++query) {
      const float score = heads.scale * row_product(key, queries[query], seat.lane);
      const float d_probability = row_product(value, d_outs[query], seat.lane);
      if (sees(from + query, seat.row, heads)) {
        const std::size_t row = seat.statistics + static_cast<std::size_t>(from + query);
        const float probability = expf(score - arrays.statistics[row]);
        add_row(d_value, probability, d_outs[query], seat.lane);
        add_row(d_key, heads.scale * probability * (d_probability - arrays.products[row]), queries[query], seat.lane);
      }
    }
  }
  store_part(arrays.dk, element, seat, heads, d_key);
  store_part(arrays.dv, element, seat, heads, d_value);
}

std::size_t blocks_of(const Heads& heads) {
  return static_cast<std::size_t>(heads.batch) * static_cast<std::size_t>((heads.sequence + kRows - 1) / kRows);
}

/// Calls `visit` with the least size of head that is compiled and large enough, as a type.
template <class Visit>
cudaError_t with_head(int head, Visit visit) {
  if (head > kLargestHead) {
    return cudaErrorInvalidValue;
  }
  return head <= 64 ? visit(std::integral_constant<int, 64>{}) : visit(std::integral_constant<int, kLargestHead>{});
}

}  // namespace

cudaError_t attention(const void* q, const void* k, const void* v, void* o, float* statistics, const Heads& heads,
                      Element element, cudaStream_t stream) {
  return with_head(heads.head, [&](auto head) {
    return launch(attend<decltype(head)::value>, blocks_of(heads), kRowThreads, stream, Array{q, element},
                  Array{k, element}, Array{v, element}, o, statistics, heads);
  });
}

cudaError_t attention_gradient(const AttentionGradient& arrays, const Heads& heads, Element element,
                               cudaStream_t stream) {
  return with_head(heads.head, [&](auto head) {
    constexpr int kHead = decltype(head)::value;
    const cudaError_t first =
        launch(attend_gradient_query<kHead>, blocks_of(heads), kRowThreads, stream, arrays, element, heads);
    return first != cudaSuccess
               ? first
               : launch(attend_gradient_key<kHead>, blocks_of(heads), kRowThreads, stream, arrays, element, heads);
  });
}

}  // namespace lamina::validate::cuda::kernels
