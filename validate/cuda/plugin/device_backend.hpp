#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "validate/cuda/cuda_backend.hpp"
#include "validate/cuda/plugin/communicators.hpp"
#include "validate/cuda/plugin/kernel_runner.hpp"

namespace lamina::validate::cuda {

[[nodiscard]] std::vector<Device> find_devices();

/// A CUDA stream for every stream of every rank, two events for every operation. What waits for another stream waits on
/// the device: the thread that launches never blocks.
class DeviceBackend final : public CudaBackend {
 public:
  /// @throws EnvironmentError as MakeCudaBackend
  explicit DeviceBackend(const DeviceSetup& setup);

  [[nodiscard]] std::vector<std::int32_t> local_ranks() const override { return setup_.ranks; }

  void wait(std::int32_t rank, std::uint32_t operation, std::uint32_t before) override;
  void launch(std::int32_t rank, std::uint32_t operation) override;
  [[nodiscard]] Execution finish() override;
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] double memory_bytes() const override;
  [[nodiscard]] ListTimes time_lists() override;

 private:
  /// What a rank has on the device.
  struct Rank {
    std::int32_t number = 0;
    const deployment::Rank* place = nullptr;
    const graph::Program* program = nullptr;
    Units units;
    std::vector<std::int32_t> compute_number;  ///< [operation] compute operations up to it
    std::vector<Stream> streams;               ///< [stream]
    std::vector<Event> arrivals;               ///< [operation] at the head of its stream, nothing left to wait for
    std::vector<Event> ends;                   ///< [operation]
    std::vector<std::vector<std::uint32_t>> launched;  ///< [stream] operations of this step
    std::unique_ptr<KernelRunner> runner;
    std::vector<std::pair<DeviceMemory, DeviceMemory>> traffic;  ///< [stream] from, to
    std::vector<PinnedMemory> host;                              ///< [stream]
    DeviceMemory words;                                          ///< a date per stream
  };

  struct Instance {
    Rank* rank = nullptr;
    std::uint32_t operation = 0;
  };

  /// Where operations of one process meet: a channel (false) or a group (true).
  using Place = std::pair<bool, std::int32_t>;

  void make_rank(std::int32_t number);
  void make_buffers(Rank& rank);
  void begin_step();
  void compute(Rank& rank, std::uint32_t operation);
  void message(Instance instance);
  void collective(Instance instance);
  void send_by_nccl(Rank& rank, const graph::Operation& operation);
  void collect_by_nccl(Rank& rank, const graph::Operation& operation, std::int32_t group);
  void copy(Rank& rank, std::uint32_t operation);
  void together(const std::vector<Instance>& members, const Instance& leader, double seconds, double bytes, int copies);
  [[nodiscard]] std::vector<Instance> meet(Place place, Instance instance, std::size_t participants);
  void await();
  [[nodiscard]] bool advance(Rank& rank, std::vector<std::size_t>& heads) const;
  [[nodiscard]] std::string stuck() const;
  void record(Execution& result);
  void end(Rank& rank, std::uint32_t operation);
  [[nodiscard]] double path_seconds(std::int32_t path, double bytes) const;
  [[nodiscard]] Rank& rank_of(std::int32_t number);
  [[nodiscard]] cudaStream_t stream_of(const Rank& rank, std::uint32_t operation) const;
  [[nodiscard]] std::uint64_t* word_of(const Rank& rank, std::uint32_t operation) const;
  [[nodiscard]] const graph::Operation& operation_of(const Instance& instance) const;

  const DeviceSetup setup_;
  Device device_;
  std::unique_ptr<Products> products_;
  std::unique_ptr<Communicators> communicators_;  ///< null: one process
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::int32_t> index_of_;  ///< [rank] into ranks_, -1: another process's
  Stream origin_;
  Event base_;            ///< of the step
  double base_s_ = 0;     ///< after the common start
  bool in_step_ = false;  ///< something has been launched
  std::int64_t launched_ = 0;
  std::map<Place, std::vector<Instance>> waiting_;
  std::vector<std::vector<Instance>> met_;  ///< in this step
};

}  // namespace lamina::validate::cuda
