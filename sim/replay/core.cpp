#include "sim/replay/core.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::replay {
namespace {

// States of an operation whose predecessors are all done; smaller values count predecessors.
constexpr std::uint32_t kDone = 0xffffffffU;
constexpr std::uint32_t kRunning = 0xfffffffeU;
constexpr std::uint32_t kWaiting = 0xfffffffdU;  ///< for its partner or its group

// A token is an operation of a rank (of fewer than 2^30), perhaps with a bit, or a slot of transfers_ with the top bit
// set.
using Touch = ComputeStreams::Touch;

constexpr Token kTransferBit = Token{1} << 63U;
constexpr Token kDelayBit = Token{1} << 62U;  ///< what the operation waits for on its host ends

constexpr Token token_of(std::uint32_t rank, std::uint32_t operation) {
  return (Token{rank} << 32U) | operation;
}

constexpr std::uint32_t slot_of(Token token) {
  return static_cast<std::uint32_t>(token & 0xffffffffU);
}

constexpr std::uint32_t rank_of(Token token) {
  return static_cast<std::uint32_t>((token & ~(kTransferBit | kDelayBit)) >> 32U);
}

}  // namespace

Core::Core(const graph::OperationGraph& graph, const deployment::Deployment& deployment, const Plan& plan,
           const Options& options, Transport& transport)
    : graph_(graph),
      deployment_(deployment),
      plan_(plan),
      options_(options),
      transport_(transport),
      open_runs_(deployment.groups.size()),
      compute_(deployment.ranks.size(),
               {options.communication_slowdown, options.receiving_slowdown.value_or(options.communication_slowdown)},
               transport),
      hosts_(deployment.ranks.size()) {
  states_.reserve(plan.operations);
  timeline_.spans.resize(deployment.ranks.size());
  if (options.record_flows) {
    timeline_.flows.reserve(plan.flows);
  }
  for (std::size_t i = 0; i < deployment.ranks.size(); ++i) {
    const auto program = static_cast<std::size_t>(deployment.ranks[i].program);
    first_state_.push_back(states_.size());
    states_.insert(states_.end(), plan.predecessors.begin() + graph.first_vertex[program],
                   plan.predecessors.begin() + graph.first_vertex[program + 1]);
    timeline_.spans[i].resize(graph.programs[program].operations.size());
  }
  number_compute();
}

timeline::Timeline Core::run() {
  for (std::uint32_t rank = 0; rank < timeline_.spans.size(); ++rank) {
    for (std::uint32_t i = 0; i < timeline_.spans[rank].size(); ++i) {
      if (state({rank, i}) == 0) {
        queue_ready({rank, i});
      }
    }
  }
  drain();
  transport_.run(*this);
  check_all_done();
  timeline_.activities = static_cast<std::int64_t>(done_) + flows_;
  return std::move(timeline_);
}

void Core::timer_ended(Token token) {
  if ((token & kTransferBit) != 0) {
    begin_flow(slot_of(token));
  } else if ((token & kDelayBit) != 0) {
    const Instance instance{rank_of(token), slot_of(token)};
    if (operation(instance).kind == graph::OperationKind::kCompute) {
      start_compute(instance);
    } else {
      arrive(instance);
    }
  } else {
    const Instance instance{rank_of(token), slot_of(token)};
    compute_.finish(instance.rank, token);
    complete(instance, timeline_.spans[instance.rank][instance.operation].start);
  }
  drain();
}

void Core::flow_ended(Token token) {
  const Transfer& transfer = transfers_[slot_of(token)];
  ++flows_;
  if (options_.record_flows) {
    timeline_.flows.push_back(
        {.path = transfer.path, .start = transfer.flow_start, .end = transport_.now(), .bytes = transfer.bytes});
  }
  finish_leg(slot_of(token));
  drain();
}

void Core::queue_ready(Instance instance) {
  state(instance) = kRunning;
  queue_.push_back(token_of(instance.rank, instance.operation));
}

// Operations and legs that take no time go through the queue, so that chains of them do not recurse.
void Core::drain() {
  while (queue_head_ < queue_.size()) {
    const Token token = queue_[queue_head_++];
    if ((token & kTransferBit) != 0) {
      finish_leg(slot_of(token));
    } else {
      start({rank_of(token), slot_of(token)});
    }
  }
  queue_.clear();
  queue_head_ = 0;
}

