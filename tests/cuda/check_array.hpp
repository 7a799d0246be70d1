#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "validate/cuda/plugin/resources.hpp"

namespace lamina::tests {

using Values = std::vector<double>;

/// Of (-scale, scale), the same for the same i.
[[nodiscard]] double number(std::size_t i, double scale);
[[nodiscard]] Values numbers(std::size_t count, double scale, std::size_t seed);

[[nodiscard]] std::vector<std::uint8_t> encode(const Values& values, scenario::DataType type);
[[nodiscard]] Values decode(const std::vector<std::uint8_t>& bytes, scenario::DataType type);

/// Largest difference over the largest value; infinite where something is no number.
[[nodiscard]] double difference(const Values& seen, const Values& expected);

/// An array on the device, and the numbers that were put there, rounded.
class Array {
 public:
  Array(const Values& values, scenario::DataType type) : type_(type) {
    const std::vector<std::uint8_t> bytes = encode(values, type);
    memory_ = validate::cuda::DeviceMemory(bytes.size(), "a check");
    LAMINA_CHECKED(cudaMemcpy(memory_.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
    rounded_ = decode(bytes, type);
  }

  [[nodiscard]] void* data() const { return memory_.data(); }

  [[nodiscard]] float* floats() const { return reinterpret_cast<float*>(memory_.data()); }

  [[nodiscard]] double operator[](std::size_t i) const { return rounded_[i]; }

  [[nodiscard]] std::size_t size() const { return rounded_.size(); }

  [[nodiscard]] Values read() const {
    std::vector<std::uint8_t> bytes(memory_.size());
    LAMINA_CHECKED(cudaMemcpy(bytes.data(), memory_.data(), bytes.size(), cudaMemcpyDeviceToHost));
    return decode(bytes, type_);
  }

 private:
  scenario::DataType type_;
  validate::cuda::DeviceMemory memory_;
  Values rounded_;
};

}  // namespace lamina::tests
