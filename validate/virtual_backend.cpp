#include "validate/virtual_backend.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/graph/launch_queue.hpp"

namespace lamina::validate {
namespace {

class VirtualBackend final : public Backend {
 public:
  VirtualBackend(const graph::OperationGraph& graph, const deployment::Deployment& deployment)
      : graph_(graph), deployment_(deployment) {
    for (const deployment::Group& group : deployment.groups) {
      for (const auto& messages : group.messages) {
        if (!messages.empty()) {
          throw error::InternalError("virtual devices know collectives in fluid form only");
        }
      }
    }
    number_compute();
    begin();
  }

  [[nodiscard]] std::vector<std::int32_t> local_ranks() const override {
    std::vector<std::int32_t> ranks;
    for (std::size_t rank = 0; rank < deployment_.ranks.size(); ++rank) {
      ranks.push_back(static_cast<std::int32_t>(rank));
    }
    return ranks;
  }

  void wait(std::int32_t rank, std::uint32_t operation, std::uint32_t before) override {
    double& clock = clock_of(rank, operation);
    clock = std::max(clock, span(rank, before).end);
  }

  void launch(std::int32_t rank, std::uint32_t operation) override {
    ++launched_;
    switch (operation_of(rank, operation).kind) {
      case graph::OperationKind::kCompute:
        compute(rank, operation);
        break;
      case graph::OperationKind::kSend:
      case graph::OperationKind::kReceive:
        message({rank, operation});
        break;
      case graph::OperationKind::kHostCopy: {
        const graph::Operation& copy = operation_of(rank, operation);
        const deployment::Rank& here = deployment_.ranks[static_cast<std::size_t>(rank)];
        const double start = clock_of(rank, operation);
        end({rank, operation}, start, start + seconds(copy.to_host ? here.to_host : here.from_host, copy.bytes));
        break;
      }
      case graph::OperationKind::kCollective:
        collective({rank, operation});
        break;
    }
  }

  [[nodiscard]] Execution finish() override {
    for (const auto& [place, waiting] : waiting_) {
      if (!waiting.empty()) {
        throw error::InternalError("an operation was launched without those that it happens together with");
      }
    }
    Execution result;
    result.timeline = std::move(timeline_);
    result.timeline.activities = launched_;
    begin();
    return result;
  }

 private:
  struct Instance {
    std::int32_t rank = 0;
    std::uint32_t operation = 0;
  };

  /// Where operations meet: a channel (false) or a group (true) of the deployment.
  using Place = std::pair<bool, std::int32_t>;

  void begin() {
    timeline_ = {};
    launched_ = 0;
    clocks_.clear();
    hosts_.assign(deployment_.ranks.size(), {});
    waiting_.clear();
    for (const deployment::Rank& rank : deployment_.ranks) {
      const graph::Program& program = graph_.programs[static_cast<std::size_t>(rank.program)];
      timeline_.spans.emplace_back(program.operations.size());
      clocks_.emplace_back(program.streams.size(), 0.0);
    }
  }

  void number_compute() {
    for (const graph::Program& program : graph_.programs) {
      int number = 0;
      auto& numbers = compute_number_.emplace_back();
      for (const graph::Operation& operation : program.operations) {
        number += operation.kind == graph::OperationKind::kCompute ? 1 : 0;
        numbers.push_back(number);
      }
    }
  }

  void compute(std::int32_t rank, std::uint32_t operation) {
    const deployment::Rank& here = deployment_.ranks[static_cast<std::size_t>(rank)];
    const int number = compute_number_[static_cast<std::size_t>(here.program)][operation];
    const bool delayed = here.host_delay_s > 0 && number % here.host_delay_every == 0;
    const double start = clock_of(rank, operation) + (delayed ? here.host_delay_s : 0);
    const graph::Operation& launched = operation_of(rank, operation);
    const double begin = hosts_[static_cast<std::size_t>(rank)].launch(launched, start);
    end({rank, operation}, start, std::max(start + launched.duration_s * here.slowness, begin + launched.tail_s));
  }

