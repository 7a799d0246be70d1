#include "sim/comparison/verdict.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "sim/comparison/parts.hpp"
#include "sim/comparison/rank.hpp"
#include "sim/report/format.hpp"

namespace lamina::comparison {

using report::Entry;
using report::Ranking;

namespace {

constexpr double kWorthNaming = 0.25;  ///< of the gains, or of the difference
constexpr double kClose = 0.01;        ///< a runner-up this near is not the whole story
constexpr double kNotable = 1.1;       ///< ratio of memory or activations that is worth a word

std::string in_list(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    text += i == 0 ? "" : i + 1 == items.size() ? " and " : ", ";
    text += items[i];
  }
  return text;
}

/// "its bubble is 212 ms instead of 971 ms".
std::string phrase(const Difference& difference) {
  const std::string ours = report::seconds(difference.better_s);
  const std::string theirs = report::seconds(difference.other_s);
  const double gain = difference.gain_s();
  const std::string much =
      ours != theirs ? fmt::format("{} instead of {}", ours, theirs)
                     : fmt::format("{} {}", report::seconds(gain < 0 ? -gain : gain), gain < 0 ? "longer" : "less");
  const auto waits = [&much](const char* what) { return fmt::format("it waits {} for {}", much, what); };
  switch (difference.part) {
    case Part::kCompute:
      return fmt::format("its busiest rank computes {}", much);
    case Part::kBubble:
      return fmt::format("its bubble is {}", much);
    case Part::kPipeline:
      return waits("messages between stages");
    case Part::kReduce:
      return waits("the reduction of gradients");
    case Part::kRestore:
      return waits("gathered weights");
    case Part::kTensor:
      return waits("tensor-parallel exchanges");
    case Part::kOffload:
      return waits("copies from and to the host");
    case Part::kTail:
      break;
  }
  return fmt::format("the step goes on {} after its busiest rank is done", much);
}

/// The largest gain, what comes near it, and what is lost on the other side.
std::string because(const std::vector<Difference>& parts, double difference_s) {
  double gains = 0;
  for (const Difference& part : parts) {
    gains += std::max(0.0, part.gain_s());
  }
  std::vector<std::string> reasons;
  std::vector<std::string> losses;
  for (const Difference& part : parts) {
    if (reasons.empty() || part.gain_s() >= kWorthNaming * gains) {
      reasons.push_back(phrase(part));
    } else if (-part.gain_s() >= kWorthNaming * difference_s) {
      losses.push_back(phrase(part));
    }
  }
  return fmt::format("because {}{}{}", in_list(reasons), losses.empty() ? "" : ", although ", in_list(losses));
}

bool differs(double ours, double theirs) {
  return ours >= kNotable * theirs || theirs >= kNotable * ours;
}

/// ", with 2.00 times the activations and 28.1 GiB instead of 17.3 GiB of memory a device"; empty when neither differs
/// much.
std::string price(const Entry& better, const Entry& other) {
  const double ours = report::most_activations(better.report);
  const double theirs = report::most_activations(other.report);
  const double memory = better.report.memory.peak_bytes;
  const double their_memory = other.report.memory.peak_bytes;
  std::vector<std::string> words;
  if (ours > 0 && theirs > 0 && differs(ours, theirs)) {
    words.push_back(fmt::format("{} times the activations", report::three_digits(ours / theirs)));
  }
  const bool sized = memory > 0 || their_memory > 0;  // a model given by durations may have no sizes
  if (sized && (!words.empty() || differs(memory, their_memory))) {
    words.push_back(fmt::format("{} instead of {} of memory a device", report::binary_bytes(memory),
                                report::binary_bytes(their_memory)));
  }
  return words.empty() ? "" : fmt::format(", with {}", in_list(words));
}

/// "11.8 % faster than", or "2.30 times as fast as" from twice on.
std::string how_much_faster(double ahead) {
  return ahead < 1 ? fmt::format("{} faster than", report::percent(ahead))
                   : fmt::format("{} times as fast as", report::three_digits(1 + ahead));
}

/// What is left of the difference on an ideal network; empty when the network hardly matters or was not asked for.
std::string network_part(const Entry& better, const Entry& other, double scale, double difference_s) {
  if (better.need.kind == report::NeedKind::kNotAsked || other.need.kind == report::NeedKind::kNotAsked) {
    return "";
  }
  const double ideal = other.need.ideal_step_s * scale - better.need.ideal_step_s;
  if (1 - ideal / difference_s < kWorthNaming) {
    return "";
  }
  const double ahead = ideal / better.need.ideal_step_s;
  const std::string left = ahead >= 1
                               ? fmt::format("it would be only {} times as fast", report::three_digits(1 + ahead))
                           : ahead > kEqual  ? fmt::format("it would be only {} faster", report::percent(ahead))
                           : ahead < -kEqual ? fmt::format("{} would be faster", other.name)
                                             : std::string("both would be equal");
  return fmt::format("; on an ideal network {}", left);
}

/// "gpipe", or "gpipe and 2 equals": all entries that share its rank.
std::string with_equals(const Ranking& ranking, const Entry& entry) {
  const auto shares = [&](const Entry& candidate) { return candidate.rank == entry.rank; };
  const auto equals = std::count_if(ranking.entries.begin(), ranking.entries.end(), shares) - 1;
  return equals == 0 ? entry.name : fmt::format("{} and {} equal{}", entry.name, equals, equals == 1 ? "" : "s");
}

/// "11.8 % faster than one_forward_one_backward (6.43 s instead of 7.19 s) because ...".
std::string against(const Ranking& ranking, const Entry& better, const Entry& other, bool with_price) {
  const double scale = comparable_time(other, better, ranking.by) / other.report.step_s;
  const double difference = other.report.step_s * scale - better.report.step_s;
  std::string text = fmt::format("{} {} ({} instead of {}{}) {}", how_much_faster(difference / better.report.step_s),
                                 with_equals(ranking, other), report::seconds(better.report.step_s),
                                 report::seconds(other.report.step_s * scale),
                                 ranking.by == report::RankedBy::kStepTime ? "" : " for the same tokens per device",
                                 because(differences(better, other, scale), difference));
  if (with_price) {
    text += price(better, other) + network_part(better, other, scale, difference);
  }
  return text;
}

/// "X needs", "X and one other need": those of `equals` for which `figure` is as low as for the first.
template <class Figure>
std::string who_needs(const std::vector<const Entry*>& equals, Figure figure) {
  const double least = figure(*equals.front());
  const auto alike = std::count_if(equals.begin(), equals.end(),
                                   [&](const Entry* entry) { return figure(*entry) <= least * (1 + kEqual); });
  const std::string& name = equals.front()->name;
  return alike == 1   ? fmt::format("{} needs", name)
         : alike == 2 ? fmt::format("{} and one other need", name)
                      : fmt::format("{} and {} others need", name, alike - 1);
}

/// What distinguishes equals: the first stands before the others for its memory, or for the network that it needs.
std::string distinction(const std::vector<const Entry*>& equals) {
  const auto memory = [](const Entry& entry) { return entry.report.memory.peak_bytes; };
  const auto network = [](const Entry& entry) { return entry.need.bandwidth_bytes_per_s; };
  const Entry& first = *equals.front();
  const Entry& last = *equals.back();
  if (memory(last) > memory(first) * (1 + kEqual)) {
    return fmt::format("{} the least memory ({} a device, {} {})", who_needs(equals, memory),
                       report::binary_bytes(memory(first)), last.name, report::binary_bytes(memory(last)));
  }
  const auto found = [](const Entry* entry) { return entry->need.kind == report::NeedKind::kFound; };
  if (std::all_of(equals.begin(), equals.end(), found) && network(last) > network(first) * kNotable) {
    return fmt::format("{} the least network ({} a port, {} {})", who_needs(equals, network),
                       report::byte_rate(network(first)), last.name, report::byte_rate(network(last)));
  }
  return "memory and network do not distinguish them either";
}

std::string equal_winners(const std::vector<const Entry*>& equals) {
  constexpr std::size_t kMostNames = 4;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < equals.size() && i < kMostNames; ++i) {
    names.push_back(equals[i]->name);
  }
  if (equals.size() > kMostNames) {
    names.push_back(fmt::format("{} more", equals.size() - kMostNames));
  }
  return fmt::format("{} are equally fast ({}, within 0.1 %); {}", in_list(names),
                     report::seconds(equals.front()->report.step_s), distinction(equals));
}

