#include "sim/catalog/likely_name.hpp"

#include <algorithm>

#include "sim/catalog/catalog.hpp"

namespace lamina::catalog {
namespace {

/// Lower case, without spaces, hyphens and underscores, and without "Schedule" in front (PyTorch's class names).
std::string plain(std::string_view name) {
  std::string result;
  for (const char character : name) {
    if (character != ' ' && character != '-' && character != '_') {
      result += static_cast<char>(character >= 'A' && character <= 'Z' ? character - 'A' + 'a' : character);
    }
  }
  constexpr std::string_view kPrefix = "schedule";
  return result.starts_with(kPrefix) ? result.substr(kPrefix.size()) : result;
}

}  // namespace

const std::vector<Synonym>& synonyms() {
  static const std::vector<Synonym> table = {
      // schedules: PyTorch, Megatron-LM, sail-sg, DeepSpeed, Paddle, Fast-LLM and the papers
      {"afab", "gpipe"},
      {"fthenb", "gpipe"},
      {"allforwardallbackward", "gpipe"},
      {"1f1b", "one_forward_one_backward"},
      {"basic1f1b", "one_forward_one_backward"},
      {"pipedream", "one_forward_one_backward"},
      {"pipedreamflush", "one_forward_one_backward"},
      {"dapple", "one_forward_one_backward"},
      {"interleaved1f1b", "interleaved"},
      {"1f1binterleaved", "interleaved"},
      {"1f1bi", "interleaved"},
      {"vpp", "interleaved"},
      {"virtualpipeline", "interleaved"},
      {"depthfirst", "interleaved"},
      {"loopedbfs", "layered_modular"},
      {"bfs", "layered_modular"},
      {"breadthfirst", "layered_modular"},
      {"modularpipeline", "layered_modular"},
      {"zerobubble", "zero_bubble_h1"},
      {"zbh1", "zero_bubble_h1"},
      {"zb1p", "zero_bubble_h1"},
      {"zbh2", "zero_bubble_h2"},
      {"zb2p", "zero_bubble_h2"},
      {"interleavedzb", "interleaved_zero_bubble"},
      {"zbv", "zero_bubble_v"},
      {"zbvzerobubble", "zero_bubble_v"},
      {"gradientaccumulation", "accumulate"},
      // sharding levels
      {"ddp", "none"},
      {"zero0", "none"},
      {"0", "none"},
      {"zero1", "optimizer"},
      {"1", "optimizer"},
      {"distributedoptimizer", "optimizer"},
      {"zero2", "gradients"},
      {"2", "gradients"},
      {"shardgradop", "gradients"},
      {"zero3", "full"},
      {"3", "full"},
      {"fsdp", "full"},
      {"fsdp2", "full"},
      {"fullshard", "full"}};
  return table;
}

std::string likely_name(std::string_view typed, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestName = 100;
  const std::string name = plain(typed.substr(0, kLongestName));
  for (const std::string& candidate : candidates) {
    if (plain(candidate) == name) {
      return candidate;
    }
  }
  for (const Synonym& synonym : synonyms()) {
    if (synonym.typed == name && std::find(candidates.begin(), candidates.end(), synonym.ours) != candidates.end()) {
      return std::string(synonym.ours);
    }
  }
  return nearest_name(typed, candidates);
}

}  // namespace lamina::catalog