void Core::start(Instance instance) {
  switch (operation(instance).kind) {
    case graph::OperationKind::kCompute:
      call_compute(instance);
      break;
    case graph::OperationKind::kSend:
    case graph::OperationKind::kReceive:
      start_message(instance);
      break;
    case graph::OperationKind::kHostCopy:
      start_host_copy(instance);
      break;
    case graph::OperationKind::kCollective:
      call_collective(instance);
      break;
  }
}

void Core::call_compute(Instance instance) {
  const deployment::Rank& rank = deployment_.ranks[instance.rank];
  const bool delayed = rank.host_delay_s > 0 &&
                       compute_number_[vertex(instance)] % static_cast<std::uint32_t>(rank.host_delay_every) == 0;
  if (delayed) {
    transport_.start_timer(transport_.now() + rank.host_delay_s,
                           kDelayBit | token_of(instance.rank, instance.operation));
  } else {
    start_compute(instance);
  }
}

void Core::start_compute(Instance instance) {
  double duration = nominal_duration(instance) * jitter(instance);
  const graph::Operation& compute = operation(instance);
  if (compute.host_s > 0) {
    const double launched = hosts_[instance.rank].launch(compute, transport_.now());
    duration = std::max(duration, launched + compute.tail_s - transport_.now());
  }
  if (duration == 0) {
    complete(instance, transport_.now());
    return;
  }
  timeline_.spans[instance.rank][instance.operation].start = transport_.now();
  compute_.start(instance.rank, duration, token_of(instance.rank, instance.operation));
}

double Core::nominal_duration(Instance instance) const {
  return options_.compute_durations != nullptr
             ? options_.compute_durations->at(instance.rank).at(instance.operation)
             : operation(instance).duration_s * deployment_.ranks[instance.rank].slowness;
}

void Core::start_message(Instance instance) {
  const Instance other = partner(instance);
  if (state(other) != kWaiting) {
    state(instance) = kWaiting;
    return;
  }
  state(other) = kRunning;
  const bool sends = operation(instance).kind == graph::OperationKind::kSend;
  compute_.occupy((sends ? instance : other).rank, Touch::kAny);
  compute_.occupy((sends ? other : instance).rank, Touch::kReceivedMessage);
  begin_transfer({.kind = TransferKind::kMessage,
                  .instance = sends ? instance : other,
                  .path = channel(instance).path,
                  .bytes = operation(sends ? instance : other).bytes,
                  .factor = jitter(sends ? instance : other)});
}

void Core::start_host_copy(Instance instance) {
  const deployment::Rank& rank = deployment_.ranks[instance.rank];
  const graph::Operation& copy = operation(instance);
  compute_.occupy(instance.rank, Touch::kAny);
  begin_transfer({.kind = TransferKind::kHostCopy,
                  .instance = instance,
                  .path = copy.to_host ? rank.to_host : rank.from_host,
                  .bytes = copy.bytes,
                  .factor = jitter(instance)});
}

/// The host joins its device to the group when it has come so far.
void Core::call_collective(Instance instance) {
  const graph::Operation& collective = operation(instance);
  if (collective.host_s > 0) {
    const double launched = hosts_[instance.rank].launch(collective, transport_.now()) + collective.host_s;
    if (launched > transport_.now()) {
      transport_.start_timer(launched, kDelayBit | token_of(instance.rank, instance.operation));
      return;
    }
  }
  arrive(instance);
}

void Core::arrive(Instance instance) {
  const graph::Operation& collective = operation(instance);
  const std::int32_t group = deployment_.ranks[instance.rank].groups[static_cast<std::size_t>(collective.group)];
  if (group == -1 || deployment_.groups[static_cast<std::size_t>(group)].size <= 1) {
    complete(instance, transport_.now());
    return;
  }
  state(instance) = kWaiting;
  const std::uint32_t run = find_run(group, collective, plan_.collective_number[vertex(instance)]);
  runs_[run].arrived.push_back(instance);
  if (runs_[run].arrived.size() == deployment_.groups[static_cast<std::size_t>(group)].members.size()) {
    std::erase(open_runs_[static_cast<std::size_t>(group)], run);
    start_collective(run);
  }
}

void Core::start_collective(std::uint32_t run) {
  CollectiveRun& started = runs_[run];
  started.start = transport_.now();
  for (const Instance& member : started.arrived) {
    state(member) = kRunning;
    compute_.occupy(member.rank, Touch::kAny);
  }
  const deployment::Group& group = deployment_.groups[static_cast<std::size_t>(started.group)];
  for (const Instance& member : started.arrived) {
    if (member.rank == static_cast<std::uint32_t>(group.members.front())) {
      started.factor = jitter(member);
    }
  }
  if (group.messages[started.kind].empty()) {
    next_step(run);
    return;
  }
  starting_.clear();
  message_form(started.group, started.kind).begin(started.progress, starting_);
  send_messages(run);
}

