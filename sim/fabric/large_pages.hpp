#pragma once

#include <cstddef>
#include <vector>

namespace lamina::fabric {

/// Asks the kernel for large pages for a range that nothing has been written to yet. A hint: without effect where there
/// are none.
void ask_for_large_pages(void* begin, std::size_t bytes);

/// `array.reserve(size)` for arrays with an entry per device, link or route of a cluster. A million devices fill
/// hundreds of MB and are visited in no order: with pages of 4 KiB, page faults and translation misses took half of the
/// time.
template <class Value>
void reserve_large(std::vector<Value>& array, std::size_t size) {
  constexpr std::size_t kWorthIt = std::size_t{4} << 20U;
  const std::size_t before = array.capacity();
  array.reserve(size);
  if (array.empty() && array.capacity() != before && array.capacity() * sizeof(Value) >= kWorthIt) {
    ask_for_large_pages(array.data(), array.capacity() * sizeof(Value));
  }
}

}  // namespace lamina::fabric
