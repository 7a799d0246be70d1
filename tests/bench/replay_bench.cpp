// Operations per second and peak memory of the replay on a folded pipeline, beside what the same work costs without
// SimGrid.
#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "schedules/schedule.hpp"
#include "sim/replay/core.hpp"
#include "sim/replay/plan.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/transport.hpp"
#include "tests/unit/replay/scene.hpp"

namespace lamina::replay {
namespace {

using schedules::Action;
using schedules::ActionType;
using testing::Scene;

constexpr double kNetwork = 25e9;
constexpr double kDeviceLink = 300e9;
constexpr double kLatency = 5e-6;

/// One rank per pipeline role. Each forward and backward is a compute operation (durations differ a little by rank and
/// micro-batch) and a tensor all-reduce; results go to the next stage; a stage ends with a gradient all-reduce that
/// shares the ports with the messages.
class Pipeline {
 public:
  Pipeline(int ranks, int micro_batches) {
    const auto catalog = schedules::builtin_schedules();
    const auto table =
        catalog.find("one_forward_one_backward")->implementation->table({ranks, micro_batches, ranks, {}}).value();
    for (int rank = 0; rank < ranks; ++rank) {
      add_rank(rank);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      add_channels(rank, ranks);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      for (const Action& action : table.actions[Scene::index(rank)]) {
        add_action(rank, action);
      }
      scene.collective(rank, 1, graph::CollectiveKind::kAllReduce, 1e9, graph::GroupKind::kData);
      scene.depend(rank, last_compute_, static_cast<std::uint32_t>(operations(rank)) - 1);
    }
  }

  Scene scene;

 private:
  /// Channel indices and streams of one rank towards one neighbour.
  struct Wire {
    int send = -1, receive = -1, sending = -1, receiving = -1;
  };

  std::size_t operations(int rank) const { return scene.programs[Scene::index(rank)].operations.size(); }

  void add_rank(int rank) {
    scene.rank();
    scene.stream(rank);
    scene.stream(rank, graph::StreamKind::kData);
    up_.push_back(scene.link(kNetwork));
    down_.push_back(scene.link(kNetwork));
    const int tensor = scene.path({scene.link(kDeviceLink)}, kLatency);
    const int data = scene.path({up_.back(), down_.back()}, 100 * kLatency);
    scene.group(graph::GroupKind::kTensor, {rank}, 8).steps[0] = {{tensor, 1.75}};
    scene.group(graph::GroupKind::kData, {rank}, 64).steps[0] = {{data, 2}};
    next_.emplace_back();
    previous_.emplace_back();
  }

  void add_channels(int rank, int ranks) {
    if (rank + 1 == ranks) {
      return;
    }
    Wire& here = next_[Scene::index(rank)];
    Wire& there = previous_[Scene::index(rank + 1)];
    std::tie(here.send, there.receive) = scene.channel(rank, rank + 1, path(rank, rank + 1));
    std::tie(there.send, here.receive) = scene.channel(rank + 1, rank, path(rank + 1, rank));
    here.sending = scene.stream(rank);
    here.receiving = scene.stream(rank);
    there.sending = scene.stream(rank + 1);
    there.receiving = scene.stream(rank + 1);
  }

  int path(int from, int to) { return scene.path({up_[Scene::index(from)], down_[Scene::index(to)]}, kLatency); }

  void add_action(int rank, const Action& action) {
    const bool forward = action.type == ActionType::kForward;
    const Wire& from = forward ? previous_[Scene::index(rank)] : next_[Scene::index(rank)];
    const Wire& to = forward ? next_[Scene::index(rank)] : previous_[Scene::index(rank)];
    const double jitter = 1 + 0.01 * ((rank * 7 + action.micro_batch * 3) % 11);
    const auto number = static_cast<std::uint32_t>(operations(rank));
    if (from.receive != -1) {
      scene.message(rank, from.receiving, from.receive, 16e6);
      scene.depend(rank, number, scene.compute(rank, 0, (forward ? 1e-3 : 2e-3) * jitter));
    } else {
      scene.compute(rank, 0, (forward ? 1e-3 : 2e-3) * jitter);
    }
    last_compute_ = scene.collective(rank, 0, graph::CollectiveKind::kAllReduce, 16e6, graph::GroupKind::kTensor);
    if (to.send != -1) {
      scene.depend(rank, last_compute_, scene.message(rank, to.sending, to.send, 16e6));
    }
  }

  std::vector<int> up_;
  std::vector<int> down_;
  std::vector<Wire> next_;
  std::vector<Wire> previous_;
  std::uint32_t last_compute_ = 0;
};

struct Event {
  double date = 0;
  std::uint64_t number = 0;
  Token token = 0;
  bool flow = false;

  bool operator<(const Event& other) const { return std::tie(date, number) > std::tie(other.date, other.number); }
};

/// Timers and flows from a heap; flows take bytes over the bandwidth of the first link, without sharing.
class EventQueue final : public Transport {
 public:
  explicit EventQueue(const deployment::Deployment& deployment) : deployment_(deployment) {}

  [[nodiscard]] double now() const override { return now_; }

