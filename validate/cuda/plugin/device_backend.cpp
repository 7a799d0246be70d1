#include "validate/cuda/plugin/device_backend.hpp"

#include <algorithm>
#include <ctime>
#include <thread>

#include "sim/error/error.hpp"

namespace lamina::validate::cuda {
namespace {

using graph::OperationKind;

double monotonic_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

void DeviceBackend::wait(std::int32_t rank, std::uint32_t operation, std::uint32_t before) {
  begin_step();
  Rank& here = rank_of(rank);
  LAMINA_CHECKED(cudaStreamWaitEvent(stream_of(here, operation), here.ends[before].get(), 0));
}

void DeviceBackend::launch(std::int32_t rank, std::uint32_t operation) {
  begin_step();
  Rank& here = rank_of(rank);
  const graph::Operation& what = here.program->operations[operation];
  here.launched[what.stream].push_back(operation);
  ++launched_;
  if (what.kind == OperationKind::kCompute) {
    compute(here, operation);
    return;
  }
  LAMINA_CHECKED(cudaEventRecord(here.arrivals[operation].get(), stream_of(here, operation)));
  if (what.kind == OperationKind::kHostCopy) {
    copy(here, operation);
  } else if (what.kind == OperationKind::kCollective) {
    collective({&here, operation});
  } else {
    message({&here, operation});
  }
}

/// The first operation of a step: a date that all processes share, which no stream goes before.
void DeviceBackend::begin_step() {
  if (in_step_) {
    return;
  }
  in_step_ = true;
  const double start_s = setup_.peers != nullptr ? setup_.peers->start_together() : 0;
  LAMINA_CHECKED(cudaEventRecord(base_.get(), origin_.get()));
  if (setup_.peers != nullptr) {
    LAMINA_CHECKED(cudaEventSynchronize(base_.get()));
    base_s_ = monotonic_s() - start_s;
  }
  for (const auto& rank : ranks_) {
    for (const Stream& stream : rank->streams) {
      LAMINA_CHECKED(cudaStreamWaitEvent(stream.get(), base_.get(), 0));
    }
  }
}

void DeviceBackend::compute(Rank& rank, std::uint32_t operation) {
  const graph::Operation& what = rank.program->operations[operation];
  cudaStream_t stream = stream_of(rank, operation);
  const deployment::Rank& place = *rank.place;
  if (place.host_delay_s > 0 && rank.compute_number[operation] % place.host_delay_every == 0) {
    LAMINA_CHECKED(kernels::hold(place.host_delay_s, stream));
  }
  LAMINA_CHECKED(cudaEventRecord(rank.arrivals[operation].get(), stream));
  const std::int32_t list = setup_.calls->list_of[static_cast<std::size_t>(place.program)][operation];
  const bool known = list != KernelCalls::kNone && !setup_.calls->lists[static_cast<std::size_t>(list)].empty();
  if (known && !setup_.hold_compute) {
    rank.runner->run(list, rank.units.of_operation[operation], stream);
    if (place.slowness > 1) {
      LAMINA_CHECKED(kernels::hold((place.slowness - 1) * what.duration_s, stream));
    }
  } else if (what.duration_s > 0) {  // a custom model knows durations, not kernels
    LAMINA_CHECKED(kernels::hold(what.duration_s * place.slowness, stream));
  }
  end(rank, operation);
}

void DeviceBackend::message(Instance instance) {
  const graph::Operation& what = operation_of(instance);
  if (communicators_) {
    send_by_nccl(*instance.rank, what);
    end(*instance.rank, instance.operation);
    return;
  }
  const std::int32_t channel = instance.rank->place->channels[what.channel];
  const std::vector<Instance> ends = meet({false, channel}, instance, 2);
  if (ends.empty()) {
    return;
  }
  const bool first_receives = operation_of(ends.front()).kind == OperationKind::kReceive;
  const std::int32_t path = setup_.deployment->channels[static_cast<std::size_t>(channel)].path;
  together(ends, first_receives ? ends.front() : ends.back(), path_seconds(path, what.bytes), what.bytes, 1);
}

void DeviceBackend::collective(Instance instance) {
  const graph::Operation& what = operation_of(instance);
  const std::int32_t group = instance.rank->place->groups[static_cast<std::size_t>(what.group)];
  if (group == -1 || setup_.deployment->groups[static_cast<std::size_t>(group)].size <= 1) {
    end(*instance.rank, instance.operation);
    return;
  }
  if (communicators_) {
    collect_by_nccl(*instance.rank, what, group);
    end(*instance.rank, instance.operation);
    return;
  }
  const deployment::Group& together_with = setup_.deployment->groups[static_cast<std::size_t>(group)];
  const std::vector<Instance> members = meet({true, group}, instance, together_with.members.size());
  if (members.empty()) {
    return;
  }
  double seconds = 0;
  for (const deployment::FlowStep& step : together_with.chain(what.collective, what.bytes)) {
    seconds += path_seconds(step.path, what.bytes * step.bytes_per_payload * step.pace);
  }
  together(members, members.front(), seconds, what.bytes, static_cast<int>(members.size()));
}

/// Operations of several streams that start and end as one. The work is on the leader's stream: device copies, and the
/// rest of the time that the deployment's links would take.
void DeviceBackend::together(const std::vector<Instance>& members, const Instance& leader, double seconds, double bytes,
                             int copies) {
  cudaStream_t stream = stream_of(*leader.rank, leader.operation);
  for (const Instance& member : members) {
    if (member.rank != leader.rank || member.operation != leader.operation) {
      LAMINA_CHECKED(cudaStreamWaitEvent(stream, member.rank->arrivals[member.operation].get(), 0));
    }
  }
  std::uint64_t* word = word_of(*leader.rank, leader.operation);
  if (setup_.emulate_links) {
    LAMINA_CHECKED(kernels::stamp(word, stream));
  }
  const auto& [from, to] = leader.rank->traffic[operation_of(leader).stream];
  for (int i = 0; i < copies && bytes >= 1; ++i) {
    LAMINA_CHECKED(
        cudaMemcpyAsync(to.data(), from.data(), static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream));
  }
  if (setup_.emulate_links) {
    LAMINA_CHECKED(kernels::hold_after(word, seconds, stream));
  }
  end(*leader.rank, leader.operation);
  const Event& done = leader.rank->ends[leader.operation];
  for (const Instance& member : members) {
    if (member.rank != leader.rank || member.operation != leader.operation) {
      LAMINA_CHECKED(cudaStreamWaitEvent(stream_of(*member.rank, member.operation), done.get(), 0));
      end(*member.rank, member.operation);
    }
  }
}

std::vector<DeviceBackend::Instance> DeviceBackend::meet(Place place, Instance instance, std::size_t participants) {
  std::vector<Instance>& arrived = waiting_[place];
  arrived.push_back(instance);
  if (arrived.size() < participants) {
    return {};
  }
  met_.push_back(std::exchange(arrived, {}));
  return met_.back();
}

void DeviceBackend::send_by_nccl(Rank& rank, const graph::Operation& operation) {
  const ncclComm_t over = communicators_->of_channel(rank.place->channels[operation.channel]);
  const auto& [from, to] = rank.traffic[operation.stream];
  const auto bytes = static_cast<std::size_t>(operation.bytes);
  cudaStream_t stream = rank.streams[operation.stream].get();
  constexpr int kSender = 0;
  constexpr int kReceiver = 1;
  if (operation.kind == OperationKind::kSend) {
    LAMINA_CHECKED(ncclSend(from.data(), bytes, ncclInt8, kReceiver, over, stream));
  } else {
    LAMINA_CHECKED(ncclRecv(to.data(), bytes, ncclInt8, kSender, over, stream));
  }
}

void DeviceBackend::collect_by_nccl(Rank& rank, const graph::Operation& operation, std::int32_t group) {
  const ncclComm_t over = communicators_->of_group(group);
  const auto& [from, to] = rank.traffic[operation.stream];
  cudaStream_t stream = rank.streams[operation.stream].get();
  const auto members = static_cast<std::size_t>(setup_.deployment->groups[static_cast<std::size_t>(group)].size);
  const std::size_t element = size_of(setup_.precision.gradients) == 4 ? 4 : 2;
  const ncclDataType_t type = element == 4                                              ? ncclFloat32
                              : setup_.precision.gradients == scenario::DataType::kFp16 ? ncclFloat16
                                                                                        : ncclBfloat16;
  const std::size_t all = static_cast<std::size_t>(operation.bytes) / element;
  const std::size_t part = all / members;
  switch (operation.collective) {
    case graph::CollectiveKind::kAllReduce:
      LAMINA_CHECKED(ncclAllReduce(from.data(), to.data(), all, type, ncclSum, over, stream));
      return;
    case graph::CollectiveKind::kReduceScatter:
      LAMINA_CHECKED(ncclReduceScatter(from.data(), to.data(), part, type, ncclSum, over, stream));
      return;
    case graph::CollectiveKind::kAllGather:
      LAMINA_CHECKED(ncclAllGather(from.data(), to.data(), part, type, over, stream));
      return;
    case graph::CollectiveKind::kBroadcast:
      LAMINA_CHECKED(ncclBroadcast(from.data(), to.data(), all, type, 0, over, stream));
      return;
    case graph::CollectiveKind::kAllToAll:
      break;
  }
  LAMINA_CHECKED(ncclGroupStart());
  for (std::size_t peer = 0; peer < members; ++peer) {
    const std::size_t at = peer * part * element;
    LAMINA_CHECKED(ncclSend(from.data() + at, part, type, static_cast<int>(peer), over, stream));
    LAMINA_CHECKED(ncclRecv(to.data() + at, part, type, static_cast<int>(peer), over, stream));
  }
  LAMINA_CHECKED(ncclGroupEnd());
}

void DeviceBackend::copy(Rank& rank, std::uint32_t operation) {
  const graph::Operation& what = rank.program->operations[operation];
  const auto bytes = static_cast<std::size_t>(what.bytes);
  void* device = rank.traffic[what.stream].first.data();
  void* host = rank.host[what.stream].data();
  if (bytes > 0) {
    LAMINA_CHECKED(cudaMemcpyAsync(what.to_host ? host : device, what.to_host ? device : host, bytes,
                                   what.to_host ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice,
                                   stream_of(rank, operation)));
  }
  end(rank, operation);
}

void DeviceBackend::end(Rank& rank, std::uint32_t operation) {
  LAMINA_CHECKED(cudaEventRecord(rank.ends[operation].get(), stream_of(rank, operation)));
}

Execution DeviceBackend::finish() {
  for (const auto& [place, waiting] : waiting_) {
    if (!waiting.empty()) {
      throw error::InternalError("an operation was launched without those that it happens together with");
    }
  }
  begin_step();  // of a process without operations
  await();
  Execution result;
  record(result);
  for (const auto& rank : ranks_) {
    for (auto& launched : rank->launched) {
      launched.clear();
    }
  }
  met_.clear();
  in_step_ = false;
  launched_ = 0;
  return result;
}

/// Moves the heads of a rank's streams past what has ended. @return whether one moved
bool DeviceBackend::advance(Rank& rank, std::vector<std::size_t>& heads) const {
  bool moved = false;
  heads.resize(rank.launched.size());
  for (std::size_t stream = 0; stream < heads.size(); ++stream) {
    while (heads[stream] < rank.launched[stream].size()) {
      const cudaError_t status = cudaEventQuery(rank.ends[rank.launched[stream][heads[stream]]].get());
      if (status == cudaErrorNotReady) {
        break;
      }
      check(status, {"cudaEventQuery(rank.ends[operation].get())", __FILE__, __LINE__});
      ++heads[stream];
      moved = true;
    }
  }
  return moved;
}

void DeviceBackend::await() {
  std::vector<std::vector<std::size_t>> heads(ranks_.size());
  double last_progress = monotonic_s();
  while (true) {
    bool moved = false;
    bool done = true;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      moved = advance(*ranks_[i], heads[i]) || moved;
      for (std::size_t stream = 0; stream < heads[i].size(); ++stream) {
        done = done && heads[i][stream] == ranks_[i]->launched[stream].size();
      }
    }
    if (done) {
      return;
    }
    if (communicators_) {
      communicators_->check_errors();
    }
    if (moved) {
      last_progress = monotonic_s();
    } else if (monotonic_s() - last_progress > setup_.silence_s) {
      throw error::EnvironmentError(stuck());
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

/// The first operation of each stream that has not ended.
std::string DeviceBackend::stuck() const {
  std::string text = "nothing has ended on the device for " + std::to_string(static_cast<int>(setup_.silence_s)) + " s";
  for (const auto& rank : ranks_) {
    for (std::size_t stream = 0; stream < rank->launched.size(); ++stream) {
      for (std::size_t i = 0; i < rank->launched[stream].size(); ++i) {
        if (cudaEventQuery(rank->ends[rank->launched[stream][i]].get()) == cudaErrorNotReady) {
          text.append("; rank ").append(std::to_string(rank->number)).append(" waits at operation ");
          text.append(std::to_string(i + 1)).append(" of ").append(std::to_string(rank->launched[stream].size()));
          text.append(" of its stream \"").append(rank->program->streams[stream].name).append("\"");
          break;
        }
      }
    }
  }
  return text;
}

void DeviceBackend::record(Execution& result) {
  result.timeline.activities = launched_;
  result.timeline.spans.resize(setup_.deployment->ranks.size());
  result.processor_s.resize(setup_.deployment->ranks.size());  // empty: not processors
  for (const auto& rank : ranks_) {
    auto& spans = result.timeline.spans[static_cast<std::size_t>(rank->number)];
    spans.resize(rank->program->operations.size());
    for (const auto& launched : rank->launched) {
      for (const std::uint32_t i : launched) {
        spans[i] = {base_s_ + seconds_between(base_, rank->arrivals[i]),
                    base_s_ + seconds_between(base_, rank->ends[i])};
        result.timeline.end_s = std::max(result.timeline.end_s, spans[i].end);
      }
    }
  }
  const auto span_of = [&](const Instance& instance) -> timeline::Span& {
    return result.timeline.spans[static_cast<std::size_t>(instance.rank->number)][instance.operation];
  };
  for (const std::vector<Instance>& members : met_) {  // starts when the last of them is there
    double start = 0;
    for (const Instance& member : members) {
      start = std::max(start, span_of(member).start);
    }
    const double end = span_of(members.front()).end;
    for (const Instance& member : members) {
      span_of(member) = {std::min(start, end), end};
    }
  }
}

double DeviceBackend::path_seconds(std::int32_t path, double bytes) const {
  const deployment::Path& over = setup_.deployment->paths[static_cast<std::size_t>(path)];
  return over.latency_s + bytes * over.alone_s_per_byte;
}

DeviceBackend::Rank& DeviceBackend::rank_of(std::int32_t number) {
  return *ranks_[static_cast<std::size_t>(index_of_[static_cast<std::size_t>(number)])];
}

cudaStream_t DeviceBackend::stream_of(const Rank& rank, std::uint32_t operation) const {
  return rank.streams[rank.program->operations[operation].stream].get();
}

std::uint64_t* DeviceBackend::word_of(const Rank& rank, std::uint32_t operation) const {
  return reinterpret_cast<std::uint64_t*>(rank.words.data()) + rank.program->operations[operation].stream;
}

const graph::Operation& DeviceBackend::operation_of(const Instance& instance) const {
  return instance.rank->program->operations[instance.operation];
}

}  // namespace lamina::validate::cuda
