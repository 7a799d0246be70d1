#include "validate/hardware_trace/trace.hpp"

namespace lamina::validate::hardware_trace {

std::string_view word_for(EventClass kind) {
  static constexpr std::array<std::string_view, kEventClasses> kWords = {
      "gemm",           "attention",      "memory_bound",         "other_kernel", "communication", "copy_to_host",
      "copy_from_host", "copy_on_device", "copy_between_devices", "set",          "compute"};
  return kWords.at(static_cast<std::size_t>(kind));
}

std::string_view word_for(CollectiveName name) {
  static constexpr std::array<std::string_view, kCollectiveNames> kWords = {
      "all_reduce", "reduce_scatter", "all_gather",   "broadcast", "all_to_all", "reduce",
      "send",       "receive",        "send_receive", "barrier",   "other"};
  return kWords.at(static_cast<std::size_t>(name));
}

std::string_view word_for(DetailSource source) {
  static constexpr std::array<std::string_view, kDetailSources> kWords = {"kernel", "cpu_operation", "name",
                                                                          "timeline"};
  return kWords.at(static_cast<std::size_t>(source));
}

std::string_view word_for(Format format) {
  static constexpr std::array<std::string_view, 3> kWords = {"kineto", "nsight", "lamina"};
  return kWords.at(static_cast<std::size_t>(format));
}

bool is_kernel_compute(EventClass kind) {
  return kind == EventClass::kGemm || kind == EventClass::kAttention || kind == EventClass::kMemoryBound ||
         kind == EventClass::kOtherKernel || kind == EventClass::kCompute;
}

bool is_copy(EventClass kind) {
  return kind == EventClass::kCopyToHost || kind == EventClass::kCopyFromHost || kind == EventClass::kCopyOnDevice ||
         kind == EventClass::kCopyBetweenDevices || kind == EventClass::kSet;
}

}  // namespace lamina::validate::hardware_trace
