#include "validate/cpu/calibration.hpp"

#include <algorithm>
#include <map>

#include "validate/ranks/wire.hpp"
#include "validate/statistics.hpp"

namespace lamina::validate::cpu {
namespace {

/// The paths of messages, and whether they are edges of rings; those of host copies are others.
std::map<std::int32_t, bool> message_paths(const deployment::Deployment& deployment) {
  std::map<std::int32_t, bool> paths;
  for (const deployment::Channel& channel : deployment.channels) {
    paths.emplace(channel.path, false);
  }
  for (const deployment::Group& group : deployment.groups) {
    for (const auto& messages : group.messages) {
      for (const deployment::GroupMessage& message : messages) {
        paths[message.path] = true;
      }
    }
  }
  paths.erase(-1);
  return paths;
}

/// Kernels alone: [rank][operation] medians, and how far equal ones differ.
void set_durations(const std::vector<RankCalibration>& ranks, const deployment::Deployment& deployment,
                   const KernelCalls& calls, Calibrated& into) {
  double weighted = 0;
  double total = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<double> medians;
    std::vector<double> ranges;
    for (const std::vector<double>& samples : ranks[rank].list_samples) {
      medians.push_back(median(samples));
      ranges.push_back(quantile(samples, 0.75) - quantile(samples, 0.25));
    }
    const auto program = static_cast<std::size_t>(deployment.ranks[rank].program);
    auto& durations = into.durations.emplace_back();
    for (const std::int32_t list : calls.list_of[program]) {
      const bool computes = list != KernelCalls::kNone;
      durations.push_back(computes ? medians[static_cast<std::size_t>(list)] : 0);
      weighted += computes ? ranges[static_cast<std::size_t>(list)] : 0;
      total += durations.back();
    }
  }
  into.spread = total > 0 ? weighted / total : 0;
}

/// A message of which the part `hidden` lies beside compute.
MessageCost mixed(const PipeCost& cost, double hidden) {
  const auto mix = [&](double alone, double beside) { return alone + hidden * std::max(0.0, beside - alone); };
  return {mix(cost.alone.small_s, cost.beside.small_s), mix(cost.alone.large_s, cost.beside.large_s)};
}

void set_path(const PipeCost& cost, double hidden, bool measured_rates, std::int32_t index,
              deployment::Deployment& into) {
  deployment::Path& path = into.paths[static_cast<std::size_t>(index)];
  const auto [small_s, large_s] = mixed(cost, hidden);
  if (!measured_rates) {
    path.latency_s += std::max(0.0, large_s - path.latency_s - path.alone_s_per_byte * cost.large_bytes);
    return;
  }
  const double per_byte = cost.large_bytes > cost.small_bytes
                              ? std::max(1e-12, (large_s - small_s) / (cost.large_bytes - cost.small_bytes))
                              : path.alone_s_per_byte;
  path.latency_s = std::max(0.0, large_s - per_byte * cost.large_bytes);
  path.alone_s_per_byte = per_byte;
  for (const collectives::LinkUse& use : path.links) {
    into.links[static_cast<std::size_t>(use.link)].bandwidth = use.count / per_byte;
  }
}

}  // namespace

PathKey key_of(const deployment::Deployment& deployment, std::int32_t path, bool in_ring) {
  const deployment::Path& over = deployment.paths[static_cast<std::size_t>(path)];
  return {over.latency_s, over.alone_s_per_byte, in_ring};
}

void BusyShare::add(const BusyShare& other) {
  weight_s += other.weight_s;
  share += weight_s > 0 ? (other.share - share) * other.weight_s / weight_s : 0;
}

std::string RankCalibration::pack() const {
  ranks::Packer packer;
  packer.text(engine);
  packer.value(memory_bytes);
  packer.text(pack_samples(list_samples));
  packer.array(pipes);
  packer.value(busy);
  packer.value(busy_receiving);
  packer.value(copies);
  return packer.take();
}

RankCalibration RankCalibration::unpack(const std::string& text) {
  ranks::Unpacker unpacker(text);
  RankCalibration result;
  result.engine = unpacker.text();
  result.memory_bytes = unpacker.value<double>();
  result.add_samples(unpacker.text());
  result.pipes = unpacker.array<PipeCost>();
  result.busy = unpacker.value<BusyShare>();
  result.busy_receiving = unpacker.value<BusyShare>();
  result.copies = unpacker.value<CopyCosts>();
  return result;
}

std::string pack_samples(const KernelSamples& samples) {
  ranks::Packer packer;
  packer.value(static_cast<std::uint64_t>(samples.size()));
  for (const std::vector<double>& of_list : samples) {
    packer.array(of_list);
  }
  return packer.take();
}

void RankCalibration::add_samples(const std::string& text) {
  ranks::Unpacker unpacker(text);
  const auto lists = unpacker.value<std::uint64_t>();
  for (std::size_t list = 0; list < lists; ++list) {
    const auto more = unpacker.array<double>();
    if (list_samples.size() <= list) {
      list_samples.emplace_back();
    }
    list_samples[list].insert(list_samples[list].end(), more.begin(), more.end());
  }
}

Calibrated apply(const std::vector<RankCalibration>& ranks, const deployment::Deployment& deployment, const Plan& plan,
                 const KernelCalls& calls, bool measured_rates, double hidden, bool files) {
  Calibrated result;
  result.deployment = deployment;
  set_durations(ranks, deployment, calls, result);
  BusyShare sending;
  BusyShare receiving;
  std::map<PathKey, PipeCost> costs;
  for (const RankCalibration& rank : ranks) {
    for (const PipeCost& cost : rank.pipes) {
      costs.emplace(key_of(deployment, plan.pipes[cost.pipe].path, plan.in_ring(cost.pipe)), cost);
    }
    sending.add(rank.busy);
    receiving.add(rank.busy_receiving);
  }
  constexpr double kMost = 0.9;
  result.slowdown = std::clamp(sending.share, 0.0, kMost);
  result.receiving_slowdown = std::clamp(receiving.share, 0.0, kMost);
  for (const auto& [index, in_ring] : message_paths(deployment)) {
    const auto cost = costs.find(key_of(deployment, index, in_ring));
    if (cost != costs.end()) {
      set_path(cost->second, hidden, measured_rates, index, result.deployment);
    }
  }
  std::vector<CopyCosts> copies;
  for (const RankCalibration& rank : ranks) {
    copies.push_back(rank.copies);
  }
  apply_copies(copies, deployment, files, result.deployment);
  return result;
}

}  // namespace lamina::validate::cpu
