#include "sim/draw/legend.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "sim/draw/palette.hpp"
#include "sim/draw/svg_text.hpp"

namespace lamina::draw {
namespace {

constexpr double kSwatch = 11;  ///< width and height of a sample of colour, times Layout::text
constexpr int kMostSamples = 8;

/// What occurs in any of the charts.
struct Contents {
  std::array<bool, kKinds> kinds{};
  int shades = 1;
  bool pairs = false;
  bool units = false;
};

Contents contents_of(const std::vector<Chart>& charts) {
  Contents contents;
  for (const Chart& chart : charts) {
    contents.shades = std::max(contents.shades, chart.shades);
    contents.units = contents.units || !chart.seconds;
    for (const Row& row : chart.rows) {
      for (const Lane& lane : row.lanes) {
        for (const Box& box : lane.boxes) {
          contents.kinds[static_cast<std::size_t>(box.kind)] = true;
          contents.pairs = contents.pairs || box.part != Part::kWhole;
        }
      }
    }
  }
  return contents;
}

/// Places entries from left to right, then in the next line.
class Writer {
 public:
  explicit Writer(const Layout& layout)
      : layout_(layout),
        size_(kTextSize * layout.text),
        swatch_(kSwatch * layout.text),
        x_(layout.left),
        y_(layout.legend_top) {}

  void entry(const std::vector<std::string>& fills, bool hatched, const std::string& text) {
    const double samples = swatch_ * static_cast<double>(fills.size());
    const double width = (fills.empty() ? 0 : samples + 5) + text_width(text, size_) + 14 * layout_.text;
    if (x_ > layout_.left && x_ + width > layout_.width - kMargin) {
      x_ = layout_.left;
      y_ += size_ * kLineHeight;
    }
    double x = x_;
    for (const std::string& fill : fills) {
      fmt::format_to(std::back_inserter(elements_),
                     "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", decimal(x), decimal(y_),
                     decimal(swatch_), decimal(swatch_), fill);
      if (hatched) {
        fmt::format_to(std::back_inserter(elements_), "<path d=\"{}\" stroke=\"{}\" stroke-width=\"0.8\"/>\n",
                       hatching(x, y_, swatch_, swatch_), kHatch);
      }
      x += swatch_;
    }
    elements_ += text_element(fills.empty() ? x : x + 5, baseline(y_ + swatch_ / 2, size_), text, {size_, kInk});
    x_ += width;
  }

  [[nodiscard]] Legend finish() { return {std::move(elements_), y_ + swatch_}; }

 private:
  const Layout& layout_;
  double size_;
  double swatch_;
  double x_;
  double y_;
  std::string elements_;
};

std::vector<std::string> samples_of(Kind kind, int shades) {
  std::vector<std::string> fills;
  const int count = is_shaded(kind) ? std::min(shades, kMostSamples) : 1;
  for (int sample = 0; sample < count; ++sample) {
    const int shade = count > 1 ? sample * (shades - 1) / (count - 1) : 0;
    fills.push_back(paint(kind, shade, shades).fill);
  }
  return fills;
}

}  // namespace

Legend legend(const std::vector<Chart>& charts, const Layout& layout) {
  const Contents contents = contents_of(charts);
  Writer writer(layout);
  for (int kind = 0; kind < kKinds; ++kind) {
    if (contents.kinds[static_cast<std::size_t>(kind)]) {
      writer.entry(samples_of(static_cast<Kind>(kind), contents.shades), static_cast<Kind>(kind) == Kind::kRecompute,
                   name_of(static_cast<Kind>(kind)));
    }
  }
  writer.entry({kIdle}, false, "idle");
  if (contents.shades > 1) {
    writer.entry({}, false, "light to dark: first to last stage of a rank");
  }
  if (contents.pairs) {
    writer.entry({}, false, "two halves: fused pair");
  }
  if (contents.units) {
    writer.entry({}, false, "1 unit: the forward of a micro-batch on all stages of a rank");
  }
  return writer.finish();
}

std::string hatching(double x, double y, double width, double height) {
  constexpr double kPitch = 5;
  constexpr double kTooNarrow = 2.5;
  std::string path;
  if (width < kTooNarrow) {
    return path;
  }
  for (double sum = std::ceil((x + y) / kPitch) * kPitch; sum < x + width + y + height; sum += kPitch) {
    fmt::format_to(std::back_inserter(path), "M{} {}L{} {}", decimal(std::max(x, sum - y - height)),
                   decimal(std::min(y + height, sum - x)), decimal(std::min(x + width, sum - y)),
                   decimal(std::max(y, sum - x - width)));
  }
  return path;
}

}  // namespace lamina::draw
