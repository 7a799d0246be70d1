#pragma once

#include <cstdint>
#include <string_view>

#include "validate/hardware_trace/trace.hpp"

/// What the names in traces mean. Names of kernels are nobody's contract: the rules are substrings, listed in
/// docs/hardware_traces.md.
namespace lamina::validate::hardware_trace {

/// Of a kernel by its (demangled) name.
[[nodiscard]] EventClass class_of_kernel(std::string_view name);

/// Of a copy by its name in a Kineto trace: "Memcpy DtoH (Device -> Pinned)".
[[nodiscard]] EventClass class_of_copy(std::string_view name);

/// Of a collective as PyTorch ("_allgather_base"), NCCL ("ncclDevKernel_AllGather_RING_LL") or Lamina call it.
[[nodiscard]] CollectiveName collective_of(std::string_view name);

/// Bytes of one element of a PyTorch type ("Float", "BFloat16"); 0: not known.
[[nodiscard]] int bytes_of_type(std::string_view type);

/// Whether a range's name announces an action of a pipeline; fills kind, stage and micro-batch.
[[nodiscard]] bool parse_action(std::string_view name, Action& into);

/// "ProfilerStep#12" and "ProfilerStep#12 (...)": 12; -1: another name.
[[nodiscard]] std::int64_t step_number(std::string_view name);

}  // namespace lamina::validate::hardware_trace
