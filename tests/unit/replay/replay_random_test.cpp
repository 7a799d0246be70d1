#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "sim/replay/replay.hpp"
#include "tests/unit/replay/scene.hpp"

namespace lamina::replay {
namespace {

using graph::CollectiveKind;
using graph::GroupKind;
using graph::OperationKind;
using testing::Scene;

constexpr double kBandwidth = 2e9;

/// A random graph without circular waits: operations are appended in one global order. Every channel, group and copy
/// has a link of its own.
class RandomScene {
 public:
  RandomScene(unsigned seed, int ranks, int actions) : random_(seed) {
    for (int i = 0; i < ranks; ++i) {
      scene.rank(1 + 0.25 * below(3));
      for (int stream = 0; stream < 3; ++stream) {
        scene.stream(i);
      }
      scene.deployment.ranks.back().to_host = private_path();
    }
    for (int i = 0; i < 2 * ranks; ++i) {
      const int from = below(ranks);
      const int to = (from + 1 + below(ranks - 1)) % ranks;
      const auto [out, in] = scene.channel(from, to, private_path());
      channels_.push_back({from, to, out, in, scene.stream(from), scene.stream(to)});
    }
    std::vector<int> everyone;
    for (int i = 0; i < ranks; ++i) {
      everyone.push_back(i);
      scene.stream(i);
    }
    const int first = private_path();
    const int second = private_path();
    scene.group(GroupKind::kData, everyone, ranks).steps[0] = {{first, 1.5}, {second, 0.25}};
    for (int i = 0; i < actions; ++i) {
      act(ranks);
    }
  }

  Scene scene;

 private:
  struct Wire {
    int from, to, out, in, sending, receiving;
  };

  int below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }

  double amount() { return below(4) == 0 ? 0 : 0.001 * (1 + below(1000)); }

  int private_path() { return scene.path({scene.link(kBandwidth)}, below(2) * 0.01); }

  void act(int ranks) {
    const int what = below(10);
    if (what < 5) {
      const int rank = below(ranks);
      added(rank, scene.compute(rank, below(3), amount()));
    } else if (what < 8) {
      const Wire& wire = channels_[Scene::index(below(static_cast<int>(channels_.size())))];
      const double bytes = kBandwidth * amount();
      added(wire.from, scene.message(wire.from, wire.sending, wire.out, bytes));
      added(wire.to, scene.message(wire.to, wire.receiving, wire.in, bytes));
    } else if (what == 8) {
      const int rank = below(ranks);
      added(rank, scene.copy(rank, 0, kBandwidth * amount()));
    } else {
      const double bytes = kBandwidth * amount();
      for (int rank = 0; rank < ranks; ++rank) {
        added(rank, scene.collective(rank, last_stream(rank), CollectiveKind::kAllReduce, bytes));
      }
    }
  }

  int last_stream(int rank) { return static_cast<int>(scene.programs[Scene::index(rank)].streams.size()) - 1; }

  /// Up to two dependencies on earlier operations of the rank.
  void added(int rank, std::uint32_t operation) {
    for (int i = below(3); i > 0 && operation > 0; --i) {
      scene.depend(rank, static_cast<std::uint32_t>(below(static_cast<int>(operation))), operation);
    }
  }

  std::mt19937 random_;
  std::vector<Wire> channels_;
};

/// Dates by longest path, for scenes in which no two flows meet on a link: repeats "an operation starts when its
/// predecessors and those of its partners have ended" until nothing changes.
class LongestPath {
 public:
  explicit LongestPath(const Scene& scene) : scene_(scene), graph_(scene.frozen()) {
    spans.resize(graph_.size());
    while (sweep()) {
    }
  }

  std::vector<timeline::Span> spans;  ///< [vertex]

 private:
  bool sweep() {
    std::vector<double> ready(graph_.size(), 0);
    for (std::uint32_t vertex = 0; vertex < graph_.size(); ++vertex) {
      const auto [begin, end] = out_edges(vertex, graph_.edges);
      for (auto edge = begin; edge != end; ++edge) {
        double& date = ready[target(*edge, graph_.edges)];
        date = std::max(date, spans[vertex].end);
      }
    }
    join_partners(ready);
    bool changed = false;
    for (std::uint32_t vertex = 0; vertex < graph_.size(); ++vertex) {
      const double end = ready[vertex] + duration(vertex);
      changed |= end != spans[vertex].end || ready[vertex] != spans[vertex].start;
      spans[vertex] = {ready[vertex], end};
    }
    return changed;
  }

