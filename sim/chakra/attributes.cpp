#include "sim/chakra/attributes.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "sim/report/text.hpp"

namespace lamina::chakra {
namespace {

using et_def::Attribute;
using google::protobuf::internal::WireFormatLite;

constexpr double kLargestExact = 9007199254740992.0;  // 2^53

std::optional<std::int64_t> whole(double value) {
  if (!(std::abs(value) <= kLargestExact) || value != std::floor(value)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> unsigned_value(std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> digits(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t> integer_of(const Attribute& attribute) {
  if (attribute.has_int64_value()) {
    return attribute.int64_value();
  }
  if (attribute.has_int32_value()) {
    return attribute.int32_value();
  }
  if (attribute.has_uint64_value()) {
    return unsigned_value(attribute.uint64_value());
  }
  if (attribute.has_uint32_value()) {
    return attribute.uint32_value();
  }
  if (attribute.has_sint32_value() || attribute.has_sint64_value()) {
    return attribute.has_sint32_value() ? attribute.sint32_value() : attribute.sint64_value();
  }
  if (attribute.has_fixed32_value()) {
    return attribute.fixed32_value();
  }
  if (attribute.has_fixed64_value()) {
    return unsigned_value(attribute.fixed64_value());
  }
  if (attribute.has_sfixed32_value() || attribute.has_sfixed64_value()) {
    return attribute.has_sfixed32_value() ? attribute.sfixed32_value() : attribute.sfixed64_value();
  }
  if (attribute.has_double_value() || attribute.has_float_value()) {
    return whole(attribute.has_double_value() ? attribute.double_value() : double{attribute.float_value()});
  }
  return attribute.has_string_value() ? digits(attribute.string_value()) : std::nullopt;
}

std::string words_for(const Attribute& attribute) {
  constexpr std::size_t kColumns = 40;
  if (attribute.has_string_value()) {
    return fmt::format("\"{}\"", report::truncate(report::printable(attribute.string_value()), kColumns));
  }
  if (attribute.has_uint64_value() || attribute.has_fixed64_value()) {
    return fmt::format("{}", attribute.has_uint64_value() ? attribute.uint64_value() : attribute.fixed64_value());
  }
  if (attribute.has_double_value() || attribute.has_float_value()) {
    return fmt::format("{}", attribute.has_double_value() ? attribute.double_value() : double{attribute.float_value()});
  }
  return attribute.has_boolean_value() ? "a truth value" : "no value, or a list";
}

class Reader {
 public:
  Reader(const et_def::Node& node, const Refuse& refuse) : node_(node), refuse_(refuse) {}

  Attributes read() {
    for (const Attribute& attribute : node_.attributes()) {
      check_wire(attribute);
      read_one(attribute);
    }
    return std::move(result_);
  }

 private:
  void check_wire(const Attribute& attribute) const {
    static constexpr std::array<std::uint32_t, 17> kKnown = {1,  3,  5,  7,  9,  11, 13, 15, 17,
                                                             19, 21, 23, 25, 27, 28, 29, 0};
    if (const int field = misread_field(attribute.unknown_fields(), kKnown.data(), kKnown.size() - 1); field != 0) {
      refuse_(fmt::format("field {} of an attribute has the wrong wire type", field), "",
              "a file as et_def.proto says");
    }
  }

  void read_one(const Attribute& attribute) {
    const std::string_view name = attribute.name();

    struct Integer {
      std::string_view name;
      std::optional<std::int64_t> Attributes::*value;
    };

    static constexpr std::array<Integer, 8> kIntegers = {{{"comm_type", &Attributes::comm_type},
                                                          {"comm_size", &Attributes::comm_size},
                                                          {"comm_src", &Attributes::comm_src},
                                                          {"comm_dst", &Attributes::comm_dst},
                                                          {"comm_tag", &Attributes::comm_tag},
                                                          {"num_ops", &Attributes::num_ops},
                                                          {"tensor_size", &Attributes::tensor_size},
                                                          {"runtime", &Attributes::runtime}}};
    for (const Integer& integer : kIntegers) {
      if (integer.name == name) {
        result_.*integer.value = integer_or_refuse(attribute);
        return;
      }
    }
    if (name == "pg_name") {
      result_.pg_name =
          attribute.has_string_value() ? attribute.string_value() : fmt::format("{}", integer_or_refuse(attribute));
    } else if (name == "is_cpu_op") {
      result_.is_cpu_op = attribute.has_boolean_value() ? attribute.boolean_value() : integer_or_refuse(attribute) != 0;
    } else if (name == "duration_ns") {
      result_.duration_ns =
          attribute.has_double_value() ? attribute.double_value() : static_cast<double>(integer_or_refuse(attribute));
    } else if (name == "involved_dim") {
      for (const bool involved : attribute.boolean_list().values()) {
        result_.leaves_dimensions_out = result_.leaves_dimensions_out || !involved;
      }
    }
  }

  std::int64_t integer_or_refuse(const Attribute& attribute) const {
    const std::optional<std::int64_t> value = integer_of(attribute);
    if (!value) {
      refuse_(fmt::format("attribute {} is not a whole number", attribute.name()), words_for(attribute),
              "an integer of at most 64 bits");
    }
    return value.value_or(0);
  }

  const et_def::Node& node_;
  const Refuse& refuse_;
  Attributes result_;
};

}  // namespace

Attributes read_attributes(const et_def::Node& node, const Refuse& refuse) {
  return Reader(node, refuse).read();
}

int misread_field(const std::string& unknown_fields, const std::uint32_t* known, std::size_t count) {
  if (unknown_fields.empty()) {
    return 0;
  }
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const std::uint8_t*>(unknown_fields.data()),
                                               static_cast<int>(unknown_fields.size()));
  while (const std::uint32_t tag = input.ReadTag()) {
    const auto field = static_cast<std::uint32_t>(WireFormatLite::GetTagFieldNumber(tag));
    for (std::size_t i = 0; i < count; ++i) {
      if (known[i] == field) {
        return static_cast<int>(field);
      }
    }
    if (!WireFormatLite::SkipField(&input, tag)) {
      break;
    }
  }
  return 0;
}

}  // namespace lamina::chakra