/// Layouts that would beat the winner if they fitted.
std::string out_of_memory(const Ranking& ranking) {
  constexpr std::size_t kMostNames = 3;
  std::vector<std::string> names;
  std::size_t more = 0;
  double fastest = 0;
  for (const Entry& entry : ranking.entries) {
    if (!entry.report.fits && entry.behind < -kEqual) {
      fastest = std::min(fastest, entry.behind);
      if (names.size() < kMostNames) {
        names.push_back(entry.name);
      } else {
        ++more;
      }
    }
  }
  if (names.empty()) {
    return "";
  }
  const bool several = names.size() + more > 1;
  if (more > 0) {
    names.push_back(fmt::format("{} more", more));
  }
  return fmt::format(" {} would take {}{} less time, but {} not fit into memory.", in_list(names),
                     several ? "up to " : "", report::percent(-fastest), several ? "do" : "does");
}

std::string nothing_fits(const Ranking& ranking) {
  const auto nearest = std::min_element(
      ranking.entries.begin(), ranking.entries.end(),
      [](const Entry& a, const Entry& b) { return a.report.memory.peak_bytes < b.report.memory.peak_bytes; });
  return fmt::format("Nothing fits into memory: {} comes nearest with {} of {}.", nearest->name,
                     report::binary_bytes(nearest->report.memory.peak_bytes),
                     report::binary_bytes(nearest->report.memory_capacity_bytes));
}

