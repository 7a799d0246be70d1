#pragma once

#include <cstdint>
#include <string_view>

namespace lamina::validate::hardware_trace {

/// Keys of trace events and of their arguments that are read.
enum class Field : std::uint8_t {
  kNone,
  kName,
  kCategory,
  kPhase,
  kStart,
  kDuration,
  kProcess,
  kStream,
  kDevice,
  kCorrelation,
  kExternalId,
  kCollective,
  kElementsIn,
  kElementsOut,
  kType,
  kGroupSize,
  kGroup,
  kSequence,
  kSource,
  kDestination,
};

[[nodiscard]] Field field_of_event(std::string_view key);
[[nodiscard]] Field field_of_arguments(std::string_view key);

/// Categories of events that are read; older names of the same things included.
enum class Category : std::uint8_t {
  kOther,
  kKernel,
  kCopy,
  kSet,
  kRuntime,
  kHostOperation,
  kAnnotation,
  kDeviceAnnotation
};

[[nodiscard]] Category category_of(std::string_view name);

}  // namespace lamina::validate::hardware_trace