  void join_partners(std::vector<double>& ready) const {
    std::vector<double> collective;
    for (const int pass : {0, 1}) {
      for (std::size_t program = 0; program < graph_.programs.size(); ++program) {
        std::size_t number = 0;
        for (std::uint32_t i = 0; i < graph_.programs[program].operations.size(); ++i) {
          const std::uint32_t vertex = graph_.first_vertex[program] + i;
          if (graph_.programs[program].operations[i].kind == OperationKind::kCollective) {
            collective.resize(std::max(collective.size(), number + 1), 0);
            double& date = collective[number++];
            (pass == 0 ? date : ready[vertex]) = std::max(date, ready[vertex]);
          } else if (graph_.partner[vertex] != graph::OperationGraph::kNoPartner) {
            ready[vertex] = std::max(ready[vertex], ready[graph_.partner[vertex]]);
          }
        }
      }
    }
  }

  double leg(std::int32_t path, double bytes) const {
    return scene_.deployment.paths[Scene::index(path)].latency_s + bytes / kBandwidth;
  }

  double duration(std::uint32_t vertex) const {
    const auto next = std::upper_bound(graph_.first_vertex.begin(), graph_.first_vertex.end(), vertex);
    const auto program = static_cast<std::size_t>(next - graph_.first_vertex.begin()) - 1;
    const graph::Operation& operation = graph_.programs[program].operations[vertex - graph_.first_vertex[program]];
    const deployment::Rank& rank = scene_.deployment.ranks[program];
    switch (operation.kind) {
      case OperationKind::kCompute:
        return operation.duration_s * rank.slowness;
      case OperationKind::kHostCopy:
        return leg(rank.to_host, operation.bytes);
      case OperationKind::kCollective: {
        const auto& steps = scene_.deployment.groups[0].steps[0];
        return leg(steps[0].path, operation.bytes * 1.5) + leg(steps[1].path, operation.bytes * 0.25);
      }
      default:
        return leg(scene_.deployment.channels[Scene::index(rank.channels[operation.channel])].path, operation.bytes);
    }
  }

  const Scene& scene_;
  graph::OperationGraph graph_;
};

TEST(ReplayRandom, EqualsTheLongestPathWhereNoFlowsMeet) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const RandomScene random(seed, 2 + static_cast<int>(seed) % 5, 400);
    const LongestPath expected(random.scene);
    const graph::OperationGraph graph = random.scene.frozen();
    const timeline::Timeline timeline = random.scene.run();
    for (std::size_t rank = 0; rank < timeline.spans.size(); ++rank) {
      for (std::size_t i = 0; i < timeline.spans[rank].size(); ++i) {
        const timeline::Span& span = expected.spans[graph.first_vertex[rank] + i];
        ASSERT_NEAR(timeline.spans[rank][i].start, span.start, 1e-9 * std::max(1.0, span.start)) << "seed " << seed;
        ASSERT_NEAR(timeline.spans[rank][i].end, span.end, 1e-9 * std::max(1.0, span.end)) << "seed " << seed;
      }
    }
  }
}

bool same_bytes(const void* left, const void* right, std::size_t size) {
  return std::memcmp(left, right, size) == 0;
}

TEST(ReplayRandom, GivesTheSameBitsEachTime) {
  RandomScene random(7, 6, 2000);
  for (auto& path : random.scene.deployment.paths) {
    path.links[0].link /= 4;  // four paths share a link
  }
  const timeline::Timeline first = random.scene.run({.communication_slowdown = 0.1});
  const timeline::Timeline second = random.scene.run({.communication_slowdown = 0.1});
  ASSERT_EQ(first.flows.size(), second.flows.size());
  EXPECT_EQ(first.activities, second.activities);
  EXPECT_TRUE(same_bytes(&first.end_s, &second.end_s, sizeof(double)));
  for (std::size_t i = 0; i < first.flows.size(); ++i) {
    EXPECT_EQ(first.flows[i].path, second.flows[i].path);
    EXPECT_TRUE(same_bytes(&first.flows[i].start, &second.flows[i].start, 3 * sizeof(double)));
  }
  for (std::size_t rank = 0; rank < first.spans.size(); ++rank) {
    EXPECT_TRUE(same_bytes(first.spans[rank].data(), second.spans[rank].data(),
                           first.spans[rank].size() * sizeof(timeline::Span)));
  }
}

