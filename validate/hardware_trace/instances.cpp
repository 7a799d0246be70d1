#include "validate/hardware_trace/instances.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace lamina::validate::hardware_trace {
namespace {

bool is_message(CollectiveName name) {
  return name == CollectiveName::kSend || name == CollectiveName::kReceive;
}

/// Collectives of one kind in one group: of each rank its events in order.
struct Meeting {
  std::int32_t group_size = 0;
  bool numbered = true;
  std::map<std::uint32_t, std::vector<std::uint32_t>> events;  ///< by trace
};

struct Sorted {
  std::map<std::pair<std::string, std::string>, Meeting> meetings;                     ///< by group and kind
  std::map<std::tuple<std::int32_t, std::int32_t, bool>, std::vector<Part>> messages;  ///< from, to, receives
  std::int64_t parts = 0;
};

const Communication& detail_of(const RankTrace& trace, const Event& event) {
  return trace.communications.at(static_cast<std::size_t>(event.detail));
}

Sorted sort_events(const std::vector<RankTrace>& traces) {
  Sorted result;
  for (std::uint32_t t = 0; t < traces.size(); ++t) {
    const RankTrace& trace = traces[t];
    if (trace.format == Format::kTimeline) {
      continue;  // one clock already, and names say no members
    }
    for (std::uint32_t i = 0; i < trace.events.size(); ++i) {
      const Event& event = trace.events[i];
      if (event.kind != EventClass::kCommunication || event.detail < 0) {
        continue;
      }
      ++result.parts;
      const Communication& detail = detail_of(trace, event);
      if (is_message(detail.name)) {
        const bool receives = detail.name == CollectiveName::kReceive;
        if (trace.rank >= 0 && detail.peer >= 0) {
          result.messages[{receives ? detail.peer : trace.rank, receives ? trace.rank : detail.peer, receives}]
              .push_back({t, i});
        }
        continue;
      }
      Meeting& meeting =
          result.meetings[{std::string(trace.name_of(detail.group)), std::string(word_for(detail.name))}];
      meeting.group_size = std::max(meeting.group_size, detail.group_size);
      meeting.numbered = meeting.numbered && detail.sequence >= 0;
      meeting.events[t].push_back(i);
    }
  }
  return result;
}

void pair_messages(const Sorted& sorted, Matched& into) {
  for (const auto& [key, sends] : sorted.messages) {
    const auto& [from, to, receives] = key;
    const auto other = sorted.messages.find({from, to, true});
    if (receives || other == sorted.messages.end()) {
      continue;
    }
    if (sends.size() != other->second.size()) {
      into.uneven.push_back(fmt::format("messages from rank {} to {}: {} sent, {} received", from, to, sends.size(),
                                        other->second.size()));
      continue;
    }
    for (std::size_t k = 0; k < sends.size(); ++k) {
      into.instances.push_back(
          {"message", fmt::format("{} to {}", from, to), true, true, {sends[k], other->second[k]}});
    }
  }
}

/// By sequence number; of equal numbers (a sequence that starts anew) the first each.
void pair_numbered(const std::vector<RankTrace>& traces, const std::pair<std::string, std::string>& key,
                   const Meeting& meeting, Matched& into) {
  std::map<std::int64_t, std::vector<Part>> by_number;
  for (const auto& [t, events] : meeting.events) {
    std::set<std::int64_t> seen;
    for (const std::uint32_t i : events) {
      const std::int64_t number = detail_of(traces[t], traces[t].events[i]).sequence;
      if (seen.insert(number).second) {
        by_number[number].push_back({t, i});
      }
    }
  }
  for (auto& [number, parts] : by_number) {
    if (parts.size() > 1) {
      const bool complete = meeting.group_size > 0 && std::cmp_equal(parts.size(), meeting.group_size);
      into.instances.push_back({key.second, key.first, false, complete, std::move(parts)});
    }
  }
}

void pair_in_order(const std::pair<std::string, std::string>& key, const Meeting& meeting, std::size_t ranks,
                   Matched& into) {
  const std::size_t count = meeting.events.begin()->second.size();
  const bool even = std::all_of(meeting.events.begin(), meeting.events.end(),
                                [&](const auto& entry) { return entry.second.size() == count; });
  if (!even) {
    into.uneven.push_back(fmt::format("{}{}{}", key.second, key.first.empty() ? "" : " of group ", key.first));
    return;
  }
  const std::size_t size = meeting.group_size > 0 ? static_cast<std::size_t>(meeting.group_size) : ranks;
  for (std::size_t k = 0; k < count; ++k) {
    Instance instance{key.second, key.first, false, meeting.events.size() == size, {}};
    for (const auto& [t, events] : meeting.events) {
      instance.parts.push_back({t, events[k]});
    }
    into.instances.push_back(std::move(instance));
  }
}

}  // namespace

Matched match_instances(const std::vector<RankTrace>& traces) {
  Matched result;
  const Sorted sorted = sort_events(traces);
  std::int32_t world = 0;
  for (const RankTrace& trace : traces) {
    world = std::max(world, trace.world_size);
  }
  for (const auto& [key, meeting] : sorted.meetings) {
    if (meeting.events.size() < 2) {
      continue;
    }
    if (meeting.numbered) {
      pair_numbered(traces, key, meeting, result);
    } else {
      pair_in_order(key, meeting, world > 0 ? static_cast<std::size_t>(world) : traces.size(), result);
    }
  }
  pair_messages(sorted, result);
  result.alone = sorted.parts;
  for (const Instance& instance : result.instances) {
    result.alone -= static_cast<std::int64_t>(instance.parts.size());
  }
  return result;
}

}  // namespace lamina::validate::hardware_trace
