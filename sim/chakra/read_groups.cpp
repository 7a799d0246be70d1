#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/chakra/fault.hpp"
#include "sim/chakra/trace.hpp"
#include "sim/report/text.hpp"

namespace lamina::chakra {
namespace {

using Json = nlohmann::json;

constexpr const char* kAllowed = R"(a JSON mapping from names to lists of ranks, for example {"1": [0, 1]})";

/// Keys that stand twice would hide one another, and lists within lists have no meaning: both are found while parsing.
Json parse(const std::string& text, const std::string& file) {
  std::set<std::string> keys;
  std::string twice;
  const Json::parser_callback_t note = [&](int depth, Json::parse_event_t event, Json& value) {
    constexpr int kDeepest = 2;
    if (event == Json::parse_event_t::key && depth == 1 && !keys.insert(value.get<std::string>()).second) {
      twice = value.get<std::string>();
    }
    return depth <= kDeepest;
  };
  try {
    Json document = Json::parse(text, note);
    if (!twice.empty()) {
      refuse_file(file, fmt::format("Process group \"{}\" is there twice.", report::printable(twice)));
    }
    return document;
  } catch (const Json::exception& problem) {
    const auto* place = dynamic_cast<const Json::parse_error*>(&problem);
    refuse_file(file, text.empty() ? "The file of process groups is empty." : "The file of process groups is no JSON.",
                place != nullptr ? fmt::format("a fault at byte {}", place->byte) : "", kAllowed);
  }
}

std::vector<std::int32_t> members_of(const Json& list, const std::string& name, const std::string& file, int ranks) {
  const std::string words = fmt::format("Process group \"{}\"", report::truncate(report::printable(name), 40));
  if (!list.is_array() || list.empty()) {
    refuse_file(file, words + " is no list of ranks.", list.is_array() ? "an empty list" : list.type_name(), kAllowed);
  }
  std::vector<std::int32_t> members;
  members.reserve(list.size());
  for (const Json& entry : list) {
    if (!entry.is_number_integer() || entry < 0 || entry >= ranks) {
      refuse_file(file, words + " has a member that is no rank of this trace.",
                  entry.is_number() ? entry.dump() : std::string(entry.type_name()), fmt::format("0 to {}", ranks - 1));
    }
    members.push_back(entry.get<std::int32_t>());
  }
  std::sort(members.begin(), members.end());
  if (const auto same = std::adjacent_find(members.begin(), members.end()); same != members.end()) {
    refuse_file(file, fmt::format("{} has rank {} twice.", words, *same));
  }
  return members;
}

}  // namespace

Groups read_groups(const std::string& text, const std::string& file, int ranks) {
  const Json document = parse(text, file);
  if (!document.is_object()) {
    refuse_file(file, "The file of process groups is no mapping.", document.type_name(), kAllowed);
  }
  Groups groups = group_of_all(ranks);
  groups.file = file;
  groups.file_found = true;
  for (const auto& [name, list] : document.items()) {
    if (name.empty()) {
      refuse_file(file, "A process group has an empty name.", "", kAllowed);
    }
    groups.by_name.emplace(name, static_cast<std::int32_t>(groups.all.size()));
    groups.all.push_back({name, members_of(list, name, file, ranks)});
  }
  return groups;
}

}  // namespace lamina::chakra
