#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "validate/hardware_trace/trace.hpp"

namespace lamina::validate::hardware_trace {

/// More than real traces hold; bounds the memory that a hostile one can ask for.
struct Limits {
  std::size_t events = std::size_t{1} << 25U;
  std::size_t names = std::size_t{1} << 20U;
  std::size_t name_bytes = std::size_t{1} << 28U;
};

/// Collects one rank's events in compact form and joins, at the end, what stands in different places of a trace.
class Builder {
 public:
  Builder(std::string file, Format format, Limits limits = {});

  [[nodiscard]] RankTrace& trace() { return trace_; }

  [[nodiscard]] NameId intern(std::string_view name);

  /// A kernel, copy or memset. Communication without detail keeps `external_id`, to be joined.
  void add(const Event& event, std::int64_t external_id);

  /// With what the kernel itself says.
  void add(Event event, const Communication& detail);

  /// What an operation on the host says about the communication that it launches.
  void describe_launch(std::int64_t external_id, const Communication& detail);

  void add_launch(std::uint32_t correlation, std::int64_t at_ns);
  void add_action(const Action& action);
  void add_step(const Step& step);

  /// Joins, adds `base_ns` to all times and sorts.
  [[nodiscard]] RankTrace finish(std::int64_t base_ns);

 private:
  struct Launch {
    std::int64_t at_ns = 0;
    std::uint32_t correlation = 0;
  };

  void check_room(std::size_t size) const;
  void join_details();
  void assign_ranges();
  void shift(std::int64_t base_ns);

  RankTrace trace_;
  Limits limits_;
  std::size_t name_bytes_ = 0;
  std::unordered_map<std::string, NameId> ids_;
  std::vector<std::pair<std::uint32_t, std::int64_t>> waiting_;  ///< event, external id
  std::unordered_map<std::int64_t, Communication> described_;
  std::vector<Launch> launches_;
};

}  // namespace lamina::validate::hardware_trace
