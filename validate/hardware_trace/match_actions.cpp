#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/report/names.hpp"
#include "validate/hardware_trace/clocks.hpp"
#include "validate/hardware_trace/intervals.hpp"
#include "validate/hardware_trace/matching.hpp"

/// Profiler traces against a graph, where ranges announce what the host runs.
namespace lamina::validate::hardware_trace {
namespace {

constexpr double kNanoseconds = 1e9;

/// Kind, stage and micro-batch of a pass.
using Pass = std::tuple<char, std::int32_t, std::int32_t>;

std::string describe(const Pass& pass) {
  return fmt::format("{}{}{}", std::get<1>(pass), std::get<0>(pass), std::get<2>(pass));
}

/// The action that an operation of the graph is part of: '?' for none. A recompute belongs to the backward pass that
/// needs it, as PyTorch runs it.
char kind_of_action(graph::Phase phase, bool splits_backward) {
  switch (phase) {
    case graph::Phase::kForward:
      return 'F';
    case graph::Phase::kBackward:
      return 'B';
    case graph::Phase::kRecompute:
    case graph::Phase::kInputGradient:
      return splits_backward ? 'I' : 'B';
    case graph::Phase::kWeightGradient:
      return splits_backward ? 'W' : 'B';
    default:
      return '?';
  }
}

/// One measured pass.
struct Measured {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  double compute_s = 0;  ///< first to last kernel, less communication that stood exposed in between
};

bool within(const Event& event, const Window& window, std::size_t trace) {
  return window.step[trace] < 0 || event.step == window.step[trace];
}

std::map<Pass, Measured> measured_passes(const RankTrace& trace, std::size_t index, const Window& window,
                                         std::int32_t only_stage) {
  std::map<std::int32_t, std::vector<Interval>> compute;  // by action
  std::vector<Interval> communication;
  for (const Event& event : trace.events) {
    if (!within(event, window, index)) {
      continue;
    }
    if (event.kind == EventClass::kCommunication) {
      communication.emplace_back(event.start_ns, event.end_ns());
    } else if (event.action >= 0 && is_kernel_compute(event.kind)) {
      compute[event.action].emplace_back(event.start_ns, event.end_ns());
    }
  }
  communication = united(std::move(communication));
  std::map<Pass, Measured> result;
  for (auto& [number, intervals] : compute) {
    const Action& action = trace.actions.at(static_cast<std::size_t>(number));
    if (action.kind == '?') {
      continue;
    }
    const std::vector<Interval> kernels = united(std::move(intervals));
    if (kernels.empty()) {
      continue;
    }
    const Interval span{kernels.front().first, kernels.back().second};
    const std::int64_t exposed = common_length({span}, communication) - common_length(kernels, communication);
    const std::int32_t stage = action.stage >= 0 ? action.stage : only_stage;
    result.try_emplace(
        {action.kind, stage, action.micro_batch},
        Measured{span.first, span.second, static_cast<double>(span.second - span.first - exposed) / kNanoseconds});
  }
  return result;
}

/// The stage of a program that has only one; -1: it has several.
std::int32_t only_stage_of(const graph::Program& program) {
  std::int32_t stage = -1;
  for (const graph::Operation& operation : program.operations) {
    if (operation.kind == graph::OperationKind::kCompute && operation.stage >= 0) {
      if (stage >= 0 && stage != operation.stage) {
        return -1;
      }
      stage = operation.stage;
    }
  }
  return stage;
}

/// Compute operations of every pass of a rank, in stream order.
std::map<Pass, std::vector<std::size_t>> passes_of(const graph::Program& program, bool splits_backward) {
  std::map<Pass, std::vector<std::size_t>> result;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const graph::Operation& operation = program.operations[i];
    const char kind = kind_of_action(operation.phase, splits_backward);
    if (operation.kind == graph::OperationKind::kCompute && kind != '?') {
      result[{kind, operation.stage, operation.micro_batch}].push_back(i);
    }
  }
  return result;
}

/// Gives the operations consecutive parts of `seconds` from `at`, as the model divides it.
void divide(const Model& model, std::size_t rank, const std::vector<std::size_t>& operations, double at, double seconds,
            Matching& into) {
  double predicted = 0;
  for (const std::size_t i : operations) {
    predicted += model.predicted_s(rank, i);
  }
  for (const std::size_t i : operations) {
    const double share =
        predicted > 0 ? model.predicted_s(rank, i) / predicted : 1 / static_cast<double>(operations.size());
    into.spans[rank][i] = {at, at + seconds * share};
    at += seconds * share;
  }
}

/// The optimizer: compute after the last pass that no range announces.
void match_update(const Model& model, const RankTrace& trace, std::size_t index, const Window& window, std::size_t rank,
                  Matching& into) {
  std::vector<std::size_t> operations;
  double predicted = 0;
  const graph::Program& program = model.program_of(rank);
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    if (program.operations[i].kind == graph::OperationKind::kCompute &&
        program.operations[i].phase == graph::Phase::kUpdate) {
      operations.push_back(i);
      predicted += model.predicted_s(rank, i);
    }
  }
  if (operations.empty()) {
    return;
  }
  std::int64_t last = window.start_ns;
  for (const Event& event : trace.events) {
    if (event.action >= 0 && is_kernel_compute(event.kind) && within(event, window, index)) {
      last = std::max(last, event.end_ns());
    }
  }
  std::vector<Interval> kernels;
  for (const Event& event : trace.events) {
    if (event.action < 0 && is_kernel_compute(event.kind) && within(event, window, index) && event.start_ns >= last) {
      kernels.emplace_back(event.start_ns, event.end_ns());
    }
  }
  kernels = united(std::move(kernels));
  if (kernels.empty() && predicted > 0) {
    into.differ(fmt::format("rank {}: the trace has no compute after the last pass (update)",
                            model.deployment.ranks[rank].program));
    return;
  }
  const std::int64_t start = kernels.empty() ? last : kernels.front().first;
  divide(model, rank, operations, static_cast<double>(start - window.start_ns) / kNanoseconds,
         static_cast<double>(length(kernels)) / kNanoseconds, into);
}

