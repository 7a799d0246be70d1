#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/report/action_name.hpp"
#include "sim/report/names.hpp"
#include "validate/hardware_trace/byte_source.hpp"
#include "validate/hardware_trace/matching.hpp"

/// Timelines of Lamina against a graph.
namespace lamina::validate::hardware_trace {
namespace {

constexpr double kNanoseconds = 1e9;

/// What a process of a timeline says that it is: "pipeline rank 2 (data 1, tensor 0)", "pipeline rank 2 (8 devices)".
struct Title {
  int program = -1;
  int data = -1;
  int tensor = -1;
};

int number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  int value = -1;
  if (at != std::string_view::npos) {
    const std::string_view rest = text.substr(at + word.size());
    (void)std::from_chars(rest.data(), rest.data() + rest.size(), value);
  }
  return value;
}

Title title_of(const RankTrace& trace) {
  return {number_after(trace.title, "pipeline rank "), number_after(trace.title, "data "),
          number_after(trace.title, "tensor ")};
}

/// Events of a trace by stream, in order.
std::vector<std::vector<const Event*>> by_stream(const RankTrace& trace) {
  std::vector<std::vector<const Event*>> result(trace.streams.size());
  for (const Event& event : trace.events) {
    result.at(static_cast<std::size_t>(event.stream)).push_back(&event);
  }
  return result;
}

bool same_operation(const RankTrace& trace, const Event& event, const graph::Operation& operation,
                    const graph::Program& program) {
  const Operation& seen = trace.operations.at(static_cast<std::size_t>(event.action));
  const double bytes = operation.bytes > 0 ? operation.bytes : 0;
  return trace.name_of(event.name) == report::action_name(operation, program) && seen.layer == operation.layer &&
         trace.name_of(seen.phase) == report::word_for(operation.phase) && seen.bytes == bytes;
}

std::string describe(const RankTrace& trace, const Event& event) {
  const Operation& seen = trace.operations.at(static_cast<std::size_t>(event.action));
  return seen.layer == -2 ? std::string(trace.name_of(event.name))
                          : fmt::format("{} of layer {}", trace.name_of(event.name), seen.layer);
}

/// Fills the spans of one deployment rank.
void match_rank(const Model& model, const RankTrace& trace, std::size_t rank, Matching& into) {
  const graph::Program& program = model.program_of(rank);
  const int number = model.deployment.ranks[rank].program;
  const auto streams = by_stream(trace);
  std::vector<std::size_t> next(program.streams.size(), 0);
  std::vector<int> track(program.streams.size(), -1);
  for (std::size_t s = 0; s < program.streams.size(); ++s) {
    const auto found = std::find(trace.streams.begin(), trace.streams.end(), program.streams[s].name);
    if (found != trace.streams.end()) {
      track[s] = static_cast<int>(found - trace.streams.begin());
    }
  }
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const graph::Operation& operation = program.operations[i];
    const std::size_t stream = operation.stream;
    const std::size_t position = next[stream]++;
    if (track[stream] < 0 || position >= streams[static_cast<std::size_t>(track[stream])].size()) {
      into.differ(fmt::format("rank {}: the trace has no {}", number, graph::describe(operation, program)));
      continue;
    }
    const Event& event = *streams[static_cast<std::size_t>(track[stream])][position];
    if (!same_operation(trace, event, operation, program)) {
      into.differ(fmt::format("rank {}, {}: the trace has {} where the graph has {}", number,
                              program.streams[stream].name, describe(trace, event),
                              graph::describe(operation, program)));
      continue;
    }
    into.spans[rank][i] = {static_cast<double>(event.start_ns) / kNanoseconds,
                           static_cast<double>(event.end_ns()) / kNanoseconds};
  }
  std::map<int, std::size_t> expected;
  for (std::size_t s = 0; s < program.streams.size(); ++s) {
    expected[track[s]] = next[s];
  }
  for (std::size_t t = 0; t < streams.size(); ++t) {
    const auto found = expected.find(static_cast<int>(t));
    const std::size_t known = found == expected.end() ? 0 : found->second;
    for (std::size_t k = known; k < streams[t].size(); ++k) {
      into.differ(
          fmt::format("rank {}: the graph has no {} on {}", number, describe(trace, *streams[t][k]), trace.streams[t]));
    }
  }
}

/// How far dates of two matched ranks are apart at most; large where operations are missing.
double distance(const Model& model, const Matching& matching, std::size_t rank) {
  double most = 0;
  for (std::size_t i = 0; i < matching.spans[rank].size(); ++i) {
    const timeline::Span& seen = matching.spans[rank][i];
    const timeline::Span& expected = model.predicted.spans[rank][i];
    const double apart = std::max(std::abs(seen.start - expected.start), std::abs(seen.end - expected.end));
    most = std::max(most, std::isfinite(seen.start) ? apart : 1e9);
  }
  return most;
}

}  // namespace

Matching empty_matching(const Model& model) {
  Matching result;
  result.trace_of_rank.assign(model.deployment.ranks.size(), -1);
  for (std::size_t rank = 0; rank < model.deployment.ranks.size(); ++rank) {
    result.spans.emplace_back(model.program_of(rank).operations.size(), kNoSpan);
  }
  return result;
}

Matching match_timelines(const Model& model, const std::vector<RankTrace>& traces) {
  Matching result = empty_matching(model);
  std::vector<Title> titles;
  bool some = false;
  for (const RankTrace& trace : traces) {
    titles.push_back(title_of(trace));
    some = some || (titles.back().program >= 0 && std::cmp_less(titles.back().program, model.graph.programs.size()));
  }
  if (!some) {
    refuse(traces.front().file, "No process of this timeline is a pipeline rank of the scenario.", traces.front().title,
           fmt::format("pipeline ranks 0 to {}", model.graph.programs.size() - 1));
  }
  std::vector<char> used(traces.size(), 0);
  for (std::size_t rank = 0; rank < model.deployment.ranks.size(); ++rank) {
    const deployment::Rank& place = model.deployment.ranks[rank];
    double least = 0;
    Matching best;
    for (std::size_t t = 0; t < traces.size(); ++t) {
      const Title& title = titles[t];
      const bool excluded =
          title.data >= 0 && place.multiplicity == 1 && (title.data != place.data || title.tensor != place.tensor);
      if (title.program != place.program || excluded) {
        continue;
      }
      Matching attempt;
      attempt.spans.resize(rank + 1);
      attempt.spans[rank].assign(result.spans[rank].size(), kNoSpan);
      match_rank(model, traces[t], rank, attempt);
      const bool named = title.data >= 0 && place.multiplicity == 1;  // it says that it is this very rank
      const double apart = named ? -1 : distance(model, attempt, rank);
      if (result.trace_of_rank[rank] < 0 || apart < least) {
        result.trace_of_rank[rank] = static_cast<int>(t);
        least = apart;
        best = std::move(attempt);
      }
    }
    if (result.trace_of_rank[rank] < 0) {
      result.differ(fmt::format("the timeline has no pipeline rank {}", place.program));
      continue;
    }
    used[static_cast<std::size_t>(result.trace_of_rank[rank])] = 1;
    result.spans[rank] = std::move(best.spans[rank]);
    result.different += best.different - static_cast<std::int64_t>(best.differences.size());
    for (std::string& text : best.differences) {
      result.differ(std::move(text));
    }
  }
  for (std::size_t t = 0; t < traces.size(); ++t) {
    if (used[t] == 0) {
      result.differ(fmt::format("the scenario has nothing like {}", traces[t].title));
    }
  }
  return result;
}

}  // namespace lamina::validate::hardware_trace
