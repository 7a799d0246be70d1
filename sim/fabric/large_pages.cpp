#include "sim/fabric/large_pages.hpp"

#include <cstdint>

#include <sys/mman.h>

namespace lamina::fabric {

void ask_for_large_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t kPage = std::size_t{2} << 20U;
  const std::size_t skipped = (kPage - reinterpret_cast<std::uintptr_t>(begin) % kPage) % kPage;
  if (bytes > skipped + kPage) {
    // Whatever it answers: the memory is there either way.
    static_cast<void>(madvise(static_cast<char*>(begin) + skipped, (bytes - skipped) / kPage * kPage, MADV_HUGEPAGE));
  }
#endif
}

}  // namespace lamina::fabric
