#include "sim/curves/picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "sim/draw/layout.hpp"
#include "sim/draw/palette.hpp"
#include "sim/draw/svg_text.hpp"

namespace lamina::curves {
namespace {

using draw::Anchor;
using draw::decimal;
using draw::text_element;

constexpr std::array<const char*, kMostGroups> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                           "#e69f00", "#56b4e9", "#000000", "#8c8c00"};
constexpr std::array<const char*, kMostColumns> kDashes = {"", " stroke-dasharray=\"6 4\"",
                                                           " stroke-dasharray=\"1.5 3\""};
constexpr double kMark = 3.2;  ///< half a mark's size
constexpr double kLegendSample = 34;

/// Values to pixels.
struct Scale {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  double from = 0;  ///< pixels
  double to = 1;

  [[nodiscard]] double at(double value) const {
    const double part = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return from + part * (to - from);
  }

  /// Round values: 1, 2 and 5 times powers of ten; of a long logarithmic axis the powers only.
  [[nodiscard]] std::vector<double> ticks() const {
    std::vector<double> result;
    if (logarithmic) {
      constexpr double kLong = 1000;
      for (double power = std::pow(10, std::floor(std::log10(low))); power <= high * 1.001; power *= 10) {
        for (const double factor : {1.0, 2.0, 5.0}) {
          const double value = factor * power;
          if (value >= low * 0.999 && value <= high * 1.001 && (factor == 1 || high / low < kLong)) {
            result.push_back(value);
          }
        }
      }
      return result;
    }
    constexpr double kMost = 7;
    const double least = (high - low) / kMost;
    const double power = std::pow(10, std::floor(std::log10(least)));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0}) {
      step = factor * power >= least * (1 - 1e-9) ? factor * power : step;
    }
    for (double index = std::ceil(low / step - 1e-9); index * step <= high + 1e-9 * step; ++index) {
      result.push_back(index * step);
    }
    return result;
  }
};

template <class Member>
Scale scale_of(const Table& table, Member member, bool values) {
  constexpr double kWide = 5;
  Scale scale;
  scale.low = std::numeric_limits<double>::infinity();
  scale.high = -scale.low;
  for (const Column& column : table.columns) {
    for (const Curve& curve : column.curves) {
      for (const Point& point : curve) {
        scale.low = std::min(scale.low, point.*member);
        scale.high = std::max(scale.high, point.*member);
      }
    }
  }
  scale.logarithmic = scale.low > 0 && scale.high / scale.low >= kWide;
  if (!scale.logarithmic && values) {
    scale.low = std::min(scale.low, 0.0);
    scale.high = std::max(scale.high, 0.0);
  }
  if (!(scale.high > scale.low)) {
    scale.low -= 1;
    scale.high += 1;
  }
  return scale;
}

class Painter {
 public:
  Painter(const Table& table, const PictureOptions& options) : table_(table), options_(options) {
    constexpr double kWidth = 760;
    constexpr double kHeight = 0.5;  // of the width
    width_ = options.width > 0 ? options.width : kWidth;
    x_ = scale_of(table, &Point::x, false);
    y_ = scale_of(table, &Point::y, true);
    top_ = draw::kMargin + (options.title.empty() ? 0 : draw::kTitleSize * draw::kLineHeight) +
           draw::kTextSize * draw::kLineHeight;
    const double bottom = top_ + width_ * kHeight;
    x_.from = draw::kMargin + label_width() + 8;
    x_.to = width_ - draw::kMargin - 20;
    y_.from = bottom;
    y_.to = top_;
  }

  std::string paint() {
    if (!options_.title.empty()) {
      out_ += text_element(draw::kMargin, draw::kMargin + draw::kTitleSize * 0.85,
                           draw::fitted(options_.title, draw::kTitleSize * 1.12, width_ - 2 * draw::kMargin),
                           {draw::kTitleSize, draw::kInk, Anchor::kStart, true});
    }
    axes();
    for (std::size_t column = 0; column < table_.columns.size(); ++column) {
      for (std::size_t group = 0; group < table_.groups.size(); ++group) {
        curve(column, group);
      }
    }
    const double height = legend();
    return draw::document(width_, std::ceil(height), options_.title, out_);
  }

 private:
  [[nodiscard]] std::string y_label(double value) const {
    return value == 0 ? "0" : quantity(value, unit_of_column(table_.columns.front().name));
  }

  [[nodiscard]] double label_width() const {
    double most = 0;
    for (const double value : y_.ticks()) {
      most = std::max(most, draw::text_width(y_label(value), draw::kTextSize));
    }
    return most;
  }

