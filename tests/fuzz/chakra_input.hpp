#pragma once

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>

#include "sim/chakra/import.hpp"
#include "sim/chakra/match.hpp"
#include "sim/chakra/trace.hpp"
#include "sim/error/error.hpp"

/// What must hold for any bytes given to the reader of Chakra traces. Used by the fuzzer, by a unit test on the inputs
/// that the fuzzer found interesting, and by a property test on damaged traces.
namespace lamina::fuzz {

inline constexpr int kChakraRanks = 3;

inline chakra::Groups chakra_groups() {
  return chakra::read_groups(R"({"1": [0, 1], "2": [0, 2], "3": [1]})", "comm_groups.json", kChakraRanks);
}

/// The bytes of three files, one after the other, each after its length in two bytes; the last is what is left.
inline std::string one_of_three(std::string_view& text) {
  if (text.size() < 2) {
    text = {};
    return {};
  }
  const std::size_t length =
      static_cast<unsigned char>(text[0]) | static_cast<std::size_t>(static_cast<unsigned char>(text[1])) << 8U;
  std::string file(text.substr(2, length));
  text.remove_prefix(std::min(text.size(), length + 2));
  return file;
}

/// "" unless a rank that was read is not in order.
inline std::string disorder(const chakra::RankTrace& rank) {
  for (std::size_t i = 0; i < rank.nodes.size(); ++i) {
    const chakra::Node& node = rank.nodes[i];
    if (!(node.duration_s >= 0 && node.duration_s <= 1.1e6 && node.bytes >= 0 && node.bytes <= 1e16)) {
      return "a duration or size that makes no sense";
    }
    for (std::uint32_t k = 0; k < node.dependencies; ++k) {
      if (rank.dependencies.at(node.first_dependency + k) >= i) {
        return "a node stands before what it depends on";
      }
    }
  }
  return "";
}

/// "" when the trace is accepted and makes a graph, or is refused with a ScenarioError that names a file; else what is
/// wrong. Any other exception is let through.
inline std::string broken_chakra_promise(std::string_view text, bool* accepted = nullptr) {
  chakra::Trace trace;
  trace.groups = chakra_groups();
  try {
    for (int rank = 0; rank < kChakraRanks; ++rank) {
      const std::string name = "step." + std::to_string(rank) + ".et";
      std::istringstream stream(rank + 1 < kChakraRanks ? one_of_three(text) : std::string(text));
      trace.ranks.push_back(chakra::read_rank(stream, {name, rank, kChakraRanks, &trace.groups}));
      if (std::string fault = disorder(trace.ranks.back()); !fault.empty()) {
        return fault;
      }
    }
    const chakra::Matching matching = chakra::match(trace);
    chakra::check_progress(trace, matching);
    const chakra::Imported imported = chakra::import_trace(trace, matching);
    if (imported.program_of_rank.size() != kChakraRanks) {
      return "a rank has no program";
    }
    if (accepted != nullptr) {
      *accepted = true;
    }
  } catch (const error::ScenarioError& refused) {
    const bool names_a_file =
        refused.fault().location.file.rfind("step.", 0) == 0 || refused.fault().location.file == "comm_groups.json";
    return !names_a_file || refused.fault().problem.empty() ? "a refusal without file or reason" : "";
  }
  return "";
}

}  // namespace lamina::fuzz
