#pragma once

#include <cstddef>
#include <string>

#include "sim/graph/operation_graph.hpp"

namespace lamina::report {

/// One line on what the graph holds, and one on how to read `to_graph_text`.
[[nodiscard]] std::string graph_text_head(const graph::OperationGraph& graph, const std::string& name);

/// The program of one pipeline rank, for reading and for `diff`: streams, channels, resident memory, then one line per
/// operation in the order in which it was issued: "rank.number  name  what it is  how much  what it waits for", with
/// the memory that it takes (+) and gives back (-). Names are those of the Perfetto trace ("0F3", "1SEND_F3",
/// "3UNSHARD").
[[nodiscard]] std::string to_graph_text(const graph::OperationGraph& graph, std::size_t program);

}  // namespace lamina::report
