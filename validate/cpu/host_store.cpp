#include "validate/cpu/host_store.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "validate/statistics.hpp"

namespace lamina::validate::cpu {
namespace {

class MemoryStore final : public HostStore {
 public:
  MemoryStore(HostPlaces places, const deployment::Rank& rank, SharedMemory& memory)
      : HostStore(std::move(places)),
        rank_(rank),
        memory_(memory),
        written_(page_memory(this->places().largest)),
        read_(page_memory(this->places().largest)) {
    if (this->places().largest > 0 && (!written_ || !read_)) {
      throw std::bad_alloc();
    }
  }

  [[nodiscard]] bool ranks_compete() const override { return false; }

  void write(std::size_t /*place*/, std::size_t bytes) override {
    const double start = ranks::monotonic_s();
    std::memcpy(written_.get(), outgoing().data(), bytes);
    memory_.pace(rank_.to_host, static_cast<double>(bytes), start);
  }

  void read(std::size_t /*place*/, std::size_t bytes) override {
    const double start = ranks::monotonic_s();
    std::memcpy(incoming().data(), read_.get(), bytes);
    memory_.pace(rank_.from_host, static_cast<double>(bytes), start);
  }

 private:
  const deployment::Rank& rank_;
  SharedMemory& memory_;
  PageMemory written_;
  PageMemory read_;
};

class FileStore final : public HostStore {
 public:
  FileStore(HostPlaces places, const std::filesystem::path& folder) : HostStore(std::move(places)), file_(folder) {
    const std::size_t total = this->places().total;
    for (std::size_t place = 0; place < total; place += outgoing().size()) {
      file_.write(outgoing().data(), std::min(outgoing().size(), total - place), place);
    }
  }

  [[nodiscard]] bool ranks_compete() const override { return true; }

  void write(std::size_t place, std::size_t bytes) override {
    file_.write(outgoing().data(), whole_pages(bytes), place);
  }

  void read(std::size_t place, std::size_t bytes) override { file_.read(incoming().data(), whole_pages(bytes), place); }

