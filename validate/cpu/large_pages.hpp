#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include <sys/mman.h>

namespace lamina::validate::cpu {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

/// Uninitialized memory in large pages as far as the system has them. In small ones a pass over tens of megabytes is up
/// to three times slower now and then (a host that samples which pages are in use), and no two steps are alike.
/// @param alignment of less than a large page, bytes
/// @throws std::bad_alloc
template <class Value>
[[nodiscard]] std::unique_ptr<Value[], Free> allocate_in_large_pages(std::size_t count, std::size_t alignment = 64) {
  constexpr std::size_t kLargePage = std::size_t{1} << 21;
  const std::size_t bytes = count * sizeof(Value) + 1;
  const std::size_t unit = bytes < kLargePage ? alignment : kLargePage;
  const std::size_t size = (bytes + unit - 1) / unit * unit;
  auto* memory = static_cast<Value*>(std::aligned_alloc(unit, size));
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  if (unit == kLargePage) {
    (void)madvise(memory, size, MADV_HUGEPAGE);  // refused: small pages
  }
  return std::unique_ptr<Value[], Free>(memory);
}

}  // namespace lamina::validate::cpu
