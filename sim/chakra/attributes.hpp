#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "et_def.pb.h"

namespace lamina::chakra {

/// The attributes of a node that Lamina reads. Writers differ in the integer type of an attribute (int32, int64,
/// uint64, digits in a string): all are taken.
struct Attributes {
  std::optional<std::int64_t> comm_type;
  std::optional<std::int64_t> comm_size;
  std::optional<std::int64_t> comm_src;
  std::optional<std::int64_t> comm_dst;
  std::optional<std::int64_t> comm_tag;
  std::optional<std::int64_t> num_ops;
  std::optional<std::int64_t> tensor_size;
  std::optional<std::int64_t> runtime;  ///< microseconds; older traces
  std::optional<double> duration_ns;    ///< Lamina's own: duration_micros without rounding
  std::optional<std::string> pg_name;
  bool is_cpu_op = false;
  bool leaves_dimensions_out = false;  ///< involved_dim has a false
};

/// `refuse(problem, read, allowed)` does not return.
using Refuse = std::function<void(const std::string&, const std::string&, const std::string&)>;

[[nodiscard]] Attributes read_attributes(const et_def::Node& node, const Refuse& refuse);

/// Number of the first field among 1..10 that came with another wire type than the format's; 0: none.
[[nodiscard]] int misread_field(const std::string& unknown_fields, const std::uint32_t* known, std::size_t count);

}  // namespace lamina::chakra
