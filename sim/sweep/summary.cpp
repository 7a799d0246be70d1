#include "sim/sweep/summary.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/report/format.hpp"
#include "sim/report/text.hpp"
#include "sim/sweep/evaluate.hpp"
#include "sim/sweep/run.hpp"

namespace lamina::sweep {
namespace {

using Line = std::vector<std::string>;

std::size_t column(const char* name) {
  return figure_named(name).value_or(0);
}

/// "tensor_parallel" of "strategy.tensor_parallel", the whole key where two end alike.
std::vector<std::string> short_names(const std::vector<std::string>& keys) {
  std::map<std::string, int> count;
  for (const std::string& key : keys) {
    ++count[key.substr(key.rfind('.') + 1)];
  }
  std::vector<std::string> names;
  for (const std::string& key : keys) {
    const std::string last = key.substr(key.rfind('.') + 1);
    names.push_back(count[last] == 1 ? last : key);
  }
  return names;
}

std::string figure_text(const Figure& figure, double value) {
  return figure.name.ends_with("_bytes_per_s")                            ? report::byte_rate(value)
         : figure.name.ends_with("_bytes")                                ? report::binary_bytes(value)
         : figure.name.ends_with("_s") && !figure.name.ends_with("per_s") ? report::seconds(value)
         : figure.name.ends_with("utilisation") || figure.name.ends_with("fraction") || figure.name == "efficiency"
             ? report::percent(value)
             : report::three_digits(value);
}

std::string table(const std::vector<Line>& lines) {
  constexpr std::size_t kWidest = 30;
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::min(kWidest, std::max(widths[i], report::display_width(report::printable(line[i]))));
    }
  }
  std::string text;
  for (const Line& line : lines) {
    text += ' ';
    for (std::size_t i = 0; i < line.size(); ++i) {
      text += fmt::format(" {}", report::pad_left(report::printable(line[i]), widths[i]));
    }
    text += '\n';
  }
  return text;
}

std::string table_of(const Grid& grid, const std::vector<Row>& rows, const std::vector<std::int64_t>& points,
                     std::size_t sort_by) {
  Line head = {"point"};
  for (const std::string& name : short_names(grid.keys())) {
    head.push_back(name);
  }
  std::vector<std::size_t> shown = {column("step_time_s"), column("model_flop_utilisation"),
                                    column("bubble_makespan_fraction"), column("peak_memory_bytes")};
  for (const char* name : {"step", "MFU", "bubble", "memory"}) {
    head.emplace_back(name);
  }
  if (std::find(shown.begin(), shown.end(), sort_by) == shown.end()) {
    shown.push_back(sort_by);
    head.push_back(figures()[sort_by].name);
  }
  head.emplace_back("transport");
  std::vector<Line> lines = {head};
  for (const std::int64_t point : points) {
    const Row& row = rows[static_cast<std::size_t>(point)];
    Line line = {fmt::format("{}", point)};
    for (const std::string& text : grid.point(point).texts) {
      line.push_back(text.empty() ? "-" : text);
    }
    for (const std::size_t figure : shown) {
      line.push_back(figure_text(figures()[figure], row.values[figure]));
    }
    line.push_back(row.transport);
    lines.push_back(std::move(line));
  }
  return table(lines);
}

/// Digits out: reasons that differ in numbers only are one kind of reason.
std::string kind_of(const std::string& reason) {
  std::string kind;
  for (const char c : reason) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) {
      kind += c;
    } else if (kind.empty() || kind.back() != '#') {
      kind += '#';
    }
  }
  return kind;
}

