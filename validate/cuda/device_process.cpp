#include "validate/cuda/device_process.hpp"

#include <exception>
#include <memory>
#include <numeric>
#include <utility>

#include "validate/cpu/merge.hpp"
#include "validate/execute.hpp"
#include "validate/plugins.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::cuda {
namespace {

/// The plug-in sees other processes through this.
class ControlledPeers final : public Peers {
 public:
  explicit ControlledPeers(ranks::Control& control) : control_(control) {}

  [[nodiscard]] std::vector<std::string> gather(const std::string& content) override {
    return control_.gather(content).contents;
  }

  [[nodiscard]] double start_together() override { return control_.start_together(); }

 private:
  ranks::Control& control_;
};

DeviceSetup setup_of(const Job& job, int rank, int device, Peers& peers) {
  const scenario::Scenario& scenario = job.scenario;
  const scenario::Sharding& sharding = scenario.strategy.sharding;
  DeviceSetup setup;
  setup.graph = &job.executable.prepared.graph;
  setup.deployment = &job.executable.deployment;
  setup.calls = &job.calls;
  setup.device = device;
  if (job.one_device) {
    setup.ranks.resize(job.executable.deployment.ranks.size());
    std::iota(setup.ranks.begin(), setup.ranks.end(), 0);
  } else {
    setup.ranks = {rank};
    setup.peers = &peers;
  }
  setup.precision = scenario.strategy.precision;
  setup.hidden = scenario.model.hidden;
  setup.sequence = scenario.model.sequence_length;
  const int tensor = scenario.strategy.tensor_parallel;
  setup.vocabulary = (scenario.model.vocabulary + tensor - 1) / tensor;
  setup.head = scenario.model.head_size;
  setup.dropout = !scenario.model.gated_mlp;
  setup.weight_sets = sharding.level == scenario::ShardingLevel::kFull ? sharding.weight_buffers : 0;
  const bool gradients_sharded =
      sharding.level == scenario::ShardingLevel::kFull || sharding.level == scenario::ShardingLevel::kGradients;
  setup.gradient_sets = gradients_sharded ? sharding.gradient_buffers : 0;
  setup.emulate_links = job.settings.emulate_links;
  setup.hold_compute = job.settings.hold_compute;
  return setup;
}

std::string record_of(const DeviceSetup& setup, const Execution& execution) {
  ranks::Packer record;
  for (const std::int32_t rank : setup.ranks) {
    record.text(cpu::pack(execution, rank));
  }
  return record.take();
}

}  // namespace

std::string Calibration::pack() const {
  ranks::Packer packer;
  packer.text(device);
  packer.value(memory_bytes);
  packer.array(lists.median_s);
  packer.array(lists.spread);
  return packer.take();
}

Calibration Calibration::unpack(const std::string& text) {
  ranks::Unpacker unpacker(text);
  Calibration result;
  result.device = unpacker.text();
  result.memory_bytes = unpacker.value<double>();
  result.lists.median_s = unpacker.array<double>();
  result.lists.spread = unpacker.array<double>();
  return result;
}

void drive_devices(const Job& job, int rank, int local_rank, ranks::Control& control) {
  const Plugin plugin("cuda");
  std::vector<Device> devices;
  plugin.entry<FindDevices>("lamina_cuda_devices")(devices);
  ControlledPeers peers(control);
  const DeviceSetup setup = setup_of(job, rank, devices.size() == 1 ? 0 : local_rank, peers);
  std::unique_ptr<CudaBackend> backend;
  try {
    backend.reset(plugin.entry<MakeCudaBackend>("lamina_make_cuda_backend")(setup));
    (void)control.gather({});  // all processes have their communicators
    control.report(Calibration{backend->description(), backend->memory_bytes(), backend->time_lists()}.pack());
    for (int repeat = -job.settings.warm_up; repeat < job.settings.repeats; ++repeat) {
      const Execution execution = execute(*setup.graph, *setup.deployment, job.executable.order, *backend);
      if (repeat >= 0) {
        control.report(record_of(setup, execution));
      }
    }
  } catch (const std::exception& fault) {
    control.fail(fault.what());  // before memory is freed: that waits for kernels, which may never end
    throw;
  }
}

Execution merge_records(const Job& job, const std::vector<std::string>& reports) {
  std::vector<std::string> records;
  for (const std::string& report : reports) {
    ranks::Unpacker unpacker(report);
    const std::size_t ranks = job.one_device ? job.executable.deployment.ranks.size() : 1;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      records.push_back(unpacker.text());
    }
  }
  return cpu::merge(records, job.executable.prepared.graph, job.executable.deployment);
}

}  // namespace lamina::validate::cuda
