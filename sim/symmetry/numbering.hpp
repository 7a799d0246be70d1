#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lamina::symmetry {

/// splitmix64's finaliser: every input bit reaches every output bit.
[[nodiscard]] inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

[[nodiscard]] inline std::uint64_t join(std::uint64_t a, std::uint64_t b) {
  return mix(a ^ mix(b));
}

[[nodiscard]] inline std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

/// Numbers of hashes in order of first appearance. Open addressing: as small as the number of classes, so that it stays
/// in the cache where millions of things fall into a few.
class Numbering {
 public:
  std::int32_t number_of(std::uint64_t hash) {
    if (hash == last_hash_ && count_ > 0) {
      return last_;
    }
    last_hash_ = hash;
    for (std::size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
      if (slots_[slot].number < 0) {
        slots_[slot] = {hash, count_};
        last_ = count_++;
        if (2 * static_cast<std::size_t>(count_) > mask_) {
          grow();
        }
        return last_;
      }
      if (slots_[slot].hash == hash) {
        return last_ = slots_[slot].number;
      }
    }
  }

  [[nodiscard]] std::int32_t count() const { return count_; }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::int32_t number = -1;
  };

  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& entry : old) {
      if (entry.number >= 0) {
        std::size_t slot = entry.hash & mask_;
        while (slots_[slot].number >= 0) {
          slot = (slot + 1) & mask_;
        }
        slots_[slot] = entry;
      }
    }
  }

  static constexpr std::size_t kFirstSize = 64;
  std::vector<Slot> slots_ = std::vector<Slot>(kFirstSize);
  std::size_t mask_ = kFirstSize - 1;
  std::int32_t count_ = 0;
  std::int32_t last_ = 0;
  std::uint64_t last_hash_ = 0;
};

}  // namespace lamina::symmetry
