#include "tests/cuda/check_array.hpp"

#include <algorithm>
#include <cmath>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace lamina::tests {
namespace {

using scenario::DataType;

template <class T, class Encode>
std::vector<std::uint8_t> encode_as(const Values& values, Encode encode) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    reinterpret_cast<T*>(bytes.data())[i] = encode(static_cast<float>(values[i]));
  }
  return bytes;
}

template <class T, class Decode>
Values decode_as(const std::vector<std::uint8_t>& bytes, Decode decode) {
  Values values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(decode(reinterpret_cast<const T*>(bytes.data())[i]));
  }
  return values;
}

}  // namespace

double number(std::size_t i, double scale) {
  const auto bits = static_cast<std::uint32_t>(i * 2654435761U + 12345U);
  return scale * (static_cast<double>((bits ^ (bits >> 15)) % 2000003U) / 1000001.5 - 1);
}

Values numbers(std::size_t count, double scale, std::size_t seed) {
  Values result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = number(i + 7919 * seed, scale);
  }
  return result;
}

std::vector<std::uint8_t> encode(const Values& values, DataType type) {
  switch (type) {
    case DataType::kFp16:
      return encode_as<__half>(values, [](float x) { return __float2half(x); });
    case DataType::kBf16:
      return encode_as<__nv_bfloat16>(values, [](float x) { return __float2bfloat16(x); });
    case DataType::kFp8:
      return encode_as<__nv_fp8_e4m3>(values, [](float x) { return __nv_fp8_e4m3(x); });
    default:
      return encode_as<float>(values, [](float x) { return x; });
  }
}

Values decode(const std::vector<std::uint8_t>& bytes, DataType type) {
  switch (type) {
    case DataType::kFp16:
      return decode_as<__half>(bytes, [](__half x) { return __half2float(x); });
    case DataType::kBf16:
      return decode_as<__nv_bfloat16>(bytes, [](__nv_bfloat16 x) { return __bfloat162float(x); });
    case DataType::kFp8:
      return decode_as<__nv_fp8_e4m3>(bytes, [](__nv_fp8_e4m3 x) { return static_cast<float>(x); });
    default:
      return decode_as<float>(bytes, [](float x) { return x; });
  }
}

double difference(const Values& seen, const Values& expected) {
  double most = 0;
  double largest = 1e-30;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double off = std::abs(seen[i] - expected[i]);
    most = std::isfinite(seen[i]) ? std::max(most, off) : HUGE_VAL;
    largest = std::max(largest, std::abs(expected[i]));
  }
  return most / largest;
}

}  // namespace lamina::tests
