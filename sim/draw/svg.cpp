#include "sim/draw/svg.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/draw/axis.hpp"
#include "sim/draw/legend.hpp"
#include "sim/draw/palette.hpp"
#include "sim/draw/svg_text.hpp"
#include "sim/report/format.hpp"

namespace lamina::draw {
namespace {

constexpr double kTickSpacing = 90;

std::string time_text(const Chart& chart, double time) {
  return chart.seconds ? report::seconds(time) : decimal(time);
}

/// "backward of stage 5, micro-batch 3: 4 to 6".
std::string tip(const Chart& chart, const Box& box) {
  std::string text = name_of(box.kind);
  if (box.stage >= 0) {
    text += fmt::format(", stage {}", box.stage);
  }
  if (box.micro_batch >= 0) {
    text += fmt::format(", micro-batch {}", box.micro_batch);
  }
  return fmt::format("{}: {} to {}", text, time_text(chart, box.start), time_text(chart, box.end));
}

/// Writes one chart.
class PanelWriter {
 public:
  PanelWriter(const Chart& chart, const Layout& layout, const Panel& panel, std::string& out)
      : chart_(chart), layout_(layout), panel_(panel), out_(std::back_inserter(out)), document_(out) {}

  void write() {
    headline();
    axis();
    double top = panel_.rows_top;
    for (const Row& row : chart_.rows) {
      write_row(row, top);
      top += panel_.row_pitch;
    }
  }

 private:
  struct Place {
    double x, y, width, height;
  };

  [[nodiscard]] double x_of(double time) const { return layout_.left + (time - chart_.start) * panel_.scale; }

  [[nodiscard]] double right() const { return x_of(chart_.end); }

  [[nodiscard]] Place place(const Box& box, double top, double height) const {
    const double half = box.part == Part::kWhole ? height : height / 2;
    return {x_of(box.start), box.part == Part::kLower ? top + half : top, (box.end - box.start) * panel_.scale, half};
  }

  void headline() {
    double y = panel_.top;
    if (!chart_.title.empty()) {
      const double size = kTitleSize * layout_.text;
      constexpr double kBold = 1.12;  // wider than regular
      document_ +=
          text_element(kMargin, y + size * 0.85, fitted(chart_.title, size * kBold, layout_.width - 2 * kMargin),
                       {size, kInk, Anchor::kStart, true});
      y += size * kLineHeight;
    }
    const double size = kTextSize * layout_.text;
    for (const std::string& line : panel_.facts) {
      document_ += text_element(kMargin, y + size * 0.85, line, {size, kFaint});
      y += size * kLineHeight;
    }
  }

  void axis() {
    const double size = kTextSize * 0.9 * layout_.text;
    const double y = panel_.axis_top;
    const int most = static_cast<int>(std::max(2.0, (right() - layout_.left) / (kTickSpacing * layout_.text)));
    std::string path;
    for (const Tick& tick : ticks(chart_.start, chart_.end, chart_.seconds, most)) {
      const double x = x_of(tick.time);
      fmt::format_to(std::back_inserter(path), "M{} {}v4", decimal(x), decimal(y));
      const double half = text_width(tick.label, size) / 2;
      const bool at_edge = x + half > layout_.width - 2;
      document_ += text_element(at_edge ? layout_.width - 2 : x, y + 5 + size, tick.label,
                                {size, kFaint, at_edge ? Anchor::kEnd : Anchor::kMiddle});
    }
    fmt::format_to(out_, "<path d=\"M{} {}H{}{}\" stroke=\"#a0a0a0\" stroke-width=\"1\" fill=\"none\"/>\n",
                   decimal(layout_.left), decimal(y), decimal(right()), path);
  }

  void write_row(const Row& row, double top) {
    const double size = std::min(kTextSize * layout_.text, panel_.main_height * 0.8);
    document_ += text_element(layout_.left - 6, baseline(top + panel_.main_height / 2, size), row.label,
                              {size, kInk, Anchor::kEnd});
    for (const Lane& lane : row.lanes) {
      const double height = height_of(lane, panel_);
      top += lane.thin ? 1 : 0;
      fmt::format_to(out_, "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", decimal(layout_.left),
                     decimal(top), decimal(right() - layout_.left), decimal(height), kIdle);
      write_boxes(lane, top, height);
      write_hatching(lane, top, height);
      write_pairs(lane, top, height);
      write_numbers(lane, top, height);
      top += height;
    }
  }

