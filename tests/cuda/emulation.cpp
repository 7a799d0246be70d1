#include "tests/cuda/emulation.hpp"

#include <memory>
#include <vector>

#include <setjmp.h>
#include <ucontext.h>

#include "tests/cuda/fake_device.hpp"
#include "tests/cuda/fake_stream.hpp"

namespace lamina::tests::emulation {

Index thread_index;
Index block_index;
Index block_size;
Index grid_size;

namespace {

constexpr unsigned kWarp = 32;
constexpr std::size_t kStack = 64 * 1024;

/// Threads that wait for each other.
struct Barrier {
  unsigned arrived = 0;
  unsigned generation = 0;
};

struct Block {
  ucontext_t scheduler{};  ///< begins a thread; after that, jumps change places: they make no system calls
  ucontext_t fresh{};
  jmp_buf back{};
  std::unique_ptr<jmp_buf[]> threads;
  std::vector<char> begun;
  std::vector<std::unique_ptr<char[]>> stacks;
  std::vector<char> done;
  std::vector<Barrier> warps;
  std::vector<float> exchanged[2];
  Barrier all;
  unsigned running = 0;
  const std::function<void()>* kernel = nullptr;
};

Block* current = nullptr;

void yield() {
  if (_setjmp(current->threads[current->running]) == 0) {
    _longjmp(current->back, 1);
  }
}

void resume(Block& block, unsigned thread) {
  if (_setjmp(block.back) != 0) {
    return;
  }
  if (block.begun[thread] != 0) {
    _longjmp(block.threads[thread], 1);
  }
  block.begun[thread] = 1;
  swapcontext(&block.scheduler, &block.fresh);
}

void wait_at(Barrier& barrier, unsigned participants) {
  const unsigned generation = barrier.generation;
  if (++barrier.arrived == participants) {
    barrier.arrived = 0;
    ++barrier.generation;
    return;
  }
  while (barrier.generation == generation) {
    yield();
  }
}

void start_thread() {
  (*current->kernel)();
  current->done[current->running] = 1;
  yield();
}

void run_block(Block& block, unsigned threads) {
  block.done.assign(threads, 0);
  block.begun.assign(threads, 0);
  for (bool left = true; left;) {
    left = false;
    for (unsigned thread = 0; thread < threads; ++thread) {
      if (block.done[thread] == 0) {
        left = true;
        block.running = thread;
        thread_index.x = thread;
        if (block.begun[thread] == 0) {
          getcontext(&block.fresh);
          block.fresh.uc_stack.ss_sp = block.stacks[thread].get();
          block.fresh.uc_stack.ss_size = kStack;
          block.fresh.uc_link = nullptr;
          makecontext(&block.fresh, start_thread, 0);
        }
        resume(block, thread);
      }
    }
  }
}

}  // namespace

void wait_for_block() {
  wait_at(current->all, block_size.x);
}

float exchange(float value, int mask) {
  const unsigned thread = current->running;
  Barrier& warp = current->warps[thread / kWarp];
  std::vector<float>& slots = current->exchanged[warp.generation % 2];  // the last ones may still be read
  slots[thread] = value;
  wait_at(warp, kWarp);
  return slots[thread ^ static_cast<unsigned>(mask)];
}

cudaError_t run(std::size_t blocks, unsigned threads, cudaStream_t stream, const std::function<void()>& kernel) {
  fake::pass_time(stream, fake::state().kernel_s);
  const auto status = static_cast<cudaError_t>(fake::status_of("launch"));
  if (status != cudaSuccess || !fake::state().runs_kernels) {
    return status;
  }
  Block block;
  block.kernel = &kernel;
  block.threads = std::make_unique<jmp_buf[]>(threads);
  block.warps.resize((threads + kWarp - 1) / kWarp);
  block.exchanged[0].resize(threads);
  block.exchanged[1].resize(threads);
  for (unsigned thread = 0; thread < threads; ++thread) {
    block.stacks.push_back(std::make_unique_for_overwrite<char[]>(kStack));
  }
  current = &block;
  block_size.x = threads;
  grid_size.x = static_cast<unsigned>(blocks);
  for (std::size_t index = 0; index < blocks; ++index) {
    block_index.x = static_cast<unsigned>(index);
    run_block(block, threads);
  }
  current = nullptr;
  return cudaSuccess;
}

}  // namespace lamina::tests::emulation
