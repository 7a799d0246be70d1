#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/pipeline/simulate.hpp"
#include "sim/timeline/timeline.hpp"
#include "tests/unit/hardware_trace/kineto_text.hpp"

/// What PyTorch's profiler would have recorded of a replayed step: an independent way from a timeline to a trace.
namespace lamina::validate::hardware_trace::testing {

struct Profiling {
  double clock_ahead_s = 0;   ///< of every rank against the one before
  double posted_early_s = 0;  ///< kernels of messages start so long before their transfer, and wait
  bool sizes = true;
  bool passes = true;  ///< PP: ranges
};

class ProfiledRank {
 public:
  ProfiledRank(const pipeline::Prepared& prepared, const timeline::Timeline& timeline, std::size_t rank,
               const Profiling& profiling)
      : prepared_(prepared), timeline_(timeline), rank_(rank), profiling_(profiling) {}

  [[nodiscard]] std::string text() {
    const deployment::Rank& place = prepared_.deployment.ranks[rank_];
    const graph::Program& program = prepared_.graph.programs[static_cast<std::size_t>(place.program)];
    add("user_annotation", "ProfilerStep#5", 0, timeline_.end_s, "");
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const graph::Operation& operation = program.operations[i];
      const timeline::Span& span = timeline_.spans[rank_][i];
      if (operation.kind == graph::OperationKind::kCompute) {
        add_compute(operation, span);
      } else if (operation.kind == graph::OperationKind::kCollective) {
        add_kernel("ncclDevKernel_Collective_RING", span.start, span.end, collective(operation, place));
      } else if (operation.kind == graph::OperationKind::kSend || operation.kind == graph::OperationKind::kReceive) {
        add_kernel("ncclDevKernel_SendRecv", span.start - profiling_.posted_early_s, span.end,
                   message(operation, place));
      }
    }
    return kineto(events_, fmt::format(R"("baseTimeNanoseconds": 1700000000000000000,
        "distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}},)",
                                       place.device, prepared_.deployment.ranks.size()));
  }

 private:
  static constexpr double kStart = 10;  ///< seconds before the step

  void add(const std::string& category, const std::string& name, double start_s, double end_s,
           const std::string& arguments) {
    const double shift = kStart + profiling_.clock_ahead_s * static_cast<double>(rank_);
    events_.push_back(event(category, name, fmt::format("{:.3f}", (start_s + shift) * 1e6),
                            fmt::format("{:.3f}", (end_s - start_s) * 1e6), arguments));
  }

  void add_kernel(const std::string& name, double start_s, double end_s, const std::string& arguments) {
    add("kernel", name, start_s, end_s,
        fmt::format(R"("device": 0, "stream": 7, "correlation": {}{}{})", ++correlation_, arguments.empty() ? "" : ", ",
                    arguments));
  }

  /// The host runs ahead of the device: ranges and launches lie within the first microseconds of the step.
  void add_compute(const graph::Operation& operation, const timeline::Span& span) {
    static const std::map<graph::Phase, char> kinds = {{graph::Phase::kForward, 'F'},
                                                       {graph::Phase::kBackward, 'B'},
                                                       {graph::Phase::kRecompute, 'B'},
                                                       {graph::Phase::kInputGradient, 'I'},
                                                       {graph::Phase::kWeightGradient, 'W'}};
    const auto kind = kinds.find(operation.phase);
    if (span.end <= span.start) {
      return;  // no kernel
    }
    add_kernel("sm90_xmma_gemm", span.start, span.end, "");
    if (kind == kinds.end() || !profiling_.passes) {
      return;
    }
    const auto [range, is_new] = hosts_.try_emplace({kind->second, operation.stage, operation.micro_batch},
                                                    static_cast<double>(hosts_.size() + 1) * 1e-5);
    if (is_new) {
      add("user_annotation", fmt::format("PP:{}{}{}", operation.stage, kind->second, operation.micro_batch),
          range->second, range->second + 9e-6, "");
    }
    add("cuda_runtime", "cudaLaunchKernel", range->second + 1e-6, range->second + 2e-6,
        fmt::format(R"("correlation": {})", correlation_));
  }

  [[nodiscard]] std::string elements(double bytes) const {
    return profiling_.sizes ? fmt::format(R"(, "In msg nelems": {:.0f}, "Out msg nelems": 0, "dtype": "Byte")", bytes)
                            : "";
  }

  [[nodiscard]] std::string collective(const graph::Operation& operation, const deployment::Rank& place) {
    const std::int32_t group = place.groups.at(static_cast<std::size_t>(operation.group));
    return fmt::format(R"("Collective name": "{}", "Process Group Name": "{}", "Group size": {}, "Seq": {}{})",
                       graph::name_of(operation.collective), group,
                       prepared_.deployment.groups.at(static_cast<std::size_t>(group)).size, ++sequence_[group],
                       elements(operation.bytes));
  }

  [[nodiscard]] std::string message(const graph::Operation& operation, const deployment::Rank& place) const {
    const auto& channel =
        prepared_.deployment.channels.at(static_cast<std::size_t>(place.channels.at(operation.channel)));
    const auto device = [&](std::int32_t rank) {
      return prepared_.deployment.ranks[static_cast<std::size_t>(rank)].device;
    };
    return fmt::format(R"("Collective name": "{}", "Src Rank": {}, "Dst Rank": {}{})",
                       operation.kind == graph::OperationKind::kSend ? "send" : "recv", device(channel.sender),
                       device(channel.receiver), elements(operation.bytes));
  }

  const pipeline::Prepared& prepared_;
  const timeline::Timeline& timeline_;
  std::size_t rank_;
  Profiling profiling_;
  std::vector<std::string> events_;
  int correlation_ = 0;
  std::map<std::int32_t, int> sequence_;
  std::map<std::tuple<char, int, int>, double> hosts_;
};

/// One trace per rank of a whole deployment.
inline std::vector<RankTrace> profiled(const pipeline::Prepared& prepared, const timeline::Timeline& timeline,
                                       const Profiling& profiling = {}) {
  std::vector<RankTrace> result;
  for (std::size_t rank = 0; rank < prepared.deployment.ranks.size(); ++rank) {
    result.push_back(read_text(ProfiledRank(prepared, timeline, rank, profiling).text()));
  }
  return result;
}

}  // namespace lamina::validate::hardware_trace::testing
