#include "sim/draw/layout.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/report/text.hpp"

namespace lamina::draw {
namespace {

constexpr double kComfortableNumber = 9;
constexpr double kNarrowest = 960;  // widths that the picture takes by itself
constexpr double kWide = 1600;
constexpr double kWidest = 4000;
constexpr double kNumberMargin = 1;
constexpr double kRowShape = 5.5;  // width of a panel over the height of its compute lanes
constexpr double kPanelGap = 22;
constexpr double kLabelGap = 6;

/// Of the font size: Latin characters in DejaVu Sans, by class.
double width_of(char character) {
  constexpr std::string_view kNarrowLetters = "ijlftr ,.:;!|()[]/'-I";
  constexpr std::string_view kWideLetters = "mwMW%@";
  if (kNarrowLetters.find(character) != std::string_view::npos) {
    return 0.39;
  }
  if (kWideLetters.find(character) != std::string_view::npos) {
    return 1;
  }
  return character >= 'A' && character <= 'Z' ? 0.75 : kCharacterWidth;
}

double digits_of(int number) {
  return static_cast<double>(fmt::formatted_size("{}", number));
}

double needed_width(const Box& box, double size) {
  return kCharacterWidth * size * digits_of(box.micro_batch) + kNumberMargin;
}

/// Value that `share` of the values do not exceed; 0 of none.
double quantile(std::vector<double> values, double share) {
  if (values.empty()) {
    return 0;
  }
  const auto position = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(position), values.end());
  return values[position];
}

template <class Value>
std::vector<double> of_numbered_boxes(const Chart& chart, Value value) {
  std::vector<double> values;
  for (const Row& row : chart.rows) {
    for (const Lane& lane : row.lanes) {
      for (const Box& box : lane.boxes) {
        if (box.numbered) {
          values.push_back(value(box));
        }
      }
    }
  }
  return values;
}

double duration_of(const Chart& chart) {
  return std::max(chart.end - chart.start, 0.0);
}

/// Longest time among the charts that share a unit with `chart`.
double longest_like(const std::vector<Chart>& charts, const Chart& chart) {
  double longest = 0;
  for (const Chart& other : charts) {
    if (other.seconds == chart.seconds) {
      longest = std::max(longest, duration_of(other));
    }
  }
  return longest;
}

/// Width of the time axis at which nine in ten numbers fit at this size.
double width_for_numbers(const std::vector<Chart>& charts, double size) {
  double width = 0;
  for (const Chart& chart : charts) {
    const double scale = quantile(
        of_numbered_boxes(chart, [size](const Box& box) { return needed_width(box, size) / (box.end - box.start); }),
        0.9);
    width = std::max(width, scale * longest_like(charts, chart));
  }
  return width;
}

double label_width(const std::vector<Chart>& charts, double size) {
  double width = 0;
  for (const Chart& chart : charts) {
    for (const Row& row : chart.rows) {
      width = std::max(width, text_width(row.label, size));
    }
  }
  return width;
}

double text_factor(double width) {
  return std::clamp(width / kWide, 1.0, 1.8);
}

/// What stands beside the time axis in a picture of this width.
double beside(const std::vector<Chart>& charts, double width) {
  return 2 * kMargin + kLabelGap + label_width(charts, kTextSize * text_factor(width));
}

double choose_width(const std::vector<Chart>& charts) {
  const double comfortable = width_for_numbers(charts, kComfortableNumber) + beside(charts, kWide);
  if (comfortable <= kWide) {
    return std::ceil(std::max(comfortable, kNarrowest));
  }
  const double smallest = width_for_numbers(charts, kSmallestNumber);
  double width = kWide;
  for (int round = 0; round < 4; ++round) {  // labels grow with the picture, a little
    width = smallest * (1 + 1e-6) + beside(charts, width);
  }
  return std::ceil(std::clamp(width, kWide, kWidest));
}

/// Lines around cells, thinner where most cells are narrow.
double border_for(double narrow_cell) {
  constexpr double kUsual = 0.8;
  if (narrow_cell < 2) {
    return 0;
  }
  return std::min(kUsual, narrow_cell / 10);
}

/// Size that nine in ten numbers fit at.
double number_size(const Chart& chart, const Panel& panel) {
  const double size =
      quantile(of_numbered_boxes(chart, [&panel](const Box& box) { return fitting_size(box, panel); }), 0.1);
  return std::clamp(std::floor(size * 4) / 4, kSmallestNumber, kLargestNumber);
}

std::vector<std::string> lines_of_facts(const Chart& chart, double width, double size) {
  if (chart.facts.empty()) {
    return {};
  }
  const auto columns = static_cast<std::size_t>(std::max(2.0, width / (kCharacterWidth * size)));
  return report::wrap(report::printable(fmt::format("{}", fmt::join(chart.facts, ", "))), columns);
}

void size_rows(const Chart& chart, const Layout& layout, Panel& panel) {
  const auto rows = static_cast<double>(std::max<std::size_t>(chart.rows.size(), 1));
  const double least = rows > 64 ? 9 : 16;
  panel.main_height = std::floor(std::clamp(layout.plot_width / kRowShape / rows, least, 30 * layout.text));
  panel.thin_height = std::max(3.0, std::floor(panel.main_height / 5));
  double height = 0;
  bool transfers = false;
  if (!chart.rows.empty()) {
    for (const Lane& lane : chart.rows.front().lanes) {
      height += height_of(lane, panel) + (lane.thin ? 1 : 0);
      transfers = transfers || lane.thin;
    }
  }
  panel.row_pitch = height + (transfers ? std::max(4.0, panel.main_height / 4) : std::max(1.0, panel.main_height / 12));
}

Panel lay_out_panel(const std::vector<Chart>& charts, const Chart& chart, const Layout& layout, double top) {
  Panel panel;
  panel.top = top;
  const double longest = longest_like(charts, chart);
  panel.scale = longest > 0 ? layout.plot_width / longest : 0;
  const double text = kTextSize * layout.text;
  panel.facts = lines_of_facts(chart, layout.width - 2 * kMargin, text);
  panel.rows_top = top + (chart.title.empty() ? 0 : kTitleSize * layout.text * kLineHeight) +
                   static_cast<double>(panel.facts.size()) * text * kLineHeight + 4;
  size_rows(chart, layout, panel);
  panel.axis_top = panel.rows_top + panel.row_pitch * static_cast<double>(chart.rows.size());
  panel.number_size = number_size(chart, panel);
  const double narrow = quantile(of_numbered_boxes(chart, [](const Box& box) { return box.end - box.start; }), 0.1);
  panel.border = border_for(narrow * panel.scale);
  return panel;
}

}  // namespace

