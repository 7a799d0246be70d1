#include "validate/cpu/ring.hpp"

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::validate::cpu {
namespace {

class Ring {
 public:
  Ring(const RingMember& member, std::span<float> buffer, std::span<float> scratch, Transport& transport)
      : member_(member), buffer_(buffer), scratch_(scratch), transport_(transport) {}

  void reduce_scatter() {
    for (int step = 0; step + 1 < member_.size; ++step) {
      const std::span<float> received = scratch_.first(shard(member_.index - step - 2).size());
      exchange(shard(member_.index - step - 1), received);
      const std::span<float> sum = shard(member_.index - step - 2);
      for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += received[i];
      }
    }
    const float share = 1.0F / static_cast<float>(member_.size);
    for (float& value : shard(member_.index)) {
      value *= share;
    }
  }

  void all_gather() {
    for (int step = 0; step + 1 < member_.size; ++step) {
      exchange(shard(member_.index - step), shard(member_.index - step - 1));
    }
  }

 private:
  [[nodiscard]] std::span<float> shard(int number) const {
    const auto size = static_cast<std::size_t>(member_.size);
    const auto index = static_cast<std::size_t>((number % member_.size + member_.size) % member_.size);
    const std::size_t first = buffer_.size() * index / size;
    return buffer_.subspan(first, buffer_.size() * (index + 1) / size - first);
  }

  void exchange(std::span<const float> sent, std::span<float> received) {
    transport_.exchange(member_.out, std::as_bytes(sent), member_.in, std::as_writable_bytes(received));
  }

  const RingMember& member_;
  std::span<float> buffer_;
  std::span<float> scratch_;
  Transport& transport_;
};

}  // namespace

void run_ring(graph::CollectiveKind kind, const RingMember& member, std::span<float> buffer, std::span<float> scratch,
              Transport& transport) {
  Ring ring(member, buffer, scratch, transport);
  switch (kind) {
    case graph::CollectiveKind::kAllReduce:
      ring.reduce_scatter();
      ring.all_gather();
      return;
    case graph::CollectiveKind::kReduceScatter:
      ring.reduce_scatter();
      return;
    case graph::CollectiveKind::kAllGather:
      ring.all_gather();
      return;
    default:
      throw error::InternalError(fmt::format("no ring for {}", graph::name_of(kind)));
  }
}

}  // namespace lamina::validate::cpu
