#include "validate/fingerprint.hpp"

#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace lamina::validate {
namespace {

void add_number(std::uint64_t& hash, double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  constexpr std::uint64_t kPrime = 1099511628211U;  // FNV-1a
  hash = (hash ^ bits) * kPrime;
}

}  // namespace

std::string fingerprint_of(const Executable& executable, const KernelCalls& calls,
                           const std::vector<double>& settings) {
  std::uint64_t hash = 14695981039346656037U;
  for (const double setting : settings) {
    add_number(hash, setting);
  }
  for (const graph::Program& program : executable.prepared.graph.programs) {
    for (const graph::Operation& operation : program.operations) {
      add_number(hash, static_cast<double>(operation.kind));
      add_number(hash, operation.stream);
      add_number(hash, operation.bytes);
      add_number(hash, operation.duration_s);
    }
  }
  for (const std::uint32_t vertex : executable.order.vertices) {
    add_number(hash, vertex);
  }
  for (const auto& list : calls.lists) {
    for (const KernelCall& call : list) {
      add_number(hash, call.kernel.bytes.value());
      add_number(hash, call.kernel.flops.value());
    }
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace lamina::validate
