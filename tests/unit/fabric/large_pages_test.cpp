#include "sim/fabric/large_pages.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lamina::fabric {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20U;

/// Flags of the mapping that holds an address, as proc(5) has them: "hg" stands for MADV_HUGEPAGE.
std::string flags_at(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    if (words >> std::hex >> begin >> dash >> end && dash == '-') {
      inside = begin <= wanted && wanted < end;
    } else if (inside && line.rfind("VmFlags:", 0) == 0) {
      return line + ' ';
    }
  }
  return "";
}

TEST(LargePages, AreAskedForInTheMiddleOfALargeArrayWhereTheKernelHasThem) {
  std::vector<std::uint64_t> large;
  reserve_large(large, 64 * kMegabyte / sizeof(std::uint64_t));
  const std::string flags = flags_at(large.data() + 32 * kMegabyte / sizeof(std::uint64_t));
  EXPECT_EQ(flags.find(" hg ") != std::string::npos,
            std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled"));
}

TEST(LargePages, AreNotAskedForBySmallArraysOrRangesWithoutAWholePage) {
  std::vector<char> bytes(64 * kMegabyte);
  std::vector<std::uint64_t> small;
  reserve_large(small, 100);
  EXPECT_EQ(small.capacity(), 100U);
  EXPECT_EQ(flags_at(small.data()).find(" hg "), std::string::npos);
  char* const middle = bytes.data() + 32 * kMegabyte;
  ask_for_large_pages(middle, 2 * kMegabyte - 1);
  EXPECT_EQ(flags_at(middle).find(" hg "), std::string::npos);
}

TEST(LargePages, ReservingKeepsWhatAnArrayHolds) {
  std::vector<int> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0);
  const std::vector<int> before = numbers;
  reserve_large(numbers, 16 * kMegabyte);
  EXPECT_EQ(numbers, before);
  EXPECT_GE(numbers.capacity(), 16 * kMegabyte);
}

}  // namespace
}  // namespace lamina::fabric