  void write_boxes(const Lane& lane, double top, double height) {
    std::map<std::pair<Kind, int>, std::vector<std::size_t>> by_colour;
    for (std::size_t index = 0; index < lane.boxes.size(); ++index) {
      by_colour[{lane.boxes[index].kind, lane.boxes[index].shade}].push_back(index);
    }
    const double border = lane.thin ? 0 : panel_.border;
    for (const auto& [colour, indices] : by_colour) {
      fmt::format_to(out_, "<g fill=\"{}\"", paint(colour.first, colour.second, chart_.shades).fill);
      if (border > 0) {
        fmt::format_to(out_, " stroke=\"{}\" stroke-width=\"{}\"", kPaper, decimal(border));
      }
      document_ += ">\n";
      for (const std::size_t index : indices) {
        const Box& box = lane.boxes[index];
        Place at = place(box, top, height);
        if (lane.thin) {
          at.width = at.width > 4 * kVisible ? at.width - kVisible  // so that neighbours are told apart
                                             : std::max(at.width, std::min(kVisible, room_after(lane, index)));
        }
        fmt::format_to(out_, "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>\n",
                       decimal(at.x), decimal(at.y), decimal(at.width), decimal(at.height), escaped(tip(chart_, box)));
      }
      document_ += "</g>\n";
    }
  }

  /// Pixels from the start of a box to the next one.
  [[nodiscard]] double room_after(const Lane& lane, std::size_t index) const {
    const double next = index + 1 < lane.boxes.size() ? lane.boxes[index + 1].start : chart_.end;
    return (next - lane.boxes[index].start) * panel_.scale;
  }

  void write_hatching(const Lane& lane, double top, double height) {
    std::string path;
    for (const Box& box : lane.boxes) {
      if (box.kind == Kind::kRecompute) {
        const Place at = place(box, top, height);
        path += hatching(at.x, at.y, at.width, at.height);
      }
    }
    if (!path.empty()) {
      fmt::format_to(out_,
                     "<path d=\"{}\" stroke=\"{}\" stroke-width=\"0.8\" fill=\"none\" pointer-events=\"none\"/>\n",
                     path, kHatch);
    }
  }

  void write_pairs(const Lane& lane, double top, double height) {
    std::string path;
    for (const Box& box : lane.boxes) {
      if (box.part == Part::kUpper) {
        fmt::format_to(std::back_inserter(path), "M{} {}h{}v{}h-{}z", decimal(x_of(box.start)), decimal(top),
                       decimal((box.end - box.start) * panel_.scale), decimal(height),
                       decimal((box.end - box.start) * panel_.scale));
      }
    }
    if (!path.empty()) {
      fmt::format_to(out_, "<path d=\"{}\" stroke=\"{}\" stroke-width=\"{}\" fill=\"none\"/>\n", path, kInk,
                     decimal(std::max(panel_.border, 0.3)));
    }
  }

  void write_numbers(const Lane& lane, double top, double height) {
    std::map<std::string, std::string> by_colour;
    for (const Box& box : lane.boxes) {
      const double fits = box.numbered ? fitting_size(box, panel_) : 0;
      if (fits < kSmallestNumber) {
        continue;
      }
      const double size = std::min(fits, panel_.number_size);
      const Place at = place(box, top, height);
      std::string& elements = by_colour[paint(box.kind, box.shade, chart_.shades).text];
      fmt::format_to(std::back_inserter(elements), "<text x=\"{}\" y=\"{}\"", decimal(at.x + at.width / 2),
                     decimal(baseline(at.y + at.height / 2, size)));
      if (size < panel_.number_size) {
        fmt::format_to(std::back_inserter(elements), " font-size=\"{}\"", decimal(size));
      }
      fmt::format_to(std::back_inserter(elements), ">{}</text>\n", box.micro_batch);
    }
    for (const auto& [colour, elements] : by_colour) {
      fmt::format_to(out_, "<g fill=\"{}\" font-size=\"{}\" text-anchor=\"middle\" pointer-events=\"none\">\n{}</g>\n",
                     colour, decimal(panel_.number_size), elements);
    }
  }

  static constexpr double kVisible = 0.5;  ///< pixels of a short transfer, where there is room

  const Chart& chart_;
  const Layout& layout_;
  const Panel& panel_;
  std::back_insert_iterator<std::string> out_;
  std::string& document_;
};

}  // namespace

std::string to_svg(const std::vector<Chart>& charts, const Options& options) {
  const Layout layout = lay_out(charts, options);
  const Legend explanation = legend(charts, layout);
  std::string elements;
  for (std::size_t index = 0; index < charts.size(); ++index) {
    PanelWriter(charts[index], layout, layout.panels[index], elements).write();
  }
  return document(layout.width, std::ceil(explanation.bottom + kMargin), charts.empty() ? "" : charts.front().title,
                  elements + explanation.elements);
}

}  // namespace lamina::draw
