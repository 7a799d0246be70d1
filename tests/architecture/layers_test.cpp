#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/architecture/sources.hpp"
#include "tests/support/paths.hpp"

namespace lamina::architecture {
namespace {

using Rooms = std::set<std::string>;

/// Who may use whom, directly; what a room's neighbours may use it may use as well. The order is the layer order.
const std::map<std::string, Rooms>& allowed() {
  static const std::map<std::string, Rooms> table = {
      {"units", {}},
      {"error", {}},
      {"timeline", {}},
      {"catalog", {"error"}},
      {"scenario", {"units", "error", "catalog"}},
      {"model", {"scenario", "catalog"}},
      {"graph", {"units", "error"}},
      {"fabric", {"scenario"}},
      {"collectives", {"graph", "fabric", "catalog"}},
      {"schedules", {"catalog"}},
      {"schedule_tables", {"schedules"}},
      {"topologies", {"fabric", "catalog"}},
      {"lowering", {"graph", "model", "schedule_tables"}},
      {"deployment", {"collectives", "graph", "fabric"}},
      {"disturb", {"deployment", "scenario"}},
      {"symmetry", {"deployment"}},
      {"replay", {"deployment", "timeline"}},
      {"report", {"scenario", "deployment", "timeline"}},
      {"metrics", {"deployment", "timeline", "model", "report"}},
      {"pipeline", {"metrics", "replay", "disturb", "symmetry", "lowering", "topologies", "schedules"}},
      {"explain", {"pipeline"}},
      {"draw", {"schedules", "deployment", "timeline", "report"}},
      {"trace", {"replay", "schedules", "report"}},
      {"curves", {"draw", "trace"}},
      {"comparison", {"report"}},
      {"requirements", {"pipeline"}},
      {"sweep", {"pipeline"}},
      {"score", {"pipeline", "sweep", "trace"}},
      {"chakra", {"pipeline"}},
      {"validate", {"pipeline", "trace"}},
      {"cli",
       {"pipeline", "explain", "curves", "trace", "comparison", "requirements", "sweep", "score", "chakra",
        "validate"}},
  };
  return table;
}

/// Third-party headers by prefix, and the rooms that may include them. fmt and tl::expected are everyone's.
const std::map<std::string, Rooms>& allowed_third_party() {
  static const std::map<std::string, Rooms> table = {
      {"simgrid/", {"replay"}},
      {"xbt/", {"replay"}},
      {"yaml-cpp/", {"scenario"}},
      {"nlohmann/", {"scenario", "report", "trace", "sweep", "score", "chakra", "validate"}},
      {"google/protobuf/", {"report", "chakra"}},
      {"zlib.h", {"report", "trace", "sweep", "validate"}},
      {"oneapi/", {"validate"}},
      {"cblas.h", {"validate"}},
      {"cuda_runtime_api.h", {"validate"}},
      {"cublasLt.h", {"validate"}},
      {"nccl.h", {"validate"}},
      {"dlfcn.h", {"validate"}},
      {"sched.h", {"validate"}},
      {"arpa/", {"validate"}},
      {"netinet/", {"validate"}},
      {"netdb.h", {"validate"}},
      {"linux/", {"validate"}},
      {"stdlib.h", {"validate"}},
      {"xmmintrin.h", {"validate"}},
      {"rapidjson/", {"validate"}},
      {"sqlite3.h", {"validate"}},
      {"CLI/", {"cli"}},
      {"spdlog/", {"cli"}},
      {"boost/", {"graph", "lowering", "deployment", "symmetry", "replay", "metrics", "topologies"}},
      {"sys/", {"replay", "sweep", "cli", "validate"}},
      {"sys/mman.h", {"fabric"}},  // large pages
      {"unistd.h", {"replay", "sweep", "cli", "validate"}},
      {"fcntl.h", {"replay", "sweep", "cli", "validate"}},
      {"signal.h", {"replay", "sweep", "cli", "validate"}},
      {"malloc.h", {"cli"}},
      {"poll.h", {"replay", "sweep", "cli", "validate"}},
  };
  return table;
}

Rooms reachable(const std::string& room) {
  Rooms result = {room};
  std::vector<std::string> open = {room};
  while (!open.empty()) {
    const std::string current = open.back();
    open.pop_back();
    for (const std::string& next : allowed().at(current)) {
      if (result.insert(next).second) {
        open.push_back(next);
      }
    }
  }
  return result;
}

std::string room_of_include(const std::string& target) {
  const std::size_t first = target.find('/');
  if (target.rfind("sim/", 0) == 0) {
    return target.substr(4, target.find('/', 4) - 4);
  }
  return target.substr(0, first);
}

bool is_standard_header(const std::string& target) {
  return target.find_first_of("./") == std::string::npos;
}

bool may_include(const std::string& room, const std::string& third_party) {
  const bool vocabulary = third_party.rfind("fmt/", 0) == 0 || third_party == "tl/expected.hpp";
  if (vocabulary || is_standard_header(third_party)) {
    return true;
  }
  return std::any_of(allowed_third_party().begin(), allowed_third_party().end(), [&](const auto& entry) {
    return third_party.rfind(entry.first, 0) == 0 && entry.second.contains(room);
  });
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Layers, TheTableHasNoCycle) {
  for (const auto& [room, uses] : allowed()) {
    for (const std::string& used : uses) {
      EXPECT_FALSE(reachable(used).contains(room)) << room << " and " << used << " use each other";
    }
  }
}

TEST(Layers, EveryFolderStandsInTheTable) {
  for (const Source& source : read_sources({"sim", "schedules", "topologies", "validate"})) {
    EXPECT_TRUE(allowed().contains(source.room)) << source.path;
  }
}

TEST(Layers, FilesIncludeOnlyRoomsBelowTheirOwn) {
  for (const Source& source : read_sources({"sim", "schedules", "topologies", "validate"})) {
    const Rooms below = reachable(source.room);
    for (const Include& include : includes_of(source)) {
      if (!include.quoted || include.target.ends_with(".pb.h")) {
        continue;
      }
      EXPECT_TRUE(below.contains(room_of_include(include.target)))
          << place(source, static_cast<std::size_t>(include.line)) << " includes " << include.target << ", but "
          << source.room << " may use only " << fmt::format("{}", fmt::join(below, ", "));
    }
  }
}

TEST(Layers, ThirdPartyHeadersStayInTheirRooms) {
  for (const Source& source : read_sources({"sim", "schedules", "topologies", "validate"})) {
    for (const Include& include : includes_of(source)) {
      const bool generated = include.target.ends_with(".pb.h") &&
                             (source.room == "report" || source.room == "chakra" || source.room == "validate");
      EXPECT_TRUE(generated || (include.quoted && !include.target.ends_with(".pb.h")) ||
                  may_include(source.room, include.target))
          << place(source, static_cast<std::size_t>(include.line)) << ": " << source.room << " may not include "
          << include.target;
    }
  }
}

TEST(Layers, AForbiddenEdgeIsSeen) {
  EXPECT_FALSE(may_include("metrics", "simgrid/s4u.hpp"));
  EXPECT_FALSE(may_include("report", "yaml-cpp/yaml.h"));
  EXPECT_FALSE(may_include("model", "spdlog/spdlog.h"));
  EXPECT_FALSE(reachable("units").contains("error"));
  EXPECT_FALSE(reachable("report").contains("replay"));
  EXPECT_FALSE(reachable("schedules").contains("graph"));
}

TEST(Layers, BuildFilesStateTheSameEdges) {
  const std::regex call(R"(lamina_library\((\w+)([^)]*)\))");
  const std::regex edge(R"(lamina::(\w+))");
  for (const auto& [room, uses] : allowed()) {
    const bool top = room == "schedules" || room == "topologies" || room == "validate";
    const std::string text = read_text(tests::source_folder() / (top ? "" : "sim") / room / "CMakeLists.txt");
    std::smatch found;
    if (!std::regex_search(text, found, call)) {
      EXPECT_EQ(room, "cli") << "sim/" << room << " has no lamina_library";
      continue;
    }
    const std::string arguments = found[2];
    for (auto it = std::sregex_iterator(arguments.begin(), arguments.end(), edge); it != std::sregex_iterator(); ++it) {
      EXPECT_TRUE(uses.contains((*it)[1])) << room << " links " << (*it)[1] << ", which the table does not allow";
    }
  }
}

}  // namespace
}  // namespace lamina::architecture
