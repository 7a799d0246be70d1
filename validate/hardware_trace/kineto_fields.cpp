#include "validate/hardware_trace/kineto_fields.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace lamina::validate::hardware_trace {
namespace {

template <class Value, std::size_t Count>
Value find(const std::array<std::pair<std::string_view, Value>, Count>& table, std::string_view key, Value otherwise) {
  const auto* const found =
      std::find_if(table.begin(), table.end(), [key](const auto& entry) { return entry.first == key; });
  return found == table.end() ? otherwise : found->second;
}

}  // namespace

Field field_of_event(std::string_view key) {
  static constexpr std::array<std::pair<std::string_view, Field>, 6> kFields = {{{"name", Field::kName},
                                                                                 {"cat", Field::kCategory},
                                                                                 {"ph", Field::kPhase},
                                                                                 {"ts", Field::kStart},
                                                                                 {"dur", Field::kDuration},
                                                                                 {"pid", Field::kProcess}}};
  return find(kFields, key, Field::kNone);
}

Field field_of_arguments(std::string_view key) {
  static constexpr std::array<std::pair<std::string_view, Field>, 14> kFields = {{
      {"External id", Field::kExternalId},
      {"device", Field::kDevice},
      {"stream", Field::kStream},
      {"correlation", Field::kCorrelation},
      {"Collective name", Field::kCollective},
      {"In msg nelems", Field::kElementsIn},
      {"Out msg nelems", Field::kElementsOut},
      {"Group size", Field::kGroupSize},
      {"dtype", Field::kType},
      {"Process Group Name", Field::kGroup},
      {"Seq", Field::kSequence},
      {"Src Rank", Field::kSource},
      {"Dst Rank", Field::kDestination},
      {"external id", Field::kExternalId},
  }};
  return find(kFields, key, Field::kNone);
}

Category category_of(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, Category>, 15> kCategories = {{
      {"cpu_op", Category::kHostOperation},
      {"kernel", Category::kKernel},
      {"cuda_runtime", Category::kRuntime},
      {"gpu_memcpy", Category::kCopy},
      {"gpu_memset", Category::kSet},
      {"user_annotation", Category::kAnnotation},
      {"cuda_driver", Category::kRuntime},
      {"gpu_user_annotation", Category::kDeviceAnnotation},
      {"hip_runtime", Category::kRuntime},
      {"xpu_runtime", Category::kRuntime},
      {"Kernel", Category::kKernel},
      {"Memcpy", Category::kCopy},
      {"Memset", Category::kSet},
      {"Runtime", Category::kRuntime},
      {"Operator", Category::kHostOperation},
  }};
  return find(kCategories, name, Category::kOther);
}

}  // namespace lamina::validate::hardware_trace