  void message(Instance instance) {
    const deployment::Rank& here = deployment_.ranks[static_cast<std::size_t>(instance.rank)];
    const std::int32_t channel = here.channels[operation_of(instance.rank, instance.operation).channel];
    const std::vector<Instance> ends = meet({false, channel}, instance, 2);
    if (!ends.empty()) {
      const double start = last_arrival(ends);
      const double took = seconds(deployment_.channels[static_cast<std::size_t>(channel)].path,
                                  operation_of(ends.front().rank, ends.front().operation).bytes);
      end_all(ends, start, start + took);
    }
  }

  void collective(Instance instance) {
    const graph::Operation& operation = operation_of(instance.rank, instance.operation);
    double& clock = clock_of(instance.rank, instance.operation);
    const double begin = hosts_[static_cast<std::size_t>(instance.rank)].launch(operation, clock);
    clock = operation.host_s > 0 ? std::max(clock, begin + operation.host_s) : clock;
    const std::int32_t group =
        deployment_.ranks[static_cast<std::size_t>(instance.rank)].groups[static_cast<std::size_t>(operation.group)];
    if (group == -1 || deployment_.groups[static_cast<std::size_t>(group)].size <= 1) {
      const double now = clock_of(instance.rank, instance.operation);
      end(instance, now, now);
      return;
    }
    const deployment::Group& members = deployment_.groups[static_cast<std::size_t>(group)];
    const std::vector<Instance> arrived = meet({true, group}, instance, members.members.size());
    if (arrived.empty()) {
      return;
    }
    const double start = last_arrival(arrived);
    double date = start;
    for (const deployment::FlowStep& step : members.chain(operation.collective, operation.bytes)) {
      date += seconds(step.path, operation.bytes * step.bytes_per_payload * step.pace);
    }
    end_all(arrived, start, date);
  }

  /// The participants once all have arrived; empty until then.
  std::vector<Instance> meet(Place place, Instance instance, std::size_t participants) {
    std::vector<Instance>& arrived = waiting_[place];
    arrived.push_back(instance);
    return arrived.size() == participants ? std::exchange(arrived, {}) : std::vector<Instance>{};
  }

  [[nodiscard]] double last_arrival(const std::vector<Instance>& instances) {
    double latest = 0;
    for (const Instance& instance : instances) {
      latest = std::max(latest, clock_of(instance.rank, instance.operation));
    }
    return latest;
  }

  [[nodiscard]] double seconds(std::int32_t path, double bytes) const {
    const deployment::Path& over = deployment_.paths[static_cast<std::size_t>(path)];
    return over.latency_s + bytes * over.alone_s_per_byte;
  }

  void end_all(const std::vector<Instance>& instances, double start, double date) {
    for (const Instance& instance : instances) {
      end(instance, start, date);
    }
  }

  void end(Instance instance, double start, double date) {
    span(instance.rank, instance.operation) = {start, date};
    clock_of(instance.rank, instance.operation) = date;
    timeline_.end_s = std::max(timeline_.end_s, date);
  }

  [[nodiscard]] const graph::Operation& operation_of(std::int32_t rank, std::uint32_t operation) const {
    const auto program = static_cast<std::size_t>(deployment_.ranks[static_cast<std::size_t>(rank)].program);
    return graph_.programs[program].operations[operation];
  }

  [[nodiscard]] double& clock_of(std::int32_t rank, std::uint32_t operation) {
    return clocks_[static_cast<std::size_t>(rank)][operation_of(rank, operation).stream];
  }

  [[nodiscard]] timeline::Span& span(std::int32_t rank, std::uint32_t operation) {
    return timeline_.spans[static_cast<std::size_t>(rank)][operation];
  }

  const graph::OperationGraph& graph_;
  const deployment::Deployment& deployment_;
  std::vector<std::vector<int>> compute_number_;  ///< [program][operation] compute operations up to it
  std::vector<std::vector<double>> clocks_;       ///< [rank][stream]
  std::vector<graph::LaunchQueue> hosts_;         ///< [rank]
  std::map<Place, std::vector<Instance>> waiting_;
  timeline::Timeline timeline_;
  std::int64_t launched_ = 0;
};

}  // namespace

std::unique_ptr<Backend> make_virtual_backend(const graph::OperationGraph& graph,
                                              const deployment::Deployment& deployment) {
  return std::make_unique<VirtualBackend>(graph, deployment);
}

}  // namespace lamina::validate
