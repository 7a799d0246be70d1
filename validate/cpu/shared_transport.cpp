#include <algorithm>
#include <atomic>
#include <climits>
#include <cmath>
#include <cstring>
#include <new>

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim/error/error.hpp"
#include "validate/cpu/transport.hpp"

namespace lamina::validate::cpu {
namespace {

constexpr std::size_t kPage = 4096;

/// std::atomic::wait is for threads of one process; these counters are shared by several.
void wait_until_at_least(std::atomic<std::uint32_t>& counter, std::uint32_t wanted) {
  while (true) {
    const std::uint32_t value = counter.load(std::memory_order_acquire);
    if (static_cast<std::int32_t>(value - wanted) >= 0) {
      return;
    }
    syscall(SYS_futex, &counter, FUTEX_WAIT, value, nullptr, nullptr, 0);
  }
}

void advance(std::atomic<std::uint32_t>& counter) {
  counter.fetch_add(1, std::memory_order_acq_rel);
  syscall(SYS_futex, &counter, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

struct SharedMemory::Slot {
  alignas(64) std::atomic<std::uint32_t> posted;  ///< messages that the receiver has been ready for
  alignas(64) std::atomic<std::uint32_t> sent;
};

struct SharedMemory::LinkState {
  alignas(64) std::atomic<double> free_s;  ///< reserved until then
};

SharedMemory::SharedMemory(const std::vector<Pipe>& pipes, const deployment::Deployment& deployment)
    : pipes_(pipes), deployment_(deployment) {
  static_assert(std::atomic<double>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);
  const auto up = [](std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; };
  std::size_t offset = up(deployment.links.size() * sizeof(LinkState) + pipes.size() * sizeof(Slot));
  for (const Pipe& pipe : pipes) {
    offsets_.push_back(offset);
    offset += up(pipe.most_bytes);
  }
  size_ = std::max(offset, kPage);
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw error::EnvironmentError(fmt::format("no {} bytes of shared memory for messages", size_));
  }
  memory_ = static_cast<std::byte*>(memory);  // zeros: counters at 0, links free
}

SharedMemory::~SharedMemory() {
  munmap(memory_, size_);
}

SharedMemory::Slot& SharedMemory::slot(std::size_t pipe) const {
  return *reinterpret_cast<Slot*>(memory_ + deployment_.links.size() * sizeof(LinkState) + pipe * sizeof(Slot));
}

std::byte* SharedMemory::data(std::size_t pipe) const {
  return memory_ + offsets_[pipe];
}

void SharedMemory::pace(std::int32_t path, double bytes, double start_s) {
  if (path < 0) {
    return;
  }
  const deployment::Path& over = deployment_.paths[static_cast<std::size_t>(path)];
  auto* states = reinterpret_cast<LinkState*>(memory_);
  double end = start_s;
  const double piece = over.alone_s_per_byte > 0 ? std::max(65536.0, kPieceSeconds / over.alone_s_per_byte) : bytes;
  for (double left = bytes; left > 0; left -= piece) {
    const double part = std::min(left, piece);
    double piece_end = end;
    for (const collectives::LinkUse& use : over.links) {
      const deployment::Link& link = deployment_.links[static_cast<std::size_t>(use.link)];
      if (link.never_limits) {
        continue;
      }
      const double takes = part * use.count / link.bandwidth;
      std::atomic<double>& free = states[use.link].free_s;
      double before = free.load();
      double reserved = 0;
      do {
        reserved = std::max(end, before) + takes;
      } while (!free.compare_exchange_weak(before, reserved));
      piece_end = std::max(piece_end, reserved);
    }
    end = piece_end;
    if (left > piece) {
      ranks::sleep_until(end);
    }
  }
  ranks::sleep_until(end + over.latency_s);
}

class SharedTransport final : public Transport {
 public:
  explicit SharedTransport(SharedMemory& memory)
      : memory_(memory), sent_(memory.pipes_.size(), 0), received_(memory.pipes_.size(), 0) {}

  void send(std::size_t pipe, std::span<const std::byte> content) override {
    SharedMemory::Slot& slot = memory_.slot(pipe);
    wait_until_at_least(slot.posted, ++sent_[pipe]);
    const double start = ranks::monotonic_s();
    std::memcpy(memory_.data(pipe), content.data(), content.size());
    memory_.pace(memory_.pipes_[pipe].path, static_cast<double>(content.size()), start);
    advance(slot.sent);
  }

  void receive(std::size_t pipe, std::span<std::byte> content) override {
    advance(memory_.slot(pipe).posted);
    take(pipe, content);
  }

  void exchange(std::size_t out, std::span<const std::byte> sent, std::size_t in,
                std::span<std::byte> received) override {
    advance(memory_.slot(in).posted);
    send(out, sent);
    take(in, received);
  }

 private:
  void take(std::size_t pipe, std::span<std::byte> content) {
    wait_until_at_least(memory_.slot(pipe).sent, ++received_[pipe]);
    std::memcpy(content.data(), memory_.data(pipe), content.size());
  }

  SharedMemory& memory_;
  std::vector<std::uint32_t> sent_;  ///< [pipe]
  std::vector<std::uint32_t> received_;
};

std::unique_ptr<Transport> SharedMemory::attach() {
  return std::make_unique<SharedTransport>(*this);
}

}  // namespace lamina::validate::cpu
