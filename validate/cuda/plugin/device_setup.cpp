// What is made before the first step, and measured apart from steps.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>

#include "sim/error/error.hpp"
#include "validate/cuda/plugin/device_backend.hpp"

namespace lamina::validate::cuda {
namespace {

using graph::OperationKind;

std::string version_text(int version) {  // 13000 is 13.0
  return std::to_string(version / 1000).append(".").append(std::to_string(version % 1000 / 10));
}

/// Where the user has not chosen: enough hardware queues for many streams; code loaded before, not between, kernels;
/// NCCL's operations in the order of their issue, since several communicators share a device.
void set_defaults() {
  constexpr int kKeep = 0;
  (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", kKeep);
  (void)setenv("CUDA_MODULE_LOADING", "EAGER", kKeep);
  (void)setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", kKeep);
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace

std::vector<Device> find_devices() {
  set_defaults();
  int count = 0;
  LAMINA_CHECKED(cudaGetDeviceCount(&count));
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    LAMINA_CHECKED(cudaGetDeviceProperties(&properties, i));
    devices.push_back({properties.name, properties.major, properties.minor, properties.multiProcessorCount,
                       static_cast<double>(properties.totalGlobalMem)});
  }
  if (devices.empty()) {
    check(cudaErrorNoDevice, {"cudaGetDeviceCount(&count)", __FILE__, __LINE__});
  }
  return devices;
}

DeviceBackend::DeviceBackend(const DeviceSetup& setup) : setup_(setup) {
  const std::vector<Device> devices = find_devices();
  if (setup_.device < 0 || static_cast<std::size_t>(setup_.device) >= devices.size()) {
    throw error::EnvironmentError(std::string("there is no CUDA device ")
                                      .append(std::to_string(setup_.device))
                                      .append("; this process sees ")
                                      .append(std::to_string(devices.size())));
  }
  if (setup_.peers != nullptr && setup_.ranks.size() != 1) {
    throw error::InternalError("one of several processes drives one rank");
  }
  device_ = devices[static_cast<std::size_t>(setup_.device)];
  LAMINA_CHECKED(cudaSetDevice(setup_.device));
  products_ = std::make_unique<Products>();
  origin_ = make_stream(0);
  base_ = make_event();
  index_of_.assign(setup_.deployment->ranks.size(), -1);
  for (const std::int32_t rank : setup_.ranks) {
    index_of_[static_cast<std::size_t>(rank)] = static_cast<std::int32_t>(ranks_.size());
    make_rank(rank);
  }
  constexpr double kFillLimit = 20;
  wait_for(origin_.get(), kFillLimit, "filling memory with random numbers");
  if (setup_.peers != nullptr) {
    communicators_ = std::make_unique<Communicators>(setup_);
  }
}

void DeviceBackend::make_rank(std::int32_t number) {
  ranks_.push_back(std::make_unique<Rank>());
  Rank& rank = *ranks_.back();
  rank.number = number;
  rank.place = &setup_.deployment->ranks[static_cast<std::size_t>(number)];
  rank.program = &setup_.graph->programs[static_cast<std::size_t>(rank.place->program)];
  rank.units = units_of(*rank.program);
  int least = 0;
  int greatest = 0;
  LAMINA_CHECKED(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  for (const graph::Stream& stream : rank.program->streams) {  // the few blocks of a transfer go before a product's
    rank.streams.push_back(make_stream(stream.kind == graph::StreamKind::kCompute ? least : greatest));
  }
  std::int32_t computed = 0;
  for (const graph::Operation& operation : rank.program->operations) {
    computed += operation.kind == OperationKind::kCompute ? 1 : 0;
    rank.compute_number.push_back(computed);
    rank.arrivals.push_back(make_event());
    rank.ends.push_back(make_event());
  }
  rank.launched.resize(rank.streams.size());
  rank.words = DeviceMemory(rank.streams.size() * sizeof(std::uint64_t), "dates");
  make_buffers(rank);
  rank.runner = std::make_unique<KernelRunner>(setup_, number, *products_, origin_.get());
}

void DeviceBackend::make_buffers(Rank& rank) {
  std::vector<std::size_t> device(rank.streams.size(), 0);
  std::vector<std::size_t> host(rank.streams.size(), 0);
  for (const graph::Operation& operation : rank.program->operations) {
    if (operation.kind != OperationKind::kCompute) {
      const auto bytes = static_cast<std::size_t>(operation.bytes) + 1;
      device[operation.stream] = std::max(device[operation.stream], bytes);
      if (operation.kind == OperationKind::kHostCopy) {
        host[operation.stream] = std::max(host[operation.stream], bytes);
      }
    }
  }
  for (std::size_t stream = 0; stream < device.size(); ++stream) {
    rank.traffic.emplace_back(DeviceMemory(device[stream], "messages"), DeviceMemory(device[stream], "messages"));
    rank.host.emplace_back(host[stream], "host copies");
    if (device[stream] > 0) {
      LAMINA_CHECKED(kernels::fill_bytes(rank.traffic.back().first.data(), device[stream], 2, origin_.get()));
    }
  }
}

std::string DeviceBackend::description() const {
  int runtime = 0;
  int driver = 0;
  LAMINA_CHECKED(cudaRuntimeGetVersion(&runtime));
  LAMINA_CHECKED(cudaDriverGetVersion(&driver));
  std::string text = device_.name;
  text.append(" (compute capability ").append(std::to_string(device_.major)).append(".");
  text.append(std::to_string(device_.minor)).append(", ").append(std::to_string(device_.multiprocessors));
  text.append(" multiprocessors, ").append(bytes_text(device_.memory_bytes)).append("), CUDA ");
  text.append(version_text(runtime)).append(", driver for ").append(version_text(driver)).append(", cuBLASLt ");
  text.append(std::to_string(cublasLtGetVersion()));
  if (communicators_) {
    int nccl = 0;
    LAMINA_CHECKED(ncclGetVersion(&nccl));
    text.append(", NCCL ").append(std::to_string(nccl / 10000)).append(".").append(std::to_string(nccl / 100 % 100));
    text.append(".").append(std::to_string(nccl % 100));
  } else if (setup_.ranks.size() > 1) {
    text.append(", ").append(std::to_string(setup_.ranks.size())).append(" ranks on one device, ");
    text.append(setup_.emulate_links ? "links emulated" : "messages as device copies");
  }
  return setup_.hold_compute ? text.append(", compute held") : text;
}

double DeviceBackend::memory_bytes() const {
  std::size_t bytes = 0;
  double of_runners = 0;
  for (const auto& rank : ranks_) {
    of_runners += rank->runner->memory_bytes();
    for (const auto& [from, to] : rank->traffic) {
      bytes += from.size() + to.size();
    }
  }
  return of_runners + static_cast<double>(bytes);
}

ListTimes DeviceBackend::time_lists() {
  constexpr int kWarm = 2;
  constexpr int kRounds = 11;
  constexpr double kRoundLimit = 20;
  constexpr double kHeadStart = 5e-4;
  constexpr int kLeastRounds = 5;
  constexpr auto kBudget = std::chrono::seconds(10);
  const std::size_t lists = setup_.calls->lists.size();
  ListTimes result{std::vector<double>(lists, 0), std::vector<double>(lists, 0)};
  if (setup_.hold_compute) {
    return result;
  }
  std::map<std::size_t, Rank*> runners;
  for (const auto& rank : ranks_) {
    for (std::size_t list = 0; list < lists; ++list) {
      if (rank->runner->used()[list] && !setup_.calls->lists[list].empty()) {
        runners.try_emplace(list, rank.get());
      }
    }
  }
  const Event start = make_event();
  const Event end = make_event();
  std::map<std::size_t, std::vector<double>> times;
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < kWarm + kRounds; ++round) {  // lists in turn: each finds the caches as a step leaves them
    if (round >= kWarm + kLeastRounds && std::chrono::steady_clock::now() - begin > kBudget) {
      break;
    }
    for (const auto& [list, rank] : runners) {
      LAMINA_CHECKED(kernels::hold(kHeadStart, origin_.get()));  // launches come before their turn
      LAMINA_CHECKED(cudaEventRecord(start.get(), origin_.get()));
      rank->runner->run(static_cast<std::int32_t>(list), round, origin_.get());
      LAMINA_CHECKED(cudaEventRecord(end.get(), origin_.get()));
      wait_for(origin_.get(), kRoundLimit, "a list of kernels");
      if (round >= kWarm) {
        times[list].push_back(seconds_between(start, end));
      }
    }
  }
  for (const auto& [list, of_list] : times) {
    const double median = quantile(of_list, 0.5);
    result.median_s[list] = median;
    result.spread[list] = median > 0 ? (quantile(of_list, 0.75) - quantile(of_list, 0.25)) / median : 0;
  }
  return result;
}

}  // namespace lamina::validate::cuda