 private:
  ScratchFile file_;
};

/// Median of a few copies, each in another place; two of them at least.
double time_copies_of(HostStore& store, bool to_host, std::size_t bytes, double seconds) {
  constexpr int kCopies = 7;
  constexpr int kFewest = 2;
  const std::size_t room = store.places().total - whole_pages(bytes);
  std::vector<double> times;
  const double begin = ranks::monotonic_s();
  for (int i = 0; i < kCopies && (i < kFewest || ranks::monotonic_s() - begin < seconds); ++i) {
    const std::size_t place = static_cast<std::size_t>(i) * whole_pages(bytes) % (room + kPage);
    const double start = ranks::monotonic_s();
    to_host ? store.write(place, bytes) : store.read(place, bytes);
    times.push_back(ranks::monotonic_s() - start);
  }
  return quantile(times, 0.5);
}

double largest_copy(const graph::Program& program, bool to_host) {
  double largest = 0;
  for (const graph::Operation& operation : program.operations) {
    if (operation.kind == graph::OperationKind::kHostCopy && operation.to_host == to_host) {
      largest = std::max(largest, operation.bytes);
    }
  }
  return largest;
}

CopyCost measure(HostStore& store, bool to_host, double largest, std::size_t count, std::size_t rank,
                 ranks::Control& control) {
  constexpr double kSeconds = 1;
  constexpr double kSecondsOfAll = 20;
  constexpr std::size_t kSmaller = 8;
  const double seconds = std::min(kSeconds, kSecondsOfAll / static_cast<double>(count));
  const auto large = static_cast<std::size_t>(largest);
  const std::size_t small = std::min(large, whole_pages(large / kSmaller));
  CopyCost cost;
  cost.small_bytes = static_cast<double>(small);
  cost.large_bytes = static_cast<double>(large);
  for (std::size_t turn = 0; turn < count && store.ranks_compete(); ++turn) {
    (void)control.start_together();
    if (large > 0 && turn == rank) {
      cost.small_s = time_copies_of(store, to_host, small, seconds);
      cost.large_s = time_copies_of(store, to_host, large, seconds);
    }
  }
  (void)control.start_together();
  cost.together_s = large > 0 ? time_copies_of(store, to_host, large, seconds) : 0;
  return cost;
}

/// A file's latency and seconds per byte, and the bytes per second that all ranks get together.
struct FileRates {
  double latency_s = 0;
  double per_byte_s = 0;
  double all_bytes_per_s = 0;
};

FileRates rates_of(const std::vector<CopyCost>& costs) {
  std::vector<double> latencies;
  std::vector<double> per_byte;
  for (const CopyCost& cost : costs) {
    if (cost.large_bytes > 0) {
      const bool two_sizes = cost.large_bytes > cost.small_bytes && cost.large_s > cost.small_s;
      per_byte.push_back(two_sizes ? (cost.large_s - cost.small_s) / (cost.large_bytes - cost.small_bytes)
                                   : cost.large_s / cost.large_bytes);
      latencies.push_back(std::max(0.0, cost.large_s - per_byte.back() * cost.large_bytes));
    }
  }
  FileRates rates;
  if (per_byte.empty()) {
    return rates;
  }
  rates.latency_s = quantile(latencies, 0.5);
  rates.per_byte_s = std::max(1e-12, quantile(per_byte, 0.5));
  for (const CopyCost& cost : costs) {
    if (cost.large_bytes > 0) {
      const double alone_s = rates.per_byte_s * cost.large_bytes;
      rates.all_bytes_per_s += cost.large_bytes / std::max(alone_s, cost.together_s - rates.latency_s);
    }
  }
  rates.all_bytes_per_s = std::max(rates.all_bytes_per_s, 1 / rates.per_byte_s);
  return rates;
}

std::int32_t add_link(double bandwidth, deployment::Deployment& into) {
  deployment::Link link;
  link.link_class = fabric::LinkClass::kHostPath;
  link.bandwidth = bandwidth;
  into.links.push_back(link);
  return static_cast<std::int32_t>(into.links.size() - 1);
}

void apply_files(const std::vector<CopyCost>& costs, std::int32_t deployment::Rank::*path,
                 deployment::Deployment& into) {
  const FileRates rates = rates_of(costs);
  if (rates.per_byte_s <= 0) {
    return;
  }
  const std::int32_t shared = add_link(rates.all_bytes_per_s, into);
  for (std::size_t rank = 0; rank < costs.size(); ++rank) {
    if (costs[rank].large_bytes > 0) {
      into.ranks[rank].*path = static_cast<std::int32_t>(into.paths.size());
      into.paths.push_back(
          {{{add_link(1 / rates.per_byte_s, into), 1}, {shared, 1}}, rates.latency_s, rates.per_byte_s});
    }
  }
}

}  // namespace

HostPlaces place_copies(const graph::Program& program) {
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t>;
  const auto key_of = [](const graph::Operation& operation) {
    return Key{operation.stage, operation.layer, operation.micro_batch};
  };
  std::map<Key, std::size_t> sizes;
  HostPlaces result;
  for (const graph::Operation& operation : program.operations) {
    if (operation.kind == graph::OperationKind::kHostCopy) {
      const auto bytes = static_cast<std::size_t>(operation.bytes);
      std::size_t& size = sizes[key_of(operation)];
      size = std::max(size, whole_pages(bytes));
      result.largest = std::max(result.largest, bytes);
      result.in_step += operation.bytes;
    }
  }
  std::map<Key, std::size_t> places;
  for (const auto& [key, size] : sizes) {
    places[key] = result.total;
    result.total += size;
  }
  for (const graph::Operation& operation : program.operations) {
    const bool copies = operation.kind == graph::OperationKind::kHostCopy;
    result.of_operation.push_back(copies ? places.at(key_of(operation)) : 0);
  }
  return result;
}

HostStore::HostStore(HostPlaces places)
    : places_(std::move(places)), outgoing_(page_memory(places_.largest)), incoming_(page_memory(places_.largest)) {
  if (places_.largest > 0 && (!outgoing_ || !incoming_)) {
    throw std::bad_alloc();
  }
}

std::unique_ptr<HostStore> make_memory_store(HostPlaces places, const deployment::Rank& rank, SharedMemory& memory) {
  return std::make_unique<MemoryStore>(std::move(places), rank, memory);
}

std::unique_ptr<HostStore> make_file_store(HostPlaces places, const std::filesystem::path& folder) {
  const double total = static_cast<double>(places.total);
  try {
    return std::make_unique<FileStore>(std::move(places), folder);
  } catch (const error::EnvironmentError& fault) {
    constexpr double kMega = 1e6;
    throw error::EnvironmentError(
        fmt::format("{:.3g} MB of host copies do not go into {}: {}", total / kMega, folder.string(), fault.what()));
  }
}

std::string describe_file_store(const std::filesystem::path& folder) {
  return fmt::format("host copies in files of {}, {}", folder.string(), ScratchFile(folder).how());
}

CopyCosts measure_copies(HostStore& store, const graph::OperationGraph& graph, const deployment::Deployment& deployment,
                         std::int32_t rank, ranks::Control& control) {
  CopyCosts costs;
  const auto copies = [](const graph::Program& program) { return place_copies(program).largest > 0; };
  if (std::none_of(graph.programs.begin(), graph.programs.end(), copies)) {
    return costs;
  }
  const auto index = static_cast<std::size_t>(rank);
  const graph::Program& program = graph.programs[static_cast<std::size_t>(deployment.ranks[index].program)];
  for (const bool to_host : {true, false}) {
    (to_host ? costs.to_host : costs.from_host) =
        measure(store, to_host, largest_copy(program, to_host), deployment.ranks.size(), index, control);
  }
  (void)control.start_together();
  return costs;
}

void apply_copies(const std::vector<CopyCosts>& costs, const deployment::Deployment& deployment, bool files,
                  deployment::Deployment& into) {
  using Direction = std::pair<CopyCost CopyCosts::*, std::int32_t deployment::Rank::*>;
  for (const auto& [direction, path] : {Direction{&CopyCosts::to_host, &deployment::Rank::to_host},
                                        Direction{&CopyCosts::from_host, &deployment::Rank::from_host}}) {
    std::vector<CopyCost> of_ranks;
    for (const CopyCosts& of_rank : costs) {
      of_ranks.push_back(of_rank.*direction);
    }
    if (files) {
      apply_files(of_ranks, path, into);
      continue;
    }
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
      const CopyCost& cost = of_ranks[rank];
      if (cost.large_bytes > 0) {
        const auto index = static_cast<std::size_t>(deployment.ranks[rank].*path);
        const deployment::Path& over = deployment.paths[index];
        into.paths[index].latency_s =
            std::max(over.latency_s, cost.together_s - over.alone_s_per_byte * cost.large_bytes);
      }
    }
  }
}

}  // namespace lamina::validate::cpu
