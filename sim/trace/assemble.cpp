#include "sim/trace/assemble.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/report/text.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/trace/replica.hpp"

namespace lamina::trace {
namespace {

using StepEvents = std::map<int, std::map<int, RankEvents>>;  ///< [replica][pipeline rank]

void check(const std::string& file, const char* what, int stated, int found) {
  if (stated != 0 && stated != found) {
    scenario::fail({file, 0, 0}, "",
                   {.problem = fmt::format("The trace has {} {}, its metadata say {}.", found, what, stated),
                    .allowed = "a trace of every pipeline rank, and the metadata of the same job"});
  }
}

/// Adds the replica to the step, or to the skipped ones.
void add_replica(Job& job, MeasuredStep& step, int replica, StepEvents& events) {
  const auto found = events.find(replica);
  if (found == events.end()) {
    job.skipped.push_back({step.step, replica, "no events"});
    return;
  }
  std::vector<RankEvents> ranks(static_cast<std::size_t>(job.pipeline_ranks));
  for (auto& [rank, kinds] : found->second) {
    ranks[static_cast<std::size_t>(rank)] = std::move(kinds);
  }
  auto assembled = assemble_replica(std::move(ranks), job.chunks);
  if (!assembled) {
    job.skipped.push_back({step.step, replica, std::move(assembled.error())});
    return;
  }
  assembled->replica = replica;
  step.replicas.push_back(std::move(*assembled));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

Job assemble(const std::vector<Event>& events, const std::string& file, const Layout& stated) {
  Job job;
  job.file = file;
  std::set<int> replicas;
  std::map<std::int64_t, StepEvents> steps;
  for (const Event& event : events) {
    job.pipeline_ranks = std::max(job.pipeline_ranks, event.rank + 1);
    job.chunks = std::max(job.chunks, event.chunk + 1);
    replicas.insert(event.replica);
    steps[event.step][event.replica][event.rank][static_cast<std::size_t>(event.kind)].push_back(event);
  }
  check(file, "pipeline ranks", stated.pipeline_ranks, job.pipeline_ranks);
  check(file, "model chunks per pipeline rank", stated.chunks, job.chunks);
  for (int replica = 0; replica < stated.replicas; ++replica) {
    replicas.insert(replica);
  }
  if (stated.replicas != 0) {
    check(file, "data-parallel ranks", stated.replicas, static_cast<int>(replicas.size()));
  }
  job.replicas = static_cast<int>(replicas.size());
  for (auto& [number, of_step] : steps) {
    MeasuredStep step{.step = number, .replicas = {}};
    for (const int replica : replicas) {
      add_replica(job, step, replica, of_step);
    }
    if (!step.replicas.empty()) {
      job.steps.push_back(std::move(step));
    }
  }
  return job;
}

Layout read_layout(const std::string& text, const std::string& file) {
  Layout layout;
  const std::map<std::string_view, int Layout::*> keys = {
      {"pp_size", &Layout::pipeline_ranks}, {"dp_size", &Layout::replicas}, {"vpp_size", &Layout::chunks}};
  std::string_view rest = text;
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view content = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t colon = content.find(':');
    const auto key = keys.find(trimmed(content.substr(0, colon)));
    if (colon == std::string_view::npos || key == keys.end()) {
      continue;
    }
    const std::string_view value = trimmed(content.substr(colon + 1));
    int number = 0;
    const auto [stop, status] = std::from_chars(value.data(), value.data() + value.size(), number);
    constexpr int kMost = 65536;
    if (status != std::errc() || stop != value.data() + value.size() || number < 1 || number > kMost) {
      scenario::fail({file, line, static_cast<int>(colon) + 2}, std::string(key->first),
                     {.problem = "This is not a number of ranks.",
                      .read = fmt::format("\"{}\"", report::truncate(report::printable(value), 60)),
                      .allowed = fmt::format("a whole number from 1 to {}", kMost)});
    }
    layout.*(key->second) = number;
  }
  if (layout.pipeline_ranks == 0) {
    scenario::fail({file, 0, 0}, "pp_size", {.problem = "The metadata have no such key.", .allowed = "pp_size: N"});
  }
  return layout;
}

}  // namespace lamina::trace
