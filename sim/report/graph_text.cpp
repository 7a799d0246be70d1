#include "sim/report/graph_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "sim/report/action_name.hpp"
#include "sim/report/format.hpp"
#include "sim/report/names.hpp"

namespace lamina::report {
namespace {

using graph::Operation;
using graph::OperationKind;
using graph::Program;

/// Numbers of what each operation waits for besides its stream, ascending and without repetition.
std::vector<std::vector<std::uint32_t>> predecessors(const Program& program) {
  std::vector<std::vector<std::uint32_t>> result(program.operations.size());
  for (const auto& [before, after] : program.dependencies) {
    if (program.operations[before].stream != program.operations[after].stream) {
      result[after].push_back(before);
    }
  }
  for (auto& list : result) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return result;
}

std::vector<std::string> memory_texts(const Program& program) {
  std::vector<std::string> result(program.operations.size());
  for (const graph::MemoryEffect& effect : program.memory_effects) {
    result[effect.operation] +=
        fmt::format("  {}{} {}{}", effect.bytes < 0 ? "-" : "+", binary_bytes(std::abs(effect.bytes)),
                    word_for(effect.category), effect.at_end ? " after" : "");
  }
  return result;
}

std::string amount(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kCompute:
      return operation.flops > 0 ? fmt::format("{}, {}FLOP", seconds(operation.duration_s), scaled(operation.flops))
                                 : seconds(operation.duration_s);
    case OperationKind::kSend:
    case OperationKind::kReceive:
    case OperationKind::kHostCopy:
      return decimal_bytes(operation.bytes);
    case OperationKind::kCollective:
      return fmt::format("{} of {} in the {} group", name_of(operation.collective), decimal_bytes(operation.bytes),
                         name_of(operation.group));
  }
  return "";
}

std::string waits(const graph::OperationGraph& graph, std::size_t program, std::uint32_t number,
                  const std::vector<std::uint32_t>& before) {
  std::string text;
  for (const std::uint32_t other : before) {
    text += fmt::format("{}{}.{}", text.empty() ? "  after " : ", ", program, other);
  }
  const std::uint32_t partner = graph.partner[graph.vertex(static_cast<int>(program), number)];
  if (partner != graph::OperationGraph::kNoPartner) {
    const int peer = graph.program_of(partner);
    text += fmt::format("  with {}.{}", peer, partner - graph.first_vertex[static_cast<std::size_t>(peer)]);
  }
  return text;
}

}  // namespace

std::string graph_text_head(const graph::OperationGraph& graph, const std::string& name) {
  return fmt::format(
      "# {}: operation graph, {} pipeline ranks, {} operations\n"
      "# rank.number [stream]  action  description, amount  after what (besides its stream)  with which other end  "
      "memory\n",
      name, graph.programs.size(), whole(static_cast<double>(graph.size())));
}

std::string to_graph_text(const graph::OperationGraph& graph, std::size_t program) {
  const Program& owner = graph.programs.at(program);
  std::string text = fmt::format("\nrank {}: {} operations\n", program, owner.operations.size());
  for (std::size_t i = 0; i < owner.streams.size(); ++i) {
    text += fmt::format("  stream {}: {}\n", i, owner.streams[i].name);
  }
  for (const graph::MemoryCategory category : kMemoryOrder) {
    if (const double bytes = owner.initial_memory[index_of(category)]; bytes > 0) {
      text += fmt::format("  resident {}: {}\n", word_for(category), binary_bytes(bytes));
    }
  }
  const auto before = predecessors(owner);
  const auto memory = memory_texts(owner);
  for (std::uint32_t i = 0; i < owner.operations.size(); ++i) {
    const Operation& operation = owner.operations[i];
    text += fmt::format("{:<8} [{}]  {:<12} {}, {}{}{}\n", fmt::format("{}.{}", program, i), operation.stream,
                        action_name(operation, owner), describe(operation, owner), amount(operation),
                        waits(graph, program, i, before[i]), memory[i]);
  }
  return text;
}

}  // namespace lamina::report
