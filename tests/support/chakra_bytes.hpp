#pragma once

#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "sim/chakra/match.hpp"
#include "sim/chakra/trace.hpp"

/// Chakra traces byte by byte: protobuf's wire format with the field numbers of et_def.proto, without generated code.
namespace lamina::tests::et {

enum Type : int { kMetadata = 1, kLoad, kStore, kCompute, kSend, kReceive, kCollective };

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 0x7F; value >>= 7U) {
    bytes += static_cast<char>((value & 0x7FU) | 0x80U);
  }
  return bytes + static_cast<char>(value);
}

inline std::string key(int field, int wire_type) {
  return varint(static_cast<std::uint64_t>(field) << 3U | static_cast<std::uint64_t>(wire_type));
}

inline std::string number(int field, std::uint64_t value) {
  return key(field, 0) + varint(value);
}

inline std::string bytes(int field, const std::string& value) {
  return key(field, 2) + varint(value.size()) + value;
}

/// A fixed32 (wire type 5) or fixed64 (1) with the bits of `value`, which is little-endian here.
template <class Value>
std::string bits(int field, Value value) {
  std::string raw(sizeof(Value), '\0');
  std::memcpy(raw.data(), &value, sizeof(Value));
  return key(field, sizeof(Value) == 4 ? 5 : 1) + raw;
}

/// Field 10 of a node. `value`: the attribute's value with its field number.
inline std::string attribute(const std::string& name, const std::string& value) {
  return bytes(10, bytes(1, name) + value);
}

inline std::string integer(const std::string& name, std::int64_t value) {  // int64_val
  return attribute(name, number(9, static_cast<std::uint64_t>(value)));
}

inline std::string text(const std::string& name, const std::string& value) {  // string_val
  return attribute(name, bytes(29, value));
}

inline std::string truth(const std::string& name, bool value) {  // bool_val
  return attribute(name, number(27, value ? 1 : 0));
}

inline std::string delimited(const std::string& message) {
  return varint(message.size()) + message;
}

inline std::string metadata() {
  return delimited(bytes(1, "0.0.4"));
}

/// data_deps, packed.
inline std::string after(const std::vector<std::uint64_t>& nodes) {
  std::string ids;
  for (const std::uint64_t node : nodes) {
    ids += varint(node);
  }
  return bytes(5, ids);
}

/// `more`: further fields.
inline std::string node(std::uint64_t id, int type, const std::string& more = "") {
  return delimited(number(1, id) + bytes(2, "n" + std::to_string(id)) + number(3, static_cast<std::uint64_t>(type)) +
                   more);
}

inline std::string compute(std::uint64_t id, std::uint64_t micros, const std::string& more = "") {
  return node(id, kCompute, number(7, micros) + more);
}

inline std::string send(std::uint64_t id, int to, std::int64_t size, int tag = 0, const std::string& more = "") {
  return node(id, kSend, integer("comm_dst", to) + integer("comm_size", size) + integer("comm_tag", tag) + more);
}

inline std::string receive(std::uint64_t id, int from, std::int64_t size, int tag = 0, const std::string& more = "") {
  return node(id, kReceive, integer("comm_src", from) + integer("comm_size", size) + integer("comm_tag", tag) + more);
}

/// `type`: a number of CollectiveCommType. Empty group: no pg_name.
inline std::string collective(std::uint64_t id, int type, std::int64_t size, const std::string& group = "",
                              const std::string& more = "") {
  return node(id, kCollective,
              integer("comm_type", type) + integer("comm_size", size) +
                  (group.empty() ? std::string() : text("pg_name", group)) + more);
}

/// The groups of `json`, or that of all ranks.
inline chakra::Groups groups(const std::string& json, int ranks) {
  return json.empty() ? chakra::group_of_all(ranks) : chakra::read_groups(json, "groups.json", ranks);
}

/// A file of nodes as one rank of some; the file's name is "step.<rank>.et".
inline chakra::RankTrace read(const std::string& nodes, int rank = 0, int ranks = 4, const std::string& json = "") {
  const chakra::Groups all = groups(json, ranks);
  std::istringstream stream(metadata() + nodes);
  return chakra::read_rank(stream, {"step." + std::to_string(rank) + ".et", rank, ranks, &all});
}

/// A trace of one string of nodes per rank.
inline chakra::Trace trace(const std::vector<std::string>& nodes, const std::string& json = "") {
  const auto ranks = static_cast<int>(nodes.size());
  chakra::Trace result;
  result.groups = groups(json, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    result.ranks.push_back(read(nodes[static_cast<std::size_t>(rank)], rank, ranks, json));
  }
  return result;
}

}  // namespace lamina::tests::et
