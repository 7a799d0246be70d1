#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <numeric>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "sim/chakra/fault.hpp"
#include "sim/chakra/trace.hpp"
#include "sim/error/error.hpp"

namespace lamina::chakra {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void cannot_read(const fs::path& file, int reason) {
  throw error::EnvironmentError(fmt::format("cannot read {}: {}", file.string(), std::strerror(reason)));
}

std::ifstream open(const fs::path& file) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) {
    refuse_file(file.string(), "This is a folder, not a file.");
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    cannot_read(file, errno == 0 ? EIO : errno);
  }
  return stream;
}

/// Rank in "PREFIX.<rank>.et", written as a number is; -1: another file.
int rank_in(const std::string& name, const std::string& prefix) {
  const std::string ending = ".et";
  if (name.size() <= prefix.size() + 1 + ending.size() || name.compare(0, prefix.size() + 1, prefix + ".") != 0 ||
      name.compare(name.size() - ending.size(), ending.size(), ending) != 0) {
    return -1;
  }
  const std::string digits = name.substr(prefix.size() + 1, name.size() - prefix.size() - 1 - ending.size());
  int rank = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  return failure == std::errc() && end == digits.data() + digits.size() && digits == fmt::format("{}", rank) ? rank
                                                                                                             : -1;
}

/// Ranks of the files there are, ascending.
std::vector<int> ranks_of(const fs::path& prefix) {
  const fs::path folder = prefix.has_parent_path() ? prefix.parent_path() : ".";
  std::error_code failure;
  std::vector<int> ranks;
  fs::directory_iterator entries(folder, failure);
  if (failure) {
    refuse_file(folder.string(), fmt::format("The folder of the traces cannot be read: {}.", failure.message()));
  }
  for (; entries != fs::directory_iterator(); entries.increment(failure)) {
    const int rank = rank_in(entries->path().filename().string(), prefix.filename().string());
    if (rank >= 0) {
      ranks.push_back(rank);
    }
    if (failure) {
      break;
    }
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

fs::path file_of(const fs::path& prefix, int rank) {
  return fs::path(prefix.string() + fmt::format(".{}.et", rank));
}

int count_ranks(const fs::path& prefix) {
  const std::vector<int> ranks = ranks_of(prefix);
  if (ranks.empty()) {
    refuse_file(file_of(prefix, 0).string(), "There is no such trace.", "",
                fmt::format("one file for each rank: {}.0.et, {}.1.et, ...", prefix.string(), prefix.string()));
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] != static_cast<int>(i)) {
      refuse_file(file_of(prefix, static_cast<int>(i)).string(),
                  fmt::format("The trace of rank {} is missing, and there is one of rank {}.", i, ranks[i]));
    }
  }
  return static_cast<int>(ranks.size());
}

/// The size is not asked for: a pipe or a device has none.
std::string text_of(const fs::path& file) {
  constexpr std::size_t kBlock = std::size_t{1} << 16U;
  std::ifstream stream = open(file);
  std::string text;
  do {
    const std::size_t before = text.size();
    text.resize(before + kBlock);
    text.resize(before + static_cast<std::size_t>(stream.read(text.data() + before, kBlock).gcount()));
    if (text.size() > kLongestGroupsFile) {
      refuse_file(file.string(), "The file of process groups is too large.", "",
                  fmt::format("at most {} bytes", kLongestGroupsFile));
    }
  } while (stream);
  return text;
}

Groups find_groups(const fs::path& prefix, const fs::path& chosen, int ranks) {
  const fs::path usual = prefix.has_parent_path() ? prefix.parent_path() / "comm_groups.json" : "comm_groups.json";
  const fs::path& file = chosen.empty() ? usual : chosen;
  std::error_code failure;
  if (chosen.empty() && !fs::exists(file, failure)) {
    Groups groups = group_of_all(ranks);
    groups.file = file.string();
    return groups;
  }
  return read_groups(text_of(file), file.string(), ranks);
}

}  // namespace

Groups group_of_all(int ranks) {
  Groups groups;
  groups.all.emplace_back();
  groups.all.front().members.resize(static_cast<std::size_t>(ranks));
  std::iota(groups.all.front().members.begin(), groups.all.front().members.end(), 0);
  return groups;
}

Trace read_trace(const fs::path& prefix, const fs::path& groups_file) {
  Trace trace;
  const int ranks = count_ranks(prefix);
  trace.groups = find_groups(prefix, groups_file, ranks);
  std::int64_t nodes = 0;
  std::int64_t dependencies = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const fs::path file = file_of(prefix, rank);
    std::ifstream stream = open(file);
    const RankContext context{file.string(), rank, ranks, &trace.groups};
    trace.ranks.push_back(read_rank(stream, context));
    trace.ranks.back().nodes.shrink_to_fit();
    nodes += static_cast<std::int64_t>(trace.ranks.back().nodes.size());
    dependencies += static_cast<std::int64_t>(trace.ranks.back().dependencies.size());
    if (nodes > kMostNodes || dependencies > kMostDependencies) {
      refuse_file(
          file.string(), fmt::format("The traces up to rank {} are too large.", rank),
          fmt::format("{} nodes with {} dependencies", nodes, dependencies),
          fmt::format("at most {} nodes with {} dependencies in all files together", kMostNodes, kMostDependencies));
    }
  }
  return trace;
}

std::string name_of(const Trace& trace, std::size_t rank, std::size_t node) {
  const RankTrace& owner = trace.ranks[rank];
  return fmt::format("rank {}, {}", rank, node_words(owner.nodes[node].id, owner.nodes[node].name));
}

}  // namespace lamina::chakra