std::string reasons_of(const std::vector<Row>& rows) {
  struct Reason {
    std::int64_t count = 0;
    std::string example;
  };

  std::map<std::pair<Status, std::string>, Reason> kinds;
  for (const Row& row : rows) {
    if (row.status != Status::kOk) {
      Reason& reason = kinds[{row.status, row.status == Status::kDoesNotFit ? "" : kind_of(row.reason)}];
      ++reason.count;
      reason.example = reason.example.empty() ? row.reason : reason.example;
    }
  }
  std::vector<std::pair<std::int64_t, std::string>> lines;
  for (const auto& [kind, reason] : kinds) {
    const std::string lead = fmt::format("{:>8} {}: ", reason.count, word_for(kind.first));
    const std::vector<std::string> wrapped = report::wrap(
        fmt::format("{}{}", report::printable(reason.example), reason.count > 1 ? " (for example)" : ""), 80);
    std::string text = lead;
    for (std::size_t i = 0; i < wrapped.size(); ++i) {
      text += fmt::format("{}{}\n", i == 0 ? "" : "           ", wrapped[i]);
    }
    lines.emplace_back(-reason.count, std::move(text));
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  constexpr std::size_t kMost = 12;
  for (std::size_t i = 0; i < std::min(kMost, lines.size()); ++i) {
    text += lines[i].second;
  }
  return lines.size() > kMost ? fmt::format("{}         and {} more kinds\n", text, lines.size() - kMost) : text;
}

/// Points that no other beats in both step time and memory, fastest first.
std::vector<std::int64_t> front_of(const std::vector<Row>& rows, const std::vector<std::int64_t>& by_time) {
  std::vector<std::int64_t> front;
  double least = std::numeric_limits<double>::infinity();
  for (const std::int64_t point : by_time) {
    const double memory = rows[static_cast<std::size_t>(point)].values[column("peak_memory_bytes")];
    if (memory < least) {
      least = memory;
      front.push_back(point);
    }
  }
  return front;
}

std::string counts_of(const std::vector<Row>& rows) {
  std::array<std::int64_t, kStatuses> counts{};
  for (const Row& row : rows) {
    ++counts[static_cast<std::size_t>(row.status)];
  }
  std::string text = fmt::format("{} point{}:", rows.size(), rows.size() == 1 ? "" : "s");
  const char* separator = " ";
  for (std::size_t status = 0; status < counts.size(); ++status) {
    if (counts[status] > 0) {
      text += fmt::format("{}{} {}", separator, counts[status], word_for(static_cast<Status>(status)));
      separator = ", ";
    }
  }
  return text + '\n';
}

/// A coarse time is a lower bound: where some rows were replayed with contention, only those are compared.
std::vector<std::int64_t> comparable(const std::vector<Row>& rows, std::size_t sort_by) {
  std::vector<std::int64_t> points = ranked(rows, sort_by);
  const auto is_replayed = [&](std::int64_t point) {
    return rows[static_cast<std::size_t>(point)].transport == word_for(scenario::Transport::kSimgrid);
  };
  if (std::any_of(points.begin(), points.end(), is_replayed)) {
    std::erase_if(points, [&](std::int64_t point) { return !is_replayed(point); });
  }
  return points;
}

}  // namespace

std::string to_console(const Grid& grid, const std::vector<Row>& rows, std::size_t sort_by, std::size_t most) {
  std::string text = counts_of(rows);
  const std::vector<std::int64_t> best = comparable(rows, sort_by);
  if (!best.empty()) {
    const std::vector<std::int64_t> shown(best.begin(),
                                          best.begin() + static_cast<std::ptrdiff_t>(std::min(most, best.size())));
    text += fmt::format("\nBest by {}\n{}", figures()[sort_by].name, table_of(grid, rows, shown, sort_by));
    std::vector<std::int64_t> front = front_of(rows, comparable(rows, column("step_time_s")));
    if (front.size() > 1) {
      front.resize(std::min(most, front.size()));
      text += fmt::format("\nLess memory only for more time\n{}", table_of(grid, rows, front, sort_by));
    }
  }
  if (const std::string reasons = reasons_of(rows); !reasons.empty()) {
    text += fmt::format("\nNot in the running\n{}", reasons);
  }
  return text;
}

}  // namespace lamina::sweep
