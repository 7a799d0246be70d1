// How large a cluster can be: wall time of every stage, CPU time and peak memory, each case in a process of its own so
// that peaks do not mix. Numbers to look at, not tests:
//   lamina_scale_bench [part of a case's name ...]
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/error/error.hpp"
#include "sim/metrics/summarise.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/replay/replay.hpp"
#include "sim/scenario/load.hpp"

namespace {

using namespace lamina;

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Case {
  std::string name;
  std::string file;  ///< below scenarios/
  std::vector<scenario::Override> overrides;
  bool bare_queue = false;  ///< also replay the same graph on a heap of events and nothing else
};

/// What a case's process tells.
struct Measured {
  double ranks = 0;
  double classes = 0;
  double operations = 0;
  double step_s = 0;
  double read_s = 0;
  double prepare_s = 0;  ///< schedule, fabric, operation graph, deployment, folding
  double replay_s = 0;
  double report_s = 0;
  double bare_queue_s = 0;
};

double count_operations(const pipeline::Prepared& prepared) {
  double count = 0;
  for (const deployment::Rank& rank : prepared.deployment.ranks) {
    count += static_cast<double>(prepared.graph.programs[static_cast<std::size_t>(rank.program)].operations.size());
  }
  return count;
}

/// The operation graph with one program for each rank of the deployment.
graph::OperationGraph graph_of_all_ranks(const pipeline::Prepared& prepared) {
  const deployment::Deployment& deployment = prepared.deployment;
  std::vector<graph::Program> programs;
  programs.reserve(deployment.ranks.size());
  for (std::size_t r = 0; r < deployment.ranks.size(); ++r) {
    const deployment::Rank& rank = deployment.ranks[r];
    graph::Program& program = programs.emplace_back(prepared.graph.programs[static_cast<std::size_t>(rank.program)]);
    for (std::size_t c = 0; c < program.channels.size(); ++c) {
      const deployment::Channel& channel = deployment.channels[static_cast<std::size_t>(rank.channels[c])];
      program.channels[c].peer = program.channels[c].sends ? channel.receiver : channel.sender;
    }
  }
  return graph::freeze(std::move(programs));
}

/// The least that any replay of the graph must do: a heap of ends and predecessor counts, the two ends of a message as
/// one event. No streams' heads, groups, network or records.
class BareQueue {
 public:
  explicit BareQueue(const graph::OperationGraph& graph) : graph_(graph), left_(graph.size(), 0) {
    for (std::uint32_t vertex = 0; vertex < graph.size(); ++vertex) {
      for_each_successor(vertex, [this](std::uint32_t next) { ++left_[next]; });
    }
    durations_.reserve(graph.size());
    for (const graph::Program& program : graph.programs) {
      for (const graph::Operation& operation : program.operations) {
        durations_.push_back(operation.duration_s > 0 ? operation.duration_s : operation.bytes / 50e9);
      }
    }
  }

  double run() {
    for (std::uint32_t vertex = 0; vertex < left_.size(); ++vertex) {
      const std::uint32_t other = graph_.partner[vertex];
      if (left_[vertex] == 0 && (other == graph::OperationGraph::kNoPartner || other > vertex)) {
        ready(vertex);
      }
    }
    while (!events_.empty()) {
      const auto [negative_date, vertex] = events_.top();
      events_.pop();
      now_ = -negative_date;
      finish(vertex);
      if (graph_.partner[vertex] != graph::OperationGraph::kNoPartner) {
        finish(graph_.partner[vertex]);
      }
    }
    return now_;
  }

 private:
  template <class Visit>
  void for_each_successor(std::uint32_t vertex, Visit visit) const {
    const auto [begin, end] = out_edges(vertex, graph_.edges);
    for (auto edge = begin; edge != end; ++edge) {
      visit(target(*edge, graph_.edges));
    }
  }

