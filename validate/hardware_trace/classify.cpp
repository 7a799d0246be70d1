#include "validate/hardware_trace/classify.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace lamina::validate::hardware_trace {
namespace {

std::string lowered(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

template <std::size_t Count>
bool has_one_of(std::string_view text, const std::array<std::string_view, Count>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

/// A whole number at the beginning of `text`, which it is cut from; -1: none, or too large to be meant.
std::int32_t take_number(std::string_view& text) {
  std::int32_t value = -1;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || text.front() == '-') {
    return -1;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

EventClass class_of_kernel(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kCommunication = {"nccl", "rccl", "msccl", "mscclpp"};
  static constexpr std::array<std::string_view, 4> kAttention = {"flash", "fmha", "attention", "attn_fwd"};
  static constexpr std::array<std::string_view, 14> kGemm = {
      "gemm", "cutlass", "nvjet",  "xmma",     "cublas",   "wgrad",        "dgrad",
      "gemv", "splitkr", "conv2d", "convolve", "winograd", "implicit_con", "cijk_"};
  static constexpr std::array<std::string_view, 22> kMemoryBound = {
      "elementwise",  "reduce",   "norm",          "softmax",   "copy",     "scatter", "gather",  "index",
      "multi_tensor", "adam",     "triton_",       "cat_array", "catarray", "fill",    "dropout", "transpose",
      "embedding",    "nll_loss", "cross_entropy", "sort",      "cub::",    "scan"};
  const std::string text = lowered(name);
  if (has_one_of(text, kCommunication)) {
    return EventClass::kCommunication;
  }
  if (has_one_of(text, kAttention)) {
    return EventClass::kAttention;
  }
  if (has_one_of(text, kGemm)) {
    return EventClass::kGemm;
  }
  return has_one_of(text, kMemoryBound) ? EventClass::kMemoryBound : EventClass::kOtherKernel;
}

EventClass class_of_copy(std::string_view name) {
  if (name.find("DtoH") != std::string_view::npos) {
    return EventClass::kCopyToHost;
  }
  if (name.find("HtoD") != std::string_view::npos) {
    return EventClass::kCopyFromHost;
  }
  if (name.find("PtoP") != std::string_view::npos) {
    return EventClass::kCopyBetweenDevices;
  }
  return EventClass::kCopyOnDevice;
}

CollectiveName collective_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, CollectiveName>, 14> kParts = {{
      {"sendrecv", CollectiveName::kSendReceive},
      {"reduce_scatter", CollectiveName::kReduceScatter},
      {"reducescatter", CollectiveName::kReduceScatter},
      {"allreduce", CollectiveName::kAllReduce},
      {"all_reduce", CollectiveName::kAllReduce},
      {"allgather", CollectiveName::kAllGather},
      {"all_gather", CollectiveName::kAllGather},
      {"all_to_all", CollectiveName::kAllToAll},
      {"alltoall", CollectiveName::kAllToAll},
      {"broadcast", CollectiveName::kBroadcast},
      {"barrier", CollectiveName::kBarrier},
      {"recv", CollectiveName::kReceive},
      {"send", CollectiveName::kSend},
      {"reduce", CollectiveName::kReduce},
  }};
  std::string text = lowered(name);
  std::replace(text.begin(), text.end(), '-', '_');
  for (const auto& [part, meaning] : kParts) {
    if (text.find(part) != std::string::npos) {
      return meaning;
    }
  }
  return CollectiveName::kOther;
}

int bytes_of_type(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, int>, 18> kTypes = {{
      {"Float", 4},
      {"Half", 2},
      {"BFloat16", 2},
      {"Double", 8},
      {"Int", 4},
      {"Long", 8},
      {"Byte", 1},
      {"Char", 1},
      {"Bool", 1},
      {"Short", 2},
      {"UInt16", 2},
      {"UInt32", 4},
      {"UInt64", 8},
      {"ComplexFloat", 8},
      {"ComplexDouble", 16},
      {"Float8_e4m3fn", 1},
      {"Float8_e5m2", 1},
      {"Float8_e4m3fnuz", 1},
  }};
  const auto* const found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& entry) { return entry.first == type; });
  return found == kTypes.end() ? 0 : found->second;
}

bool parse_action(std::string_view name, Action& into) {
  std::string_view rest = name;
  if (take(rest, "PP:")) {
    into.stage = take_number(rest);
    const char kind = rest.empty() ? '?' : rest.front();
    rest.remove_prefix(rest.empty() ? 0 : 1);
    into.micro_batch = take_number(rest);
    const bool computes = into.stage >= 0 && into.micro_batch >= 0 && rest.empty() &&
                          (kind == 'F' || kind == 'B' || kind == 'I' || kind == 'W');
    into.kind = computes ? kind : '?';
    return true;
  }
  const bool forward = take(rest, "Forward ");
  if (forward || take(rest, "Backward ")) {
    into.micro_batch = take_number(rest);
    into.kind = forward ? 'F' : 'B';
    return into.micro_batch >= 0 && rest.empty();
  }
  return false;
}

std::int64_t step_number(std::string_view name) {
  if (!take(name, "ProfilerStep#")) {
    return -1;
  }
  return take_number(name);
}

}  // namespace lamina::validate::hardware_trace