void match_compute(const Model& model, const RankTrace& trace, std::size_t index, const Window& window,
                   std::size_t rank, Matching& into) {
  const graph::Program& program = model.program_of(rank);
  const bool splits = std::any_of(trace.actions.begin(), trace.actions.end(),
                                  [](const Action& action) { return action.kind == 'I' || action.kind == 'W'; });
  auto measured = measured_passes(trace, index, window, only_stage_of(program));
  const int number = model.deployment.ranks[rank].program;
  for (const auto& [pass, operations] : passes_of(program, splits)) {
    const auto found = measured.find(pass);
    if (found == measured.end()) {
      into.differ(fmt::format("rank {}: the trace has no {}", number, describe(pass)));
      continue;
    }
    divide(model, rank, operations, static_cast<double>(found->second.start_ns - window.start_ns) / kNanoseconds,
           found->second.compute_s, into);  // one range covers several operations
    measured.erase(found);
  }
  for (const auto& [pass, times] : measured) {
    into.differ(fmt::format("rank {}: the graph has no {}", number, describe(pass)));
  }
}

/// What communication is called on both sides. "": the graph's operation is none.
std::string communication_kind(const graph::Operation& operation) {
  switch (operation.kind) {
    case graph::OperationKind::kSend:
      return "send";
    case graph::OperationKind::kReceive:
      return "receive";
    case graph::OperationKind::kCollective:
      return std::string(report::word_for(operation.collective));
    default:
      return "";
  }
}

/// Spans of transfer of all matched events: by trace and event.
std::map<std::pair<std::uint32_t, std::uint32_t>, Transfer> transfers_of(const std::vector<RankTrace>& traces,
                                                                         const Matched& matched) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Transfer> result;
  for (const Instance& instance : matched.instances) {
    const Transfer transfer = transfer_of(traces, instance);
    for (const Part& part : instance.parts) {
      result.emplace(std::pair(part.trace, part.event), transfer);
    }
  }
  return result;
}