  void start_flow(std::int32_t path, double bytes, Token token) override {
    const auto& uses = deployment_.paths[Scene::index(path)].links;
    push(now_ + bytes / deployment_.links[Scene::index(uses.front().link)].bandwidth, token, true);
  }

  Timer start_timer(double date, Token token) override {
    push(date, token, false);
    return nullptr;
  }

  void cancel_timer(Timer) override {}

  void run(TransportListener& listener) override {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.date;
      event.flow ? listener.flow_ended(event.token) : listener.timer_ended(event.token);
    }
  }

 private:
  void push(double date, Token token, bool flow) { events_.push({date, number_++, token, flow}); }

  const deployment::Deployment& deployment_;
  std::priority_queue<Event> events_;
  std::uint64_t number_ = 0;
  double now_ = 0;
};

/// The least that any replay of the graph must do: a heap of ends and predecessor counts, the ends of a message merged,
/// no streams, groups or records.
double bare_event_queue(const graph::OperationGraph& graph, std::vector<std::uint32_t> left,
                        const std::vector<double>& durations) {
  std::priority_queue<Event> events;
  std::uint64_t number = 0;
  double now = 0;
  const auto ready = [&](std::uint32_t vertex) {
    const std::uint32_t other = graph.partner[vertex];
    if (other == graph::OperationGraph::kNoPartner) {
      events.push({now + durations[vertex], number++, vertex, false});
    } else if (left[other] == 0) {
      events.push({now + durations[vertex], number++, vertex, true});
    }
  };
  const auto finish = [&](std::uint32_t vertex) {
    const auto [begin, end] = out_edges(vertex, graph.edges);
    for (auto edge = begin; edge != end; ++edge) {
      const std::uint32_t next = target(*edge, graph.edges);
      if (--left[next] == 0) {
        ready(next);
      }
    }
  };
  for (std::uint32_t vertex = 0; vertex < left.size(); ++vertex) {
    const std::uint32_t other = graph.partner[vertex];
    if (left[vertex] == 0 && (other == graph::OperationGraph::kNoPartner || other > vertex)) {
      ready(vertex);
    }
  }
  while (!events.empty()) {
    const Event event = events.top();
    events.pop();
    now = event.date;
    finish(static_cast<std::uint32_t>(event.token));
    if (event.flow) {
      finish(graph.partner[event.token]);
    }
  }
  return now;
}

double cpu_seconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double peak_mb(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void report(benchmark::State& state, std::size_t operations, double cpu) {
  const auto total = static_cast<double>(operations) * static_cast<double>(state.iterations());
  state.counters["operations"] = static_cast<double>(operations);
  state.counters["operations/s"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
  state.counters["operations/cpu_s"] = total / cpu;
  state.counters["peak_MB"] = peak_mb(RUSAGE_SELF);
}

void replay_on_simgrid(benchmark::State& state) {
  const Pipeline pipeline(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const graph::OperationGraph graph = pipeline.scene.frozen();
  const double before = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN);
  for (auto _ : state) {
    benchmark::DoNotOptimize(replay(graph, pipeline.scene.deployment, {}).end_s);
  }
  report(state, graph.size(), cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN) - before);
  state.counters["child_peak_MB"] = peak_mb(RUSAGE_CHILDREN);
}

void core_on_event_queue(benchmark::State& state) {
  const Pipeline pipeline(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const graph::OperationGraph graph = pipeline.scene.frozen();
  const double before = cpu_seconds(RUSAGE_SELF);
  for (auto _ : state) {
    const Plan plan = make_plan(graph, pipeline.scene.deployment);
    EventQueue queue(pipeline.scene.deployment);
    benchmark::DoNotOptimize(Core(graph, pipeline.scene.deployment, plan, {}, queue).run().end_s);
  }
  report(state, graph.size(), cpu_seconds(RUSAGE_SELF) - before);
}

void bare_queue(benchmark::State& state) {
  const Pipeline pipeline(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  const graph::OperationGraph graph = pipeline.scene.frozen();
  const Plan plan = make_plan(graph, pipeline.scene.deployment);
  std::vector<double> durations;
  for (const graph::Program& program : graph.programs) {
    for (const graph::Operation& operation : program.operations) {
      const bool tensor =
          operation.kind == graph::OperationKind::kCollective && operation.group == graph::GroupKind::kTensor;
      durations.push_back(operation.kind == graph::OperationKind::kCompute
                              ? operation.duration_s
                              : kLatency + operation.bytes / (tensor ? kDeviceLink : kNetwork));
    }
  }
  const double before = cpu_seconds(RUSAGE_SELF);
  for (auto _ : state) {
    benchmark::DoNotOptimize(bare_event_queue(graph, plan.predecessors, durations));
  }
  report(state, graph.size(), cpu_seconds(RUSAGE_SELF) - before);
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"ranks", "micro_batches"})
      ->Args({8, 64})
      ->Args({160, 512})
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

BENCHMARK(replay_on_simgrid)->Apply(sizes);
BENCHMARK(core_on_event_queue)->Apply(sizes);
BENCHMARK(bare_queue)->Apply(sizes);

}  // namespace
}  // namespace lamina::replay
