#include <algorithm>
#include <iterator>

#include <boost/graph/depth_first_search.hpp>
#include <boost/property_map/vector_property_map.hpp>
#include <fmt/format.h>

#include "sim/graph/meetings.hpp"
#include "sim/graph/operation_graph.hpp"

namespace lamina::graph {
namespace {

using Edge = std::pair<std::uint32_t, std::uint32_t>;

/// Whether everything can run: takes away, again and again, what waits for nothing.
bool runs_to_the_end(const OperationGraph& graph, const std::vector<std::uint32_t>& leader) {
  const auto count = static_cast<std::uint32_t>(graph.size());
  std::vector<std::uint32_t> waits(count, 0);            // of a leader: edges into its members
  std::vector<std::uint32_t> next_member(count, count);  // a list of those that a leader stands for
  for (std::uint32_t vertex = 0; vertex < count; ++vertex) {
    if (leader[vertex] != vertex) {
      next_member[vertex] = next_member[leader[vertex]];
      next_member[leader[vertex]] = vertex;
    }
    const auto [begin, end] = out_edges(vertex, graph.edges);
    for (auto edge = begin; edge != end; ++edge) {
      ++waits[leader[target(*edge, graph.edges)]];
    }
  }
  std::vector<std::uint32_t> ready;
  for (std::uint32_t vertex = 0; vertex < count; ++vertex) {
    if (leader[vertex] == vertex && waits[vertex] == 0) {
      ready.push_back(vertex);
    }
  }
  std::uint32_t done = 0;
  while (!ready.empty()) {
    const std::uint32_t first = ready.back();
    ready.pop_back();
    for (std::uint32_t member = first; member != count; member = next_member[member]) {
      ++done;
      const auto [begin, end] = out_edges(member, graph.edges);
      for (auto edge = begin; edge != end; ++edge) {
        const std::uint32_t after = leader[target(*edge, graph.edges)];
        if (--waits[after] == 0) {
          ready.push_back(after);
        }
      }
    }
  }
  return done == count;
}

struct CycleFound {
  std::vector<std::uint32_t> cycle;
};

/// Keeps the depth-first path and throws it when an edge closes a cycle.
class CycleVisitor : public boost::default_dfs_visitor {
 public:
  explicit CycleVisitor(std::vector<std::uint32_t>& path) : path_(&path) {}

  template <class Graph>
  void discover_vertex(std::uint32_t vertex, const Graph& /*graph*/) {
    path_->push_back(vertex);
  }

  template <class Graph>
  void finish_vertex(std::uint32_t /*vertex*/, const Graph& /*graph*/) {
    path_->pop_back();
  }

  template <class Graph>
  void back_edge(typename boost::graph_traits<Graph>::edge_descriptor edge, const Graph& graph) {
    const auto start = std::find(path_->begin(), path_->end(), target(edge, graph));
    throw CycleFound{{start, path_->end()}};
  }

 private:
  std::vector<std::uint32_t>* path_;
};

}  // namespace

std::string find_deadlock(const OperationGraph& graph) {
  const std::vector<std::uint32_t> leader = meetings(graph);
  if (runs_to_the_end(graph, leader)) {
    return "";
  }
  std::vector<Edge> edges;
  edges.reserve(num_edges(graph.edges));
  for (std::uint32_t vertex = 0; vertex < graph.size(); ++vertex) {
    const auto [begin, end] = out_edges(vertex, graph.edges);
    for (auto edge = begin; edge != end; ++edge) {
      edges.emplace_back(leader[vertex], leader[target(*edge, graph.edges)]);
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  const DependencyGraph contracted(boost::edges_are_sorted, edges.begin(), edges.end(),
                                   static_cast<std::uint32_t>(graph.size()));
  std::vector<std::uint32_t> path;
  try {
    std::vector<boost::default_color_type> colours(graph.size(), boost::white_color);
    const auto colour_map = boost::make_iterator_property_map(colours.begin(), get(boost::vertex_index, contracted));
    boost::depth_first_search(contracted, CycleVisitor(path), colour_map);
  } catch (const CycleFound& found) {
    std::string text = "the in-order streams wait for each other in a circle:";
    for (const std::uint32_t vertex : found.cycle) {
      text += "\n  " + describe(graph, vertex) + ", which must end before";
      if (graph.partner[vertex] != OperationGraph::kNoPartner) {
        text += fmt::format(" (with its other end, {})", describe(graph, graph.partner[vertex]));
      }
    }
    return text + "\n  " + describe(graph, found.cycle.front());
  }
  return "";
}

}  // namespace lamina::graph
