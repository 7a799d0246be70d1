#include "sim/curves/crossings.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "sim/report/format.hpp"

namespace lamina::curves {
namespace {

bool positive(const Curve& curve) {
  return std::all_of(curve.begin(), curve.end(), [](const Point& point) { return point.x > 0 && point.y > 0; });
}

/// Where a value that goes from `before` at `left` to `after` at `right` is 0.
double zero_between(double left, double right, double before, double after, bool logarithmic) {
  const double part = before / (before - after);
  return logarithmic ? left * std::pow(right / left, part) : left + (right - left) * part;
}

struct Difference {
  double x = 0;
  double value = 0;
  bool counts = false;  ///< the curves are far enough apart
};

std::vector<Difference> differences(const Curve& first, const Curve& second, bool logarithmic, double apart) {
  std::vector<Difference> result;
  auto other = second.begin();
  for (const Point& point : first) {
    while (other != second.end() && other->x < point.x) {
      ++other;
    }
    if (other != second.end() && other->x == point.x) {
      const double value = logarithmic ? std::log(point.y / other->y) : point.y - other->y;
      const double relative = std::abs(point.y - other->y) / std::min(std::abs(point.y), std::abs(other->y));
      result.push_back({point.x, value, value != 0 && !(relative < apart)});
    }
  }
  return result;
}

/// One line per column: the places, and how far they are from the first column's.
class PlaceLines {
 public:
  PlaceLines(const Table& table, std::string& out) : table_(table), out_(out) {
    for (const Column& column : table.columns) {
      width_ = std::max(width_, column.name.size());
    }
  }

  /// @param places [column]
  void write(const std::vector<std::vector<double>>& places, const std::string& none) {
    for (std::size_t column = 0; column < places.size(); ++column) {
      std::string line = places[column].empty() ? none : "";
      for (std::size_t i = 0; i < places[column].size(); ++i) {
        const double x = places[column][i];
        line += fmt::format("{}{}", i == 0 ? "" : ", ", quantity(x, table_.x_unit));
        if (column > 0 && places[column].size() == places.front().size()) {
          line += fmt::format(" ({})", report::percent(x / places.front()[i] - 1, true));
        }
      }
      out_ += fmt::format("    {:<{}}  {}\n", table_.columns[column].name, width_, line);
    }
  }

 private:
  const Table& table_;
  std::string& out_;
  std::size_t width_ = 0;
};

void write_crossings(const Table& table, double apart, PlaceLines& lines, std::string& out) {
  bool any = false;
  for (std::size_t first = 0; first < table.groups.size(); ++first) {
    for (std::size_t second = first + 1; second < table.groups.size(); ++second) {
      std::vector<std::vector<double>> places;
      for (const Column& column : table.columns) {
        places.push_back(crossings(column.curves[first], column.curves[second], apart));
      }
      if (std::all_of(places.begin(), places.end(), [](const auto& of_column) { return of_column.empty(); })) {
        continue;
      }
      out += any ? "" : "Curves that cross\n";
      any = true;
      out += fmt::format("  {} and {}\n", table.groups[first], table.groups[second]);
      lines.write(places, "do not cross");
    }
  }
  if (!any && table.groups.size() > 1) {
    out += "No two curves cross.\n";
  }
}

void write_settling(const Table& table, double more, PlaceLines& lines, std::string& out) {
  out += fmt::format("\nFrom where a curve stays within {} of its value at the largest {}\n", report::percent(more),
                     table.x_name);
  for (std::size_t group = 0; group < table.groups.size(); ++group) {
    std::vector<std::vector<double>> places;
    for (const Column& column : table.columns) {
      const auto place = settles_at(column.curves[group], more);
      places.push_back(place ? std::vector{*place} : std::vector<double>());
    }
    out += fmt::format("  {}\n", table.groups[group].empty() ? "all rows" : table.groups[group]);
    lines.write(places, "everywhere in the table");
  }
}

}  // namespace

std::vector<double> crossings(const Curve& first, const Curve& second, double apart) {
  const bool logarithmic = positive(first) && positive(second);
  const std::vector<Difference> all = differences(first, second, logarithmic, apart);
  std::vector<double> result;
  auto last = all.end();  // that counts
  for (auto here = all.begin(); here != all.end(); ++here) {
    if (!here->counts) {
      continue;
    }
    if (last != all.end() && (last->value < 0) != (here->value < 0)) {
      const bool was_lower = last->value < 0;
      const auto after =
          std::find_if(last, here, [&](const Difference& one) { return was_lower ? one.value >= 0 : one.value <= 0; });
      const auto before = std::prev(after);
      result.push_back(zero_between(before->x, after->x, before->value, after->value, logarithmic));
    }
    last = here;
  }
  return result;
}

std::optional<double> settles_at(const Curve& curve, double more) {
  if (curve.empty()) {
    return std::nullopt;
  }
  const bool logarithmic = positive(curve);
  const double bound = (1 + more) * curve.back().y;
  const auto above = std::find_if(curve.rbegin(), curve.rend(), [&](const Point& point) { return point.y > bound; });
  if (above == curve.rend() || above == curve.rbegin()) {  // the latter: negative values
    return std::nullopt;
  }
  const Point& here = *above;
  const Point& next = *std::prev(above);
  const auto excess = [&](double y) { return logarithmic ? std::log(y / bound) : y - bound; };
  return zero_between(here.x, next.x, excess(here.y), excess(next.y), logarithmic);
}

std::string findings(const Table& table, double apart, double more) {
  std::string out;
  PlaceLines lines(table, out);
  write_crossings(table, apart, lines, out);
  write_settling(table, more, lines, out);
  if (table.left_out > 0) {
    out += fmt::format("\n{} rows have no value and are left out.\n", table.left_out);
  }
  return out;
}

}  // namespace lamina::curves