void Core::next_step(std::uint32_t run) {
  CollectiveRun& current = runs_[run];
  const auto& steps = deployment_.groups[static_cast<std::size_t>(current.group)].steps[current.kind];
  while (current.step < steps.size() && !steps[current.step].range.contains(current.bytes)) {
    ++current.step;
  }
  if (current.step == steps.size()) {
    finish_collective(run);
    return;
  }
  const deployment::FlowStep& step = steps[current.step++];
  begin_transfer({.kind = TransferKind::kCollective,
                  .run = run,
                  .path = step.path,
                  .bytes = current.bytes * step.bytes_per_payload,
                  .factor = current.factor,
                  .pace = step.pace});
}

void Core::send_messages(std::uint32_t run) {
  const CollectiveRun& current = runs_[run];
  const MessageForm& form = message_form(current.group, current.kind);
  for (const std::uint32_t index : starting_) {
    const deployment::GroupMessage& message = form.message(index);
    begin_transfer({.kind = TransferKind::kGroupMessage,
                    .run = run,
                    .message = index,
                    .path = message.path,
                    .bytes = current.bytes * message.bytes_per_payload,
                    .factor = current.factor});
  }
}

void Core::finish_collective(std::uint32_t run) {
  for (const Instance& member : runs_[run].arrived) {
    compute_.vacate(member.rank, Touch::kAny);
    complete(member, runs_[run].start);
  }
  free_runs_.push_back(run);
}

void Core::complete(Instance instance, double start) {
  const double end = transport_.now();
  timeline_.spans[instance.rank][instance.operation] = {.start = start, .end = end};
  timeline_.end_s = std::max(timeline_.end_s, end);
  state(instance) = kDone;
  ++done_;
  const std::uint32_t first = vertex({instance.rank, 0});
  const auto [begin, stop] = out_edges(first + instance.operation, graph_.edges);
  for (auto edge = begin; edge != stop; ++edge) {
    const Instance successor{instance.rank, target(*edge, graph_.edges) - first};
    if (--state(successor) == 0) {
      queue_ready(successor);
    }
  }
}

std::uint32_t Core::new_transfer(const Transfer& transfer) {
  if (free_transfers_.empty()) {
    transfers_.push_back(transfer);
    return static_cast<std::uint32_t>(transfers_.size() - 1);
  }
  const std::uint32_t slot = free_transfers_.back();
  free_transfers_.pop_back();
  transfers_[slot] = transfer;
  return slot;
}

void Core::begin_transfer(const Transfer& transfer) {
  const std::uint32_t slot = new_transfer(transfer);
  transfers_[slot].start = transport_.now();
  transfers_[slot].bytes *= transfer.factor;
  const double latency = deployment_.paths[static_cast<std::size_t>(transfer.path)].latency_s * transfer.factor;
  if (latency > 0) {
    transport_.start_timer(transport_.now() + latency, kTransferBit | slot);
  } else {
    begin_flow(slot);
  }
}

void Core::begin_flow(std::uint32_t slot) {
  Transfer& transfer = transfers_[slot];
  if (transfer.bytes > 0) {
    transfer.flow_start = transport_.now();
    transport_.start_flow(transfer.path, transfer.bytes * transfer.pace, kTransferBit | slot);
  } else {
    queue_.push_back(kTransferBit | slot);
  }
}

void Core::finish_leg(std::uint32_t slot) {
  const Transfer ended = transfers_[slot];
  free_transfers_.push_back(slot);
  switch (ended.kind) {
    case TransferKind::kMessage: {
      const Instance receive = partner(ended.instance);
      compute_.vacate(ended.instance.rank, Touch::kAny);
      compute_.vacate(receive.rank, Touch::kReceivedMessage);
      complete(ended.instance, ended.start);
      complete(receive, ended.start);
      break;
    }
    case TransferKind::kHostCopy:
      compute_.vacate(ended.instance.rank, Touch::kAny);
      complete(ended.instance, ended.start);
      break;
    case TransferKind::kCollective:
      next_step(ended.run);
      break;
    case TransferKind::kGroupMessage: {
      CollectiveRun& run = runs_[ended.run];
      starting_.clear();
      message_form(run.group, run.kind).finish(run.progress, ended.message, starting_);
      if (run.progress.left == 0) {
        finish_collective(ended.run);
      } else {
        send_messages(ended.run);
      }
      break;
    }
  }
}