  void ready(std::uint32_t vertex) {
    const std::uint32_t other = graph_.partner[vertex];
    if (other == graph::OperationGraph::kNoPartner || left_[other] == 0) {
      events_.push({-(now_ + durations_[vertex]), vertex});
    }
  }

  void finish(std::uint32_t vertex) {
    for_each_successor(vertex, [this](std::uint32_t next) {
      if (--left_[next] == 0) {
        ready(next);
      }
    });
  }

  const graph::OperationGraph& graph_;
  std::vector<std::uint32_t> left_;
  std::vector<double> durations_;
  std::priority_queue<std::pair<double, std::uint32_t>> events_;  ///< greatest first, hence dates negated
  double now_ = 0;
};

Measured measure(const Case& benchmark, const std::filesystem::path& scenarios) {
  Measured measured;
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  auto start = Clock::now();
  const scenario::Scenario scenario =
      scenario::load_file(scenarios / benchmark.file, scenarios, pipeline::plugins_of(catalogs), benchmark.overrides);
  measured.read_s = since(start);
  start = Clock::now();
  auto prepared = pipeline::prepare(scenario, catalogs);
  if (!prepared) {
    throw error::InternalError(prepared.error().reason);
  }
  measured.prepare_s = since(start);
  measured.ranks = prepared->whole_ranks;
  measured.classes = static_cast<double>(prepared->deployment.ranks.size());
  measured.operations = count_operations(*prepared);
  start = Clock::now();
  replay::Options options;
  options.transport = scenario.simulation.transport;
  const timeline::Timeline timeline = replay::replay(prepared->graph, prepared->deployment, options);
  measured.replay_s = since(start);
  measured.step_s = timeline.end_s;
  start = Clock::now();
  const report::Report report =
      metrics::summarise(scenario, prepared->work, prepared->graph, prepared->deployment, prepared->fabric, timeline);
  measured.report_s = since(start);
  if (benchmark.bare_queue) {
    const graph::OperationGraph graph = graph_of_all_ranks(*prepared);
    BareQueue queue(graph);
    start = Clock::now();
    const double end = queue.run();
    measured.bare_queue_s = end > 0 ? since(start) : 0;
  }
  return measured;
}

double cpu_seconds(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Runs `work` in a child process; its exit status and what it used, its own children included.
template <class Work>
std::pair<int, rusage> in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(1);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  return {status, usage};
}

/// Least wall time of a few runs of the command, from start to end of the process; and its CPU time and peak memory.
std::tuple<double, double, double> run_command(const Case& benchmark, const std::string& command,
                                               const std::filesystem::path& scenarios) {
  std::vector<std::string> arguments = {command, "run", (scenarios / benchmark.file).string()};
  for (const scenario::Override& each : benchmark.overrides) {
    arguments.insert(arguments.end(), {"--set", each.key + "=" + each.value});
  }
  std::vector<char*> pointers;
  for (std::string& argument : arguments) {
    pointers.push_back(argument.data());
  }
  pointers.push_back(nullptr);
  double best = 1e300;
  double cpu = 1e300;
  double peak_mb = 0;
  const auto begin = Clock::now();
  for (int run = 0; run < 5 && (run == 0 || since(begin) < 3); ++run) {
    const auto start = Clock::now();
    const auto [status, usage] = in_child([&pointers] {
      const int nowhere = open("/dev/null", O_WRONLY);
      dup2(nowhere, STDOUT_FILENO);
      execv(pointers.front(), pointers.data());
    });
    if (status != 0) {
      throw error::InternalError("the command failed");
    }
    best = std::min(best, since(start));
    cpu = std::min(cpu, cpu_seconds(usage));
    peak_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  }
  return {best, cpu, peak_mb};
}

void print(const Case& benchmark, const Measured& m, const std::tuple<double, double, double>& command) {
  const auto [wall, cpu, peak] = command;
  std::printf("%-34s %9.0f %7.0f %9.0f %9.4f | %6.3f %6.3f %7.3f %6.3f | %7.3f %7.3f %7.0f | %9.0f",
              benchmark.name.c_str(), m.ranks, m.classes, m.operations, m.step_s, m.read_s, m.prepare_s, m.replay_s,
              m.report_s, wall, cpu, peak, m.operations / m.replay_s);
  if (m.bare_queue_s > 0) {
    std::printf(" (bare event queue %.0f)", m.operations / m.bare_queue_s);
  }
  std::printf("\n");
  std::fflush(stdout);
}

void run(const Case& benchmark, const std::string& command, const std::filesystem::path& scenarios) {
  int ends[2];
  if (pipe(ends) != 0) {
    throw error::InternalError("no pipe");
  }
  const int status = in_child([&] {
                       try {
                         const Measured measured = measure(benchmark, scenarios);
                         const bool written = write(ends[1], &measured, sizeof measured) == sizeof measured;
                         _exit(written ? 0 : 1);
                       } catch (const std::exception& failure) {
                         std::fprintf(stderr, "%s: %s\n", benchmark.name.c_str(), failure.what());
                       }
                     }).first;
  Measured measured;
  const bool read_all = status == 0 && read(ends[0], &measured, sizeof measured) == sizeof measured;
  close(ends[0]);
  close(ends[1]);
  if (read_all) {
    print(benchmark, measured, run_command(benchmark, command, scenarios));
  }
}

std::vector<Case> cases() {
  const scenario::Override whole{"simulation.fold", "false"};
  const std::string peers = "published/peers-2026/";
  std::vector<Case> all = {
      {"X_160 improved", "quickstart.yaml", {}},
      {"X_160 improved, a million",
       "quickstart.yaml",
       {{"cluster.nodes", "62500"}, {"strategy.data_parallel", "12500"}}},
      {"X_160, a million, 3 levels 2:1",
       "quickstart.yaml",
       {{"cluster.nodes", "62500"},
        {"strategy.data_parallel", "12500"},
        {"cluster.topology",
         "{name: fat_tree, levels: 3, nodes_per_leaf: 20, leaves_per_pod: 25, oversubscription: 2}"}}},
      {"GPT-3 175B", "examples/gpt3-175b-megatron.yaml", {{"cluster.nodes", "128"}, {"strategy.data_parallel", "16"}}},
      {"dragonfly, one slow node",
       "examples/dragonfly.yaml",
       {{"cluster.nodes", "1024"},
        {"strategy.data_parallel", "64"},
        {"disturb", "[{kind: slow_device, node: 0, factor: 1.5}]"}}},
  };
  for (const char* name : {"a64", "a512", "a1024", "a4096", "b64", "b512", "p16384"}) {
    all.push_back({std::string("peers ") + name, peers + name + ".yaml", {}});
  }
  for (const char* name : {"a64", "a512", "a4096"}) {
    all.push_back({std::string("peers ") + name + ", every rank", peers + name + ".yaml", {whole}, true});
  }
  for (const char* count : {"64", "128", "256", "512"}) {
    all.push_back({std::string("a64, every rank, micro-batches ") + count,
                   peers + "a64.yaml",
                   {whole, {"strategy.micro_batches", count}}});
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const std::filesystem::path scenarios = std::filesystem::path(LAMINA_SOURCE_DIR) / "scenarios";
  std::printf("%-34s %9s %7s %9s %9s | %-29s | %-23s | %s\n", "", "GPUs", "classes", "replayed", "step s",
              "seconds of one process", "lamina run", "operations/s");
  std::printf("%-34s %9s %7s %9s %9s | %6s %6s %7s %6s | %7s %7s %7s | %s\n", "", "", "", "", "", "read", "build",
              "replay", "report", "wall s", "CPU s", "MiB", "in the replay");
  for (const Case& benchmark : cases()) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) {
      wanted = wanted || benchmark.name.find(argv[i]) != std::string::npos;
    }
    if (wanted) {
      run(benchmark, LAMINA_COMMAND, scenarios);
    }
  }
  return 0;
}
