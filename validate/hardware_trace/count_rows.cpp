#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/report/action_name.hpp"
#include "sim/report/names.hpp"
#include "validate/hardware_trace/intervals.hpp"
#include "validate/hardware_trace/matching.hpp"

/// How often and how long, by class: what can be compared when nothing else can.
namespace lamina::validate::hardware_trace {
namespace {

constexpr double kNanoseconds = 1e9;

struct Sum {
  double count = 0;
  double bytes = 0;
  double seconds = 0;
};

using Sums = std::map<std::string, Sum>;

/// A class that exists on both sides.
std::string class_of(const graph::Operation& operation) {
  switch (operation.kind) {
    case graph::OperationKind::kCompute:
      return "compute";
    case graph::OperationKind::kSend:
      return "send";
    case graph::OperationKind::kReceive:
      return "receive";
    case graph::OperationKind::kHostCopy:
      return operation.to_host ? "copy_to_host" : "copy_from_host";
    case graph::OperationKind::kCollective:
      break;
  }
  return std::string(report::word_for(operation.collective));
}

void add(Sums& sums, const std::string& kind, double count, double bytes, double seconds) {
  Sum& sum = sums[kind];
  sum.count += count;
  sum.bytes += bytes;
  sum.seconds += seconds;
}

void add_trace(const RankTrace& trace, double weight, Sums& into) {
  std::vector<Interval> compute;
  for (const Event& event : trace.events) {
    const double seconds = static_cast<double>(event.duration_ns) / kNanoseconds * weight;
    if (is_kernel_compute(event.kind)) {
      compute.emplace_back(event.start_ns, event.end_ns());
    } else if (event.kind == EventClass::kCommunication) {
      const Communication& detail = trace.communications.at(static_cast<std::size_t>(event.detail));
      add(into, std::string(word_for(detail.name)), weight, detail.bytes * weight, seconds);
    } else {
      add(into, std::string(word_for(event.kind)), weight, 0, seconds);
    }
  }
  add(into, "compute", 0, 0, static_cast<double>(length(united(std::move(compute)))) / kNanoseconds * weight);
}

void add_rank(const Model& model, std::size_t rank, double weight, Sums& into) {
  const graph::Program& program = model.program_of(rank);
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const graph::Operation& operation = program.operations[i];
    const bool computes = operation.kind == graph::OperationKind::kCompute;
    add(into, class_of(operation), computes ? 0 : weight, computes ? 0 : operation.bytes * weight,
        model.predicted_s(rank, i) * weight);
  }
}

/// [deployment rank] share in the mean over recorded ranks; all ranks alike where roles are not known.
std::vector<double> weights_of_ranks(const Model& model, const std::vector<int>& programs) {
  std::vector<double> by_program(model.graph.programs.size(), 0);
  double known = 0;
  for (const int program : programs) {
    if (program >= 0) {
      by_program[static_cast<std::size_t>(program)] += 1;
      known += 1;
    }
  }
  if (known == 0) {
    by_program.assign(by_program.size(), 1);
    known = static_cast<double>(by_program.size());
  }
  std::vector<double> devices(by_program.size(), 0);
  for (const deployment::Rank& rank : model.deployment.ranks) {
    devices[static_cast<std::size_t>(rank.program)] += rank.multiplicity;
  }
  std::vector<double> result;
  for (const deployment::Rank& rank : model.deployment.ranks) {
    const auto program = static_cast<std::size_t>(rank.program);
    result.push_back(by_program[program] / known * rank.multiplicity / devices[program]);
  }
  return result;
}

std::vector<CountRow> rows_of(const Sums& trace, const Sums& graph, bool compute_countable) {
  Sums kinds = graph;
  kinds.insert(trace.begin(), trace.end());
  std::vector<CountRow> rows;
  for (const auto& [kind, unused] : kinds) {
    CountRow row;
    row.kind = kind;
    const auto in_trace = trace.find(kind);
    const auto in_graph = graph.find(kind);
    const bool countable = compute_countable || kind != "compute";
    row.in_trace = !countable ? -1 : in_trace == trace.end() ? 0 : in_trace->second.count;
    row.in_graph = !countable ? -1 : in_graph == graph.end() ? 0 : in_graph->second.count;
    if (in_trace != trace.end()) {
      row.trace_bytes = in_trace->second.bytes;
      row.trace_s = in_trace->second.seconds;
    }
    if (in_graph != graph.end()) {
      row.graph_bytes = in_graph->second.bytes;
      row.graph_s = in_graph->second.seconds;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::vector<CountRow> count_rows(const Model& model, const std::vector<RankTrace>& traces,
                                 const std::vector<int>& programs, const Window& window) {
  Sums trace_sums;
  Sums graph_sums;
  for (const RankTrace& trace : traces) {
    add_trace(trace, 1 / (window.steps * static_cast<double>(traces.size())), trace_sums);
  }
  const std::vector<double> weights = weights_of_ranks(model, programs);
  for (std::size_t rank = 0; rank < weights.size(); ++rank) {
    if (weights[rank] > 0) {
      add_rank(model, rank, weights[rank], graph_sums);
    }
  }
  return rows_of(trace_sums, graph_sums, false);
}

std::vector<CountRow> count_timeline_rows(const Model& model, const std::vector<RankTrace>& traces) {
  Sums trace_sums;
  Sums graph_sums;
  const auto add_slice = [](Sums& sums, std::string_view name, std::string_view phase, double bytes, double seconds) {
    std::string action;  // the name without its numbers: "F", "SEND_F"
    std::copy_if(name.begin(), name.end(), std::back_inserter(action), [](char c) { return c < '0' || c > '9'; });
    add(sums, fmt::format("{} ({})", action, phase), 1, bytes, seconds);
  };
  for (const RankTrace& trace : traces) {
    for (const Event& event : trace.events) {
      const Operation& operation = trace.operations.at(static_cast<std::size_t>(event.action));
      add_slice(trace_sums, trace.name_of(event.name), trace.name_of(operation.phase), operation.bytes,
                static_cast<double>(event.duration_ns) / kNanoseconds / static_cast<double>(traces.size()));
    }
  }
  for (std::size_t rank = 0; rank < model.deployment.ranks.size(); ++rank) {
    const graph::Program& program = model.program_of(rank);
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const graph::Operation& operation = program.operations[i];
      add_slice(graph_sums, report::action_name(operation, program), report::word_for(operation.phase),
                std::max(0.0, operation.bytes),
                model.predicted_s(rank, i) / static_cast<double>(model.deployment.ranks.size()));
    }
  }
  for (Sums* sums : {&trace_sums, &graph_sums}) {
    const double ranks = static_cast<double>(sums == &trace_sums ? traces.size() : model.deployment.ranks.size());
    for (auto& [kind, sum] : *sums) {
      sum.count /= ranks;
      sum.bytes /= ranks;
    }
  }
  return rows_of(trace_sums, graph_sums, true);
}

}  // namespace lamina::validate::hardware_trace