  void axes() {
    std::string grid;
    for (const double value : y_.ticks()) {
      const double y = y_.at(value);
      fmt::format_to(std::back_inserter(grid), "M{} {}H{}", decimal(x_.from), decimal(y), decimal(x_.to));
      out_ += text_element(x_.from - 6, draw::baseline(y, draw::kTextSize), y_label(value),
                           {draw::kTextSize, draw::kFaint, Anchor::kEnd});
    }
    double free_from = 0;
    for (const double value : x_.ticks()) {
      const double x = x_.at(value);
      fmt::format_to(std::back_inserter(grid), "M{} {}V{}", decimal(x), decimal(y_.from), decimal(y_.to));
      const std::string label = value == 0 ? "0" : quantity(value, table_.x_unit);
      const double half = draw::text_width(label, draw::kTextSize) / 2;
      if (x - half > free_from) {
        out_ += text_element(x, y_.from + 5 + draw::kTextSize, label, {draw::kTextSize, draw::kFaint, Anchor::kMiddle});
        free_from = x + half + 4;
      }
    }
    out_ += fmt::format("<path d=\"{}\" stroke=\"#e3e3e3\" stroke-width=\"1\" fill=\"none\"/>\n", grid);
    out_ += fmt::format("<path d=\"M{} {}V{}H{}\" stroke=\"#a0a0a0\" stroke-width=\"1\" fill=\"none\"/>\n",
                        decimal(x_.from), decimal(y_.to), decimal(y_.from), decimal(x_.to));
    out_ += text_element(x_.to, y_.from + 10 + 2.2 * draw::kTextSize, table_.x_name,
                         {draw::kTextSize, draw::kFaint, Anchor::kEnd});
  }

  void mark(double x, double y, std::size_t column, const char* colour, const std::string& tip) {
    const std::string title = tip.empty() ? "" : fmt::format("<title>{}</title>", draw::escaped(tip));
    if (column < 2) {
      out_ += fmt::format(
          "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"1.3\">{}</circle>\n",
          decimal(x), decimal(y), kMark, column == 0 ? colour : draw::kPaper, colour, title);
    } else {
      out_ += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"{}\" "
          "stroke-width=\"1.3\">{}</rect>\n",
          decimal(x - kMark), decimal(y - kMark), 2 * kMark, 2 * kMark, draw::kPaper, colour, title);
    }
  }

  void line(const std::string& path, std::size_t column, const char* colour) {
    out_ += fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"1.8\" fill=\"none\"{}/>\n", path, colour,
                        kDashes[column]);
  }

  void curve(std::size_t column, std::size_t group) {
    const Curve& points = table_.columns[column].curves[group];
    std::string path;
    for (const Point& point : points) {
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", decimal(x_.at(point.x)), decimal(y_.at(point.y)));
    }
    if (points.empty()) {
      return;
    }
    line(path, column, kColours[group]);
    const std::string& name = table_.columns[column].name;
    for (const Point& point : points) {
      mark(x_.at(point.x), y_.at(point.y), column, kColours[group],
           fmt::format("{}{}{} {} at {}", table_.groups[group], table_.groups[group].empty() ? "" : ": ", name,
                       quantity(point.y, unit_of_column(name)), quantity(point.x, table_.x_unit)));
    }
  }

  /// One entry of the legend; wraps at the right edge.
  void entry(double& x, double& y, std::size_t column, const char* colour, const std::string& text) {
    const double size = draw::kTextSize;
    const double needed = kLegendSample + 6 + draw::text_width(text, size) + 16;
    if (x > draw::kMargin && x + needed > width_ - draw::kMargin) {
      x = draw::kMargin;
      y += size * 1.7;
    }
    line(fmt::format("M{} {}h{}", decimal(x), decimal(y), kLegendSample), column, colour);
    mark(x + kLegendSample / 2, y, column, colour, "");
    const double room = width_ - draw::kMargin - x - kLegendSample - 6;
    out_ += text_element(x + kLegendSample + 6, draw::baseline(y, size), draw::fitted(text, size, room),
                         {size, draw::kInk});
    x += needed;
  }

  /// @return where the picture ends
  double legend() {
    double x = draw::kMargin;
    double y = y_.from + 10 + 4 * draw::kTextSize;
    for (std::size_t group = 0; group < table_.groups.size(); ++group) {
      if (!table_.groups[group].empty()) {
        entry(x, y, 0, kColours[group], table_.groups[group]);
      }
    }
    if (x > draw::kMargin) {
      x = draw::kMargin;
      y += draw::kTextSize * 1.7;
    }
    for (std::size_t column = 0; column < table_.columns.size(); ++column) {
      entry(x, y, column, draw::kInk, table_.columns[column].name);
    }
    return y + draw::kMargin;
  }

  const Table& table_;
  const PictureOptions& options_;
  double width_ = 0;
  double top_ = 0;
  Scale x_;
  Scale y_;
  std::string out_;
};

}  // namespace

std::string to_svg(const Table& table, const PictureOptions& options) {
  return Painter(table, options).paint();
}

}  // namespace lamina::curves