void match_communication(const Model& model, const RankTrace& trace, std::size_t index, const Window& window,
                         std::size_t rank, const std::map<std::pair<std::uint32_t, std::uint32_t>, Transfer>& transfers,
                         Matching& into) {
  // By kind and size, where the trace gives sizes: a stream of larger ones does not shift that of smaller ones.
  std::map<std::pair<std::string, double>, std::vector<std::uint32_t>> seen;
  bool sized = true;
  for (const Event& event : trace.events) {
    if (event.kind == EventClass::kCommunication && within(event, window, index)) {
      sized = sized && trace.communications.at(static_cast<std::size_t>(event.detail)).bytes > 0;
    }
  }
  for (std::uint32_t e = 0; e < trace.events.size(); ++e) {
    const Event& event = trace.events[e];
    if (event.kind == EventClass::kCommunication && within(event, window, index)) {
      const Communication& detail = trace.communications.at(static_cast<std::size_t>(event.detail));
      seen[{std::string(word_for(detail.name)), sized ? std::round(detail.bytes) : 0}].push_back(e);
    }
  }
  const graph::Program& program = model.program_of(rank);
  std::map<std::pair<std::string, double>, std::vector<std::size_t>> wanted;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    if (const std::string kind = communication_kind(program.operations[i]); !kind.empty()) {
      wanted[{kind, sized ? std::round(program.operations[i].bytes) : 0}].push_back(i);
    }
  }
  const int number = model.deployment.ranks[rank].program;
  for (auto& [kind, operations] : wanted) {
    std::stable_sort(operations.begin(), operations.end(), [&](std::size_t a, std::size_t b) {
      return model.predicted.spans[rank][a].start < model.predicted.spans[rank][b].start;
    });
    const auto found = seen.find(kind);
    const std::size_t count = found == seen.end() ? 0 : found->second.size();
    if (count != operations.size()) {
      into.differ(fmt::format("rank {}: {} {}{} in the trace, {} in the graph", number, count, kind.first,
                              sized ? fmt::format(" of {:.0f} bytes", kind.second) : "", operations.size()));
      continue;
    }
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint32_t e = found->second[k];
      const auto transfer = transfers.find({static_cast<std::uint32_t>(index), e});
      const Event& event = trace.events[e];
      const std::int64_t start = transfer == transfers.end() ? event.start_ns : transfer->second.start_ns;
      const std::int64_t end = transfer == transfers.end() ? event.end_ns() : transfer->second.end_ns;
      into.spans[rank][operations[k]] = {static_cast<double>(start - window.start_ns) / kNanoseconds,
                                         static_cast<double>(end - window.start_ns) / kNanoseconds};
    }
  }
  for (const auto& [kind, events] : seen) {
    if (!wanted.contains(kind)) {
      into.differ(fmt::format("rank {}: {} {}{} in the trace, none in the graph", number, events.size(), kind.first,
                              sized ? fmt::format(" of {:.0f} bytes", kind.second) : ""));
    }
  }
}

}  // namespace

Matching match_actions(const Model& model, const std::vector<RankTrace>& traces, const std::vector<int>& programs,
                       const Window& window, const Matched& matched) {
  Matching result = empty_matching(model);
  const auto transfers = transfers_of(traces, matched);
  for (std::size_t rank = 0; rank < model.deployment.ranks.size(); ++rank) {
    const deployment::Rank& place = model.deployment.ranks[rank];
    for (std::size_t t = 0; t < traces.size(); ++t) {
      const bool better = result.trace_of_rank[rank] < 0 || traces[t].rank == place.device;
      if (programs[t] == place.program && better) {
        result.trace_of_rank[rank] = static_cast<int>(t);
      }
    }
    if (result.trace_of_rank[rank] < 0) {
      continue;  // not recorded
    }
    const auto t = static_cast<std::size_t>(result.trace_of_rank[rank]);
    match_compute(model, traces[t], t, window, rank, result);
    match_update(model, traces[t], t, window, rank, result);
    match_communication(model, traces[t], t, window, rank, transfers, result);
  }
  return result;
}

}  // namespace lamina::validate::hardware_trace