double text_width(std::string_view text, double size) {
  double width = 0;
  std::string others;  // outside ASCII
  for (const char character : text) {
    if (static_cast<unsigned char>(character) < 0x80) {
      width += width_of(character);
    } else {
      others += character;
    }
  }
  return size * (width + kCharacterWidth * static_cast<double>(report::display_width(others)));
}

std::string fitted(std::string_view text, double size, double width) {
  std::string line = report::printable(text);
  if (text_width(line, size) <= width) {
    return line;
  }
  const auto least = static_cast<std::size_t>(std::max(1.0, width / size));
  for (std::size_t columns = 4 * least; columns > 1; --columns) {
    std::string beginning = report::truncate(line, columns);
    if (text_width(beginning, size) <= width) {
      return beginning;
    }
  }
  return report::truncate(line, 1);
}

double height_of(const Lane& lane, const Panel& panel) {
  return lane.thin ? panel.thin_height : panel.main_height;
}

double fitting_size(const Box& box, const Panel& panel) {
  const double width = (box.end - box.start) * panel.scale;
  const double height = panel.main_height / (box.part == Part::kWhole ? 1 : 2);
  const double across = (width - kNumberMargin) / (kCharacterWidth * digits_of(box.micro_batch));
  return std::min({kLargestNumber, height * 0.8, across});
}

Layout lay_out(const std::vector<Chart>& charts, const Options& options) {
  Layout layout;
  layout.width = options.width > 0 ? options.width : choose_width(charts);
  layout.text = text_factor(layout.width);
  layout.left = beside(charts, layout.width) - kMargin;
  layout.plot_width = std::max(1.0, layout.width - layout.left - kMargin);
  double top = kMargin;
  for (const Chart& chart : charts) {
    layout.panels.push_back(lay_out_panel(charts, chart, layout, top));
    top = layout.panels.back().axis_top + 2 * kTextSize * layout.text + kPanelGap;
  }
  layout.legend_top = top - kPanelGap / 2;
  return layout;
}

}  // namespace lamina::draw
