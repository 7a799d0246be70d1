#include "validate/cpu/stream_threads.hpp"

#include <utility>

#include <sys/resource.h>

#include "validate/cpu/cores.hpp"

namespace lamina::validate::cpu {
namespace {

std::int64_t switches_of_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

StreamThreads::StreamThreads(const graph::Program& program, std::function<void(std::uint32_t)> run,
                             ranks::Control& control)
    : program_(program),
      run_(std::move(run)),
      control_(control),
      queues_(program.streams.size()),
      waits_(program.operations.size()),
      done_(program.operations.size()) {
  for (std::size_t stream = 0; stream < queues_.size(); ++stream) {
    threads_.emplace_back([this, stream] { serve(stream); });
  }
}

StreamThreads::~StreamThreads() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void StreamThreads::finish() {
  {
    std::unique_lock lock(mutex_);
    ++generation_;
    switches_ = 0;
    busy_ = threads_.size();
    changed_.notify_all();
    changed_.wait(lock, [&] { return busy_ == 0; });
  }
  for (auto& queue : queues_) {
    queue.clear();
  }
  for (auto& waits : waits_) {
    waits.clear();
  }
  for (auto& done : done_) {
    done.store(0, std::memory_order_relaxed);
  }
  if (fault_) {
    std::rethrow_exception(fault_);
  }
}

void StreamThreads::serve(std::size_t stream) {
  if (program_.streams[stream].kind != graph::StreamKind::kCompute) {
    take_short_slices();
  }
  std::uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return leaving_ || generation_ != seen; });
      if (leaving_) {
        return;
      }
      seen = generation_;
    }
    const std::int64_t before = switches_of_thread();
    run_queue(stream);
    const std::int64_t switches = switches_of_thread() - before;
    const std::lock_guard lock(mutex_);
    switches_ += program_.streams[stream].kind == graph::StreamKind::kCompute ? switches : 0;
    if (--busy_ == 0) {
      changed_.notify_all();
    }
  }
}

void StreamThreads::run_queue(std::size_t stream) {
  try {
    for (const std::uint32_t operation : queues_[stream]) {
      for (const std::uint32_t before : waits_[operation]) {
        done_[before].wait(0, std::memory_order_acquire);
      }
      run_(operation);
      done_[operation].store(1, std::memory_order_release);
      done_[operation].notify_all();
    }
  } catch (const std::exception& error) {
    control_.fail(error.what());  // other streams may wait for ever: the coordinator ends us
    const std::lock_guard lock(mutex_);
    fault_ = std::current_exception();
  }
}

}  // namespace lamina::validate::cpu
