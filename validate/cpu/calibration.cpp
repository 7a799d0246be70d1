#include "validate/cpu/calibration.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "validate/ranks/wire.hpp"
#include "validate/statistics.hpp"

namespace lamina::validate::cpu {
namespace {

constexpr double kSmallBytes = 1024;

/// Paths that cost the same have the same key.
using PathKey = std::pair<double, double>;

PathKey key_of(const deployment::Deployment& deployment, std::int32_t path) {
  const deployment::Path& over = deployment.paths[static_cast<std::size_t>(path)];
  return {over.latency_s, over.alone_s_per_byte};
}

/// Of each kind of path the pipe with the largest messages; the same on all ranks.
std::vector<std::size_t> representatives(const Plan& plan, const deployment::Deployment& deployment) {
  std::map<PathKey, std::size_t> best;
  for (std::size_t pipe = 0; pipe < plan.pipes.size(); ++pipe) {
    if (plan.pipes[pipe].path < 0 || plan.pipes[pipe].most_bytes == 0) {
      continue;
    }
    const auto [found, is_new] = best.try_emplace(key_of(deployment, plan.pipes[pipe].path), pipe);
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

class Calibrator {
 public:
  Calibrator(const Machine& machine, std::int32_t rank)
      : machine_(machine),
        rank_(rank),
        program_(static_cast<std::size_t>(machine.deployment.ranks[static_cast<std::size_t>(rank)].program)),
        used_(machine.calls.lists.size(), 0) {
    for (const std::int32_t list : machine_.calls.list_of[program_]) {
      if (list != KernelCalls::kNone) {
        used_[static_cast<std::size_t>(list)] = 1;
      }
    }
  }

  RankCalibration run() {
    result_.engine = machine_.engine.description();
    result_.memory_bytes = machine_.engine.memory_bytes();
    kernels();
    std::vector<double> ratios;
    for (const std::size_t pipe : representatives(machine_.plan, machine_.deployment)) {
      messages(pipe, ratios);
    }
    for (const double ratio : ratios) {
      result_.busy_ratio = std::max(result_.busy_ratio, ratio);
    }
    copies();
    return result_;
  }

 private:
  /// Lists in turn, so that each finds the caches as a step leaves them.
  void kernels() {
    constexpr int kWarm = 2;
    constexpr int kRounds = 11;
    std::vector<std::vector<double>> times(used_.size());
    (void)machine_.control.start_together();
    for (int round = 0; round < kWarm + kRounds; ++round) {
      for (std::size_t list = 0; list < used_.size(); ++list) {
        if (!used_[list]) {
          continue;
        }
        const double start = ranks::monotonic_s();
        machine_.engine.run(static_cast<int>(list), round, round);
        if (round >= kWarm) {
          times[list].push_back(ranks::monotonic_s() - start);
        }
      }
    }
    for (const auto& of_list : times) {
      const double median = quantile(of_list, 0.5);
      result_.list_s.push_back(median);
      result_.list_spread.push_back(median > 0 ? (quantile(of_list, 0.75) - quantile(of_list, 0.25)) / median : 0);
    }
  }

  /// Dates at which the messages of a stream were there; empty at ranks that have no end of the pipe.
  std::vector<double> stream(std::size_t pipe, std::size_t bytes, int count) {
    const Pipe& over = machine_.plan.pipes[pipe];
    std::vector<std::byte> content(bytes, std::byte{1});
    std::vector<double> dates;
    for (int i = 0; i < count; ++i) {
      if (over.from == rank_) {
        machine_.transport.send(pipe, content);
      } else {
        machine_.transport.receive(pipe, content);
      }
      dates.push_back(ranks::monotonic_s());
    }
    return dates;
  }

  [[nodiscard]] bool has_end(std::size_t pipe) const {
    return machine_.plan.pipes[pipe].from == rank_ || machine_.plan.pipes[pipe].to == rank_;
  }

  /// Mean distance of the second half: what a bucket of tokens lets through at first does not count.
  static double distance(const std::vector<double>& dates) {
    const std::size_t middle = dates.size() / 2;
    return (dates.back() - dates[middle]) / static_cast<double>(dates.size() - 1 - middle);
  }

  void messages(std::size_t pipe, std::vector<double>& ratios) {
    constexpr int kSmallMessages = 64;
    constexpr double kStreamSeconds = 0.3;
    const std::size_t bytes = machine_.plan.pipes[pipe].most_bytes;
    const auto small = std::min(bytes, static_cast<std::size_t>(kSmallBytes));
    PipeCost cost;
    cost.pipe = pipe;
    cost.small_bytes = static_cast<double>(small);
    cost.large_bytes = static_cast<double>(bytes);
    const PathKey key = key_of(machine_.deployment, machine_.plan.pipes[pipe].path);
    const double expected = key.first + key.second * cost.large_bytes + 20e-6;
    const int count = static_cast<int>(std::clamp(kStreamSeconds / expected, 8.0, 200.0));
    (void)machine_.control.start_together();
    if (has_end(pipe)) {
      cost.small_s = distance(stream(pipe, small, kSmallMessages));
      cost.large_s = distance(stream(pipe, bytes, count));
      if (machine_.plan.pipes[pipe].to == rank_) {
        result_.pipes.push_back(cost);
      }
    }
    ranks::Packer packer;
    packer.value(cost.large_s);
    const ranks::Round round = machine_.control.gather(packer.take());  // both ends send as many messages
    const std::string& of_receiver = round.contents[static_cast<std::size_t>(machine_.plan.pipes[pipe].to)];
    if (has_end(pipe)) {
      beside(pipe, bytes, ranks::Unpacker(of_receiver).value<double>(), ratios);
    }
    (void)machine_.control.start_together();
  }

  /// Kernels beside a stream: sends and receives take processor time from them.
  void beside(std::size_t pipe, std::size_t bytes, double large_s, std::vector<double>& ratios) {
    std::size_t list = 0;
    for (std::size_t i = 0; i < used_.size(); ++i) {
      if (result_.list_s[i] > result_.list_s[list]) {
        list = i;
      }
    }
    if (result_.list_s.empty() || result_.list_s[list] <= 0) {
      return;
    }
    const int count = static_cast<int>(std::clamp(0.5 / large_s, 8.0, 400.0));
    std::atomic<bool> streaming{true};
    std::thread messages([&] {
      (void)stream(pipe, bytes, count);
      streaming = false;
    });
    std::vector<double> times;
    while (streaming) {
      const double start = ranks::monotonic_s();
      machine_.engine.run(static_cast<int>(list), static_cast<int>(times.size()), static_cast<int>(times.size()));
      times.push_back(ranks::monotonic_s() - start);
    }
    messages.join();
    if (times.size() > 2) {
      times.pop_back();  // the stream ended in it
      ratios.push_back(quantile(times, 0.5) / result_.list_s[list]);
    }
  }

  void copies() {
    double most = 0;
    const graph::Operation* largest = nullptr;
    for (const graph::Operation& operation : machine_.graph.programs[program_].operations) {
      if (operation.kind == graph::OperationKind::kHostCopy && operation.bytes > most) {
        most = operation.bytes;
        largest = &operation;
      }
    }
    if (largest == nullptr) {
      return;
    }
    const deployment::Rank& here = machine_.deployment.ranks[static_cast<std::size_t>(rank_)];
    const std::int32_t path = largest->to_host ? here.to_host : here.from_host;
    const std::vector<float> from(static_cast<std::size_t>(most / sizeof(float)) + 1, 0.5F);
    std::vector<float> to(from);
    std::vector<double> times;
    constexpr int kCopies = 7;
    for (int i = 0; i < kCopies; ++i) {
      const double start = ranks::monotonic_s();
      copy_paced(from, to, static_cast<std::size_t>(most), path, machine_.memory);
      times.push_back(ranks::monotonic_s() - start);
    }
    const PathKey key = key_of(machine_.deployment, path);
    result_.copy_overhead_s = std::max(0.0, quantile(times, 0.5) - key.first - key.second * most);
  }

  const Machine& machine_;
  std::int32_t rank_;
  std::size_t program_;
  std::vector<char> used_;
  RankCalibration result_;
};

/// The paths of messages, each once; and of host copies.
std::set<std::int32_t> message_paths(const deployment::Deployment& deployment) {
  std::set<std::int32_t> paths;
  for (const deployment::Channel& channel : deployment.channels) {
    paths.insert(channel.path);
  }
  for (const deployment::Group& group : deployment.groups) {
    for (const auto& messages : group.messages) {
      for (const deployment::GroupMessage& message : messages) {
        paths.insert(message.path);
      }
    }
  }
  paths.erase(-1);
  return paths;
}

}  // namespace

std::string RankCalibration::pack() const {
  ranks::Packer packer;
  packer.text(engine);
  packer.value(memory_bytes);
  packer.array(list_s);
  packer.array(list_spread);
  packer.array(pipes);
  packer.value(busy_ratio);
  packer.value(copy_overhead_s);
  return packer.take();
}

RankCalibration RankCalibration::unpack(const std::string& text) {
  ranks::Unpacker unpacker(text);
  RankCalibration result;
  result.engine = unpacker.text();
  result.memory_bytes = unpacker.value<double>();
  result.list_s = unpacker.array<double>();
  result.list_spread = unpacker.array<double>();
  result.pipes = unpacker.array<PipeCost>();
  result.busy_ratio = unpacker.value<double>();
  result.copy_overhead_s = unpacker.value<double>();
  return result;
}

RankCalibration calibrate(const Machine& machine, std::int32_t rank) {
  return Calibrator(machine, rank).run();
}

Calibrated apply(const std::vector<RankCalibration>& ranks, const deployment::Deployment& deployment, const Plan& plan,
                 const KernelCalls& calls, bool measured_rates) {
  Calibrated result;
  result.deployment = deployment;
  std::map<PathKey, PipeCost> costs;
  double weighted = 0;
  double total = 0;
  double ratios = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const PipeCost& cost : ranks[rank].pipes) {
      costs.emplace(key_of(deployment, plan.pipes[cost.pipe].path), cost);
    }
    ratios += ranks[rank].busy_ratio / static_cast<double>(ranks.size());
    const auto program = static_cast<std::size_t>(deployment.ranks[rank].program);
    auto& durations = result.durations.emplace_back();
    for (const std::int32_t list : calls.list_of[program]) {
      const bool computes = list != KernelCalls::kNone;
      durations.push_back(computes ? ranks[rank].list_s[static_cast<std::size_t>(list)] : 0);
      if (computes) {
        weighted += durations.back() * ranks[rank].list_spread[static_cast<std::size_t>(list)];
        total += durations.back();
      }
    }
  }
  result.slowdown = std::clamp(1 - 1 / ratios, 0.0, 0.9);
  result.spread = total > 0 ? weighted / total : 0;
  for (const std::int32_t index : message_paths(deployment)) {
    const auto cost = costs.find(key_of(deployment, index));
    if (cost == costs.end()) {
      continue;
    }
    deployment::Path& path = result.deployment.paths[static_cast<std::size_t>(index)];
    const auto& [pipe, small_bytes, small_s, large_bytes, large_s] = cost->second;
    if (!measured_rates) {
      path.latency_s += std::max(0.0, large_s - path.latency_s - path.alone_s_per_byte * large_bytes);
      continue;
    }
    const double per_byte = large_bytes > small_bytes
                                ? std::max(1e-12, (large_s - small_s) / (large_bytes - small_bytes))
                                : path.alone_s_per_byte;
    path.latency_s = std::max(0.0, large_s - per_byte * large_bytes);
    path.alone_s_per_byte = per_byte;
    for (const collectives::LinkUse& use : path.links) {
      result.deployment.links[static_cast<std::size_t>(use.link)].bandwidth = use.count / per_byte;
    }
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const std::int32_t index : {deployment.ranks[rank].to_host, deployment.ranks[rank].from_host}) {
      if (index >= 0) {
        deployment::Path& path = result.deployment.paths[static_cast<std::size_t>(index)];
        path.latency_s = deployment.paths[static_cast<std::size_t>(index)].latency_s + ranks[rank].copy_overhead_s;
      }
    }
  }
  return result;
}

void copy_paced(const std::vector<float>& from, std::vector<float>& to, std::size_t bytes, std::int32_t path,
                SharedMemory& memory) {
  const double start = ranks::monotonic_s();
  std::copy(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(bytes / sizeof(float)), to.begin());
  memory.pace(path, static_cast<double>(bytes), start);
}

}  // namespace lamina::validate::cpu