/// Entries that fit, in order.
std::vector<const Entry*> contenders(const Ranking& ranking) {
  std::vector<const Entry*> result;
  for (const Entry& entry : ranking.entries) {
    if (entry.report.fits) {
      result.push_back(&entry);
    }
  }
  return result;
}

std::string only_one(const Ranking& ranking, const Entry& entry) {
  const bool alone = ranking.entries.size() == 1 && ranking.refusals.empty();
  return fmt::format("{} takes {} a step; {}", entry.name, report::seconds(entry.report.step_s),
                     alone                         ? "there is nothing to compare it with"
                     : ranking.entries.size() == 1 ? "nothing else can run"
                                                   : "nothing else fits into memory");
}

std::string best_of(const Ranking& ranking, const std::vector<const Entry*>& fitting) {
  const Entry& winner = *fitting.front();
  const auto not_equal =
      std::find_if(fitting.begin(), fitting.end(), [&](const Entry* entry) { return entry->rank != winner.rank; });
  const std::vector<const Entry*> equals(fitting.begin(), not_equal);
  std::string text = equals.size() > 1 ? equal_winners(equals) : "";
  if (not_equal == fitting.end()) {
    return text;
  }
  text += text.empty() ? fmt::format("{} is ", winner.name) : fmt::format("; {} is ", winner.name);
  text += against(ranking, winner, **not_equal, true);
  if ((*not_equal)->behind < kClose) {
    const auto further =
        std::find_if(not_equal, fitting.end(), [](const Entry* entry) { return entry->behind >= kClose; });
    if (further != fitting.end()) {
      text += fmt::format("; and it is {}", against(ranking, winner, **further, false));
    }
  }
  return text;
}

}  // namespace

std::string verdict(const Ranking& ranking) {
  if (ranking.entries.empty()) {
    return "";
  }
  const std::vector<const Entry*> fitting = contenders(ranking);
  if (fitting.empty()) {
    return nothing_fits(ranking);
  }
  const std::string text = fitting.size() == 1 ? only_one(ranking, *fitting.front()) : best_of(ranking, fitting);
  return fmt::format("{}.{}", text, out_of_memory(ranking));
}

}  // namespace lamina::comparison