std::uint32_t Core::new_run() {
  if (free_runs_.empty()) {
    runs_.emplace_back();
    return static_cast<std::uint32_t>(runs_.size() - 1);
  }
  const std::uint32_t run = free_runs_.back();
  free_runs_.pop_back();
  return run;
}

// Members pair their k-th collectives of the group, as communicators do; only a member that uses the group on several
// streams can have more than one open.
std::uint32_t Core::find_run(std::int32_t group, const graph::Operation& operation, std::uint32_t number) {
  std::vector<std::uint32_t>& open = open_runs_[static_cast<std::size_t>(group)];
  for (const std::uint32_t run : open) {
    if (runs_[run].number == number) {
      return run;
    }
  }
  const std::uint32_t run = new_run();
  CollectiveRun& opened = runs_[run];
  opened.group = group;
  opened.kind = static_cast<std::size_t>(operation.collective);
  opened.number = number;
  opened.step = 0;
  opened.bytes = operation.bytes;
  opened.arrived.clear();
  open.push_back(run);
  return run;
}

const MessageForm& Core::message_form(std::int32_t group, std::size_t kind) {
  const auto found = message_forms_.find({group, kind});
  if (found != message_forms_.end()) {
    return found->second;
  }
  const deployment::Group& members = deployment_.groups[static_cast<std::size_t>(group)];
  const MessageForm form(members.messages[kind], members.members.size());
  return message_forms_.emplace(std::pair{group, kind}, form).first->second;
}

const graph::Operation& Core::operation(Instance instance) const {
  const auto program = static_cast<std::size_t>(deployment_.ranks[instance.rank].program);
  return graph_.programs[program].operations[instance.operation];
}

std::uint32_t Core::vertex(Instance instance) const {
  return graph_.vertex(deployment_.ranks[instance.rank].program, instance.operation);
}

double Core::jitter(Instance instance) const {
  return options_.jitter ? factor_of(*options_.jitter, deployment_.ranks[instance.rank], instance.operation) : 1;
}

void Core::number_compute() {
  const bool needed = std::any_of(deployment_.ranks.begin(), deployment_.ranks.end(),
                                  [](const deployment::Rank& rank) { return rank.host_delay_s > 0; });
  for (std::size_t program = 0; needed && program < graph_.programs.size(); ++program) {
    std::uint32_t number = 0;
    for (const graph::Operation& operation : graph_.programs[program].operations) {
      number += operation.kind == graph::OperationKind::kCompute ? 1 : 0;
      compute_number_.push_back(number);
    }
  }
}

std::uint32_t& Core::state(Instance instance) {
  return states_[first_state_[instance.rank] + instance.operation];
}

Core::Instance Core::partner(Instance instance) const {
  const deployment::Channel& used = channel(instance);
  const bool sends = operation(instance).kind == graph::OperationKind::kSend;
  const auto peer = static_cast<std::uint32_t>(sends ? used.receiver : used.sender);
  return {peer, graph_.partner[vertex(instance)] - vertex({peer, 0})};
}

const deployment::Channel& Core::channel(Instance instance) const {
  const std::int32_t index = deployment_.ranks[instance.rank].channels[operation(instance).channel];
  return deployment_.channels[static_cast<std::size_t>(index)];
}

void Core::check_all_done() const {
  if (done_ == states_.size()) {
    return;
  }
  constexpr int kNamed = 8;
  std::string text = fmt::format("replay: {} of {} operations could not run", states_.size() - done_, states_.size());
  int stuck = 0;
  for (std::uint32_t rank = 0; rank < deployment_.ranks.size(); ++rank) {
    const auto begin = states_.begin() + static_cast<std::ptrdiff_t>(first_state_[rank]);
    const auto end = begin + static_cast<std::ptrdiff_t>(timeline_.spans[rank].size());
    auto first = std::find_if(begin, end, [](std::uint32_t one) { return one == kWaiting || one == kRunning; });
    if (first == end) {
      first = std::find_if(begin, end, [](std::uint32_t one) { return one != kDone; });
    }
    if (first != end && ++stuck <= kNamed) {
      const auto operation = static_cast<std::uint32_t>(first - begin);
      const char* reason = *first == kWaiting   ? "waits for its other members"
                           : *first == kRunning ? "did not end"
                                                : "did not start";
      text += fmt::format("\n  {}, which {}", describe(graph_, vertex({rank, operation})), reason);
    }
  }
  if (stuck > kNamed) {
    text += fmt::format("\n  and {} more ranks", stuck - kNamed);
  }
  throw error::InternalError(text);
}

}  // namespace lamina::replay
