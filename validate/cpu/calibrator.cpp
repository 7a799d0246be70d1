#include "validate/cpu/calibrator.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "validate/cpu/cores.hpp"
#include "validate/cpu/ring.hpp"
#include "validate/ranks/wire.hpp"
#include "validate/statistics.hpp"

namespace lamina::validate::cpu {
namespace {

constexpr std::size_t kSmallBytes = 1024;

/// Of each kind of path the pipe with the largest messages; the same on all ranks.
std::vector<std::size_t> representatives(const Plan& plan, const deployment::Deployment& deployment) {
  std::map<PathKey, std::size_t> best;
  for (std::size_t pipe = 0; pipe < plan.pipes.size(); ++pipe) {
    if (plan.pipes[pipe].path < 0 || plan.pipes[pipe].most_bytes == 0) {
      continue;
    }
    const auto [found, is_new] = best.try_emplace(key_of(deployment, plan.pipes[pipe].path, plan.in_ring(pipe)), pipe);
    if (!is_new && plan.pipes[pipe].most_bytes > plan.pipes[found->second].most_bytes) {
      found->second = pipe;
    }
  }
  std::vector<std::size_t> result;
  for (const auto& [key, pipe] : best) {
    result.push_back(pipe);
  }
  return result;
}

/// Mean distance of the second half: what a bucket of tokens lets through at first does not count.
double distance(const std::vector<double>& dates) {
  const std::size_t middle = dates.size() / 2;
  return (dates.back() - dates[middle]) / static_cast<double>(dates.size() - 1 - middle);
}

/// Executes an exchange so many times.
/// @return its mean time
double repeat(const std::function<void()>& exchange, int count) {
  std::vector<double> dates;
  for (int i = 0; i < count; ++i) {
    exchange();
    dates.push_back(ranks::monotonic_s());
  }
  return distance(dates);
}

}  // namespace

Calibrator::Calibrator(const Machine& machine, std::int32_t rank)
    : machine_(machine),
      rank_(rank),
      program_(static_cast<std::size_t>(machine.deployment.ranks[static_cast<std::size_t>(rank)].program)) {
  std::set<int> used;
  for (const std::int32_t list : machine_.calls.list_of[program_]) {
    if (list != KernelCalls::kNone) {
      used.insert(list);
    }
  }
  used_.assign(used.begin(), used.end());
}

RankCalibration Calibrator::run() {
  constexpr int kRounds = 11;
  result_.engine = machine_.engine.description();
  result_.memory_bytes = machine_.engine.memory_bytes();
  warm_up();
  result_.list_samples = kernels(kRounds);
  for (const std::size_t pipe : representatives(machine_.plan, machine_.deployment)) {
    messages(pipe);
  }
  result_.copies = measure_copies(machine_.store, machine_.graph, machine_.deployment, rank_, machine_.control);
  return result_;
}

RankCalibration Calibrator::warm_up_only() {
  result_.engine = machine_.engine.description();
  result_.memory_bytes = machine_.engine.memory_bytes();
  warm_up();
  result_.list_samples = kernels(1);
  return result_;
}

/// Every layer's and micro-batch's memory once: the first use of memory is slow.
void Calibrator::warm_up() {
  constexpr int kLeast = 2;
  constexpr double kSeconds = 4;
  const double end = ranks::monotonic_s() + kSeconds;
  const graph::Program& program = machine_.graph.programs[program_];
  int all = number_units(program).count;
  for (const graph::Operation& operation : program.operations) {
    all = std::max(all, operation.micro_batch + 1);
  }
  for (int round = 0; round < kLeast || (round < all && ranks::monotonic_s() < end); ++round) {
    for (const int list : used_) {
      machine_.engine.run(list, round, round);
    }
  }
}

KernelSamples Calibrator::kernels(int rounds) {
  KernelSamples samples(machine_.calls.lists.size());
  (void)machine_.control.start_together();
  for (int round = 0; round < rounds; ++round) {
    for (const int list : used_) {
      const double start = ranks::monotonic_s();
      machine_.engine.run(list, round, round);
      samples[static_cast<std::size_t>(list)].push_back(ranks::monotonic_s() - start);
    }
  }
  return samples;
}

Calibrator::Traffic Calibrator::traffic(std::size_t pipe, std::size_t bytes) const {
  Traffic result;
  const auto ring = machine_.plan.ring_of(pipe);
  if (ring == machine_.plan.rings.end()) {
    const Pipe& over = machine_.plan.pipes[pipe];
    result.takes_part = over.from == rank_ || over.to == rank_;
    const auto content = std::make_shared<std::vector<std::byte>>(bytes, std::byte{1});
    result.exchange = [this, pipe, content, sends = over.from == rank_] {
      sends ? machine_.transport.send(pipe, *content) : machine_.transport.receive(pipe, *content);
    };
    return result;
  }
  const deployment::Group& group = machine_.deployment.groups[static_cast<std::size_t>(ring->first.first)];
  const auto member = ring_member(ring, group, rank_);
  result.takes_part = member.has_value();
  result.messages = 2.0 * (group.size - 1);
  if (member) {
    const std::size_t shard = bytes / sizeof(float);
    const auto buffer = std::make_shared<std::vector<float>>(shard * static_cast<std::size_t>(group.size), 0.5F);
    const auto scratch = std::make_shared<std::vector<float>>(shard);
    result.exchange = [this, member, buffer, scratch] {
      run_ring(graph::CollectiveKind::kAllReduce, *member, *buffer, *scratch, machine_.transport);
    };
  }
  return result;
}

double Calibrator::alone(const Traffic& over, int count) {
  (void)machine_.control.start_together();
  return over.takes_part ? repeat(over.exchange, count) / over.messages : 0;
}

/// Ends of messages and kernels share a core: each takes time from the other.
Calibrator::Beside Calibrator::beside(const Traffic& over, int count) {
  (void)machine_.control.start_together();
  if (!over.takes_part) {
    return {};
  }
  std::atomic<bool> streaming{true};
  double seconds = 0;
  std::exception_ptr fault;
  std::thread messages([&] {
    take_short_slices();
    try {
      seconds = repeat(over.exchange, count);
    } catch (...) {
      fault = std::current_exception();
    }
    streaming = false;
  });
  const double start = ranks::monotonic_s();
  double alone = 0;  // of the kernels that ran
  double share = 0;
  for (int i = 0; streaming && !used_.empty(); ++i) {
    const int list = used_[static_cast<std::size_t>(i) % used_.size()];
    machine_.engine.run(list, i, i);
    if (streaming) {  // else the messages ended in it
      alone += median(result_.list_samples[static_cast<std::size_t>(list)]);
      share = 1 - alone / (ranks::monotonic_s() - start);
    }
  }
  messages.join();
  if (fault) {
    std::rethrow_exception(fault);
  }
  return {seconds / over.messages, share};
}

double Calibrator::messages_of(const PathKey& key) const {
  const deployment::Rank& here = machine_.deployment.ranks[static_cast<std::size_t>(rank_)];
  double messages = 0;
  for (const graph::Operation& operation : machine_.graph.programs[program_].operations) {
    std::size_t pipe = machine_.plan.pipes.size();
    double of_operation = 1;
    if (operation.kind == graph::OperationKind::kSend || operation.kind == graph::OperationKind::kReceive) {
      pipe = static_cast<std::size_t>(here.channels[operation.channel]);
    } else if (operation.kind == graph::OperationKind::kCollective) {
      const std::int32_t group = here.groups[static_cast<std::size_t>(operation.group)];
      const auto ring = machine_.plan.rings.find({group, operation.phase});
      if (ring != machine_.plan.rings.end()) {
        pipe = ring->second;
        of_operation = machine_.deployment.groups[static_cast<std::size_t>(group)].size - 1.0;
      }
    }
    if (pipe < machine_.plan.pipes.size() && machine_.plan.pipes[pipe].path >= 0 &&
        key_of(machine_.deployment, machine_.plan.pipes[pipe].path, machine_.plan.in_ring(pipe)) == key) {
      messages += of_operation;
    }
  }
  return messages;
}

void Calibrator::messages(std::size_t pipe) {
  constexpr int kSmallMessages = 64;
  constexpr double kSeconds = 0.3;
  const Pipe& over = machine_.plan.pipes[pipe];
  const std::size_t bytes = over.most_bytes;
  const std::size_t small = std::min(bytes, kSmallBytes);
  PipeCost cost;
  cost.pipe = pipe;
  cost.small_bytes = static_cast<double>(small);
  cost.large_bytes = static_cast<double>(bytes);
  const Traffic of_small = traffic(pipe, small);
  const Traffic of_large = traffic(pipe, bytes);
  const PathKey key = key_of(machine_.deployment, over.path, machine_.plan.in_ring(pipe));
  const double expected = (std::get<0>(key) + std::get<1>(key) * cost.large_bytes + 20e-6) * of_large.messages;
  const int count = static_cast<int>(std::clamp(kSeconds / expected, 6.0, 200.0));  // as many at all ends
  cost.alone.small_s = alone(of_small, kSmallMessages);
  cost.alone.large_s = alone(of_large, count);
  cost.beside.small_s = beside(of_small, kSmallMessages).message_s;
  const Beside both = beside(of_large, 2 * count);
  cost.beside.large_s = both.message_s;
  if (of_large.takes_part) {
    const bool receives = !machine_.plan.in_ring(pipe) && over.to == rank_;
    (receives ? result_.busy_receiving : result_.busy).add({both.share, messages_of(key) * cost.alone.large_s});
  }
  (void)machine_.control.start_together();
  if (over.to == rank_) {
    result_.pipes.push_back(cost);
  }
}

double slowest_exchange(const Plan& plan, const deployment::Deployment& deployment) {
  double slowest = 0;
  for (std::size_t pipe = 0; pipe < plan.pipes.size(); ++pipe) {
    const auto ring = plan.ring_of(pipe);
    const double messages =
        ring == plan.rings.end() ? 1 : 2.0 * (deployment.groups[static_cast<std::size_t>(ring->first.first)].size - 1);
    if (plan.pipes[pipe].path >= 0) {
      const deployment::Path& path = deployment.paths[static_cast<std::size_t>(plan.pipes[pipe].path)];
      const auto bytes = static_cast<double>(plan.pipes[pipe].most_bytes);
      slowest = std::max(slowest, messages * (path.latency_s + path.alone_s_per_byte * bytes));
    }
  }
  return slowest;
}

}  // namespace lamina::validate::cpu