/// Flows that start at given dates, at max-min fair rates found by progressive filling.
class ProgressiveFilling {
 public:
  struct Flow {
    double start = 0;
    double bytes = 0;
    int path = 0;
    double end = -1;
    double rate = 0;
  };

  ProgressiveFilling(const deployment::Deployment& deployment, std::vector<Flow> given)
      : flows(std::move(given)), deployment_(deployment) {
    double now = 0;
    for (std::size_t left = flows.size(); left > 0;) {
      fill(now);
      double next = std::numeric_limits<double>::infinity();
      for (const Flow& flow : flows) {
        if (flow.end < 0) {
          next = std::min(next, flow.start > now ? flow.start : now + flow.bytes / flow.rate);
        }
      }
      for (Flow& flow : flows) {
        if (flow.end < 0 && flow.start <= now) {
          flow.bytes -= flow.rate * (next - now);
          if (flow.bytes <= 1e-3) {
            flow.end = next;
            --left;
          }
        }
      }
      now = next;
    }
  }

  std::vector<Flow> flows;

 private:
  void fill(double now) {
    std::vector<double> capacity;
    for (const deployment::Link& link : deployment_.links) {
      capacity.push_back(link.bandwidth);
    }
    std::vector<Flow*> open;
    for (Flow& flow : flows) {
      if (flow.end < 0 && flow.start <= now) {
        open.push_back(&flow);
      }
    }
    while (!open.empty()) {
      std::vector<double> weight(capacity.size(), 0);
      for (const Flow* flow : open) {
        for (const auto& use : links(*flow)) {
          weight[Scene::index(use.link)] += use.count;
        }
      }
      double level = std::numeric_limits<double>::infinity();
      std::size_t tightest = 0;
      for (std::size_t i = 0; i < capacity.size(); ++i) {
        if (weight[i] > 0 && capacity[i] / weight[i] < level) {
          level = capacity[i] / weight[i];
          tightest = i;
        }
      }
      for (auto flow = open.begin(); flow != open.end();) {
        const auto& uses = links(**flow);
        const bool limited =
            std::any_of(uses.begin(), uses.end(), [&](const auto& use) { return Scene::index(use.link) == tightest; });
        if (!limited) {
          ++flow;
          continue;
        }
        (*flow)->rate = level;
        for (const auto& use : uses) {
          capacity[Scene::index(use.link)] -= level * use.count;
        }
        flow = open.erase(flow);
      }
    }
  }

  [[nodiscard]] const std::vector<collectives::LinkUse>& links(const Flow& flow) const {
    return deployment_.paths[Scene::index(flow.path)].links;
  }

  const deployment::Deployment& deployment_;
};

TEST(ReplayRandom, SharesLinksByProgressiveFilling) {
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); };
    Scene scene;
    for (int i = 0; i < 8; ++i) {
      scene.link(1e9 * (1 + below(5)));
    }
    std::vector<ProgressiveFilling::Flow> flows;
    for (int i = 0; i < 40; ++i) {
      const int rank = scene.rank();
      const int stream = scene.stream(rank);
      std::vector<int> links;
      for (int hop = 1 + below(4); hop > 0; --hop) {
        links.insert(links.end(), static_cast<std::size_t>(1 + below(3)), below(8));
      }
      const int path = scene.path(links);
      scene.deployment.ranks.back().to_host = path;
      const double start = 0.01 * below(300);
      const double bytes = 1e6 * (1 + below(2000));
      scene.compute(rank, stream, start);
      scene.copy(rank, stream, bytes);
      flows.push_back({.start = start, .bytes = bytes, .path = path});
    }
    const ProgressiveFilling expected(scene.deployment, flows);
    const timeline::Timeline timeline = scene.run();
    for (std::size_t i = 0; i < flows.size(); ++i) {
      EXPECT_NEAR(timeline.spans[i][1].end, expected.flows[i].end, 1e-9 * expected.flows[i].end) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace lamina::replay
