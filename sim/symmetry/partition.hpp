#pragma once

#include <cstdint>
#include <vector>

namespace lamina::symmetry {

/// Classes of an equitable partition, numbered by first member.
struct Partition {
  std::vector<std::int32_t> rank;
  std::vector<std::int32_t> channel;
  std::vector<std::int32_t> group;
  std::vector<std::int32_t> path;
  std::vector<std::int32_t> link;  ///< -1: no path uses it
  std::int32_t ranks = 0;
  std::int32_t channels = 0;
  std::int32_t groups = 0;
  std::int32_t paths = 0;
  std::int32_t links = 0;
};

}  // namespace lamina::symmetry
