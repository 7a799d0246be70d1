#include "sim/draw/palette.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace lamina::draw {
namespace {

using Colour = std::array<double, 3>;  // red, green, blue of sRGB, 0..255

struct Scale {
  Colour light;
  Colour middle;
  Colour dark;
};

Scale scale_of(Kind kind) {
  switch (kind) {
    case Kind::kForward:
      return {{{198, 219, 239}}, {{133, 182, 222}}, {{49, 112, 178}}};
    case Kind::kBackward:
      return {{{199, 233, 192}}, {{129, 199, 132}}, {{44, 126, 68}}};
    case Kind::kInputGradient:
      return {{{186, 232, 216}}, {{98, 194, 166}}, {{12, 124, 98}}};
    case Kind::kWeightGradient:
      return {{{254, 224, 168}}, {{249, 186, 98}}, {{180, 92, 20}}};
    case Kind::kRecompute:
      return {{{232, 240, 248}}, {{232, 240, 248}}, {{232, 240, 248}}};
    case Kind::kUpdate:
      return {{{160, 160, 160}}, {{160, 160, 160}}, {{160, 160, 160}}};
    case Kind::kActivationMessage:
      return {{{66, 133, 196}}, {{66, 133, 196}}, {{66, 133, 196}}};
    case Kind::kGradientMessage:
      return {{{60, 158, 90}}, {{60, 158, 90}}, {{60, 158, 90}}};
    case Kind::kRestore:
      return {{{140, 107, 177}}, {{140, 107, 177}}, {{140, 107, 177}}};
    case Kind::kReduce:
      return {{{214, 96, 132}}, {{214, 96, 132}}, {{214, 96, 132}}};
    case Kind::kOffload:
      return {{{140, 108, 66}}, {{140, 108, 66}}, {{140, 108, 66}}};
  }
  return {};
}

Colour between(const Colour& a, const Colour& b, double position) {
  Colour result{};
  for (std::size_t channel = 0; channel < result.size(); ++channel) {
    result[channel] = a[channel] + (b[channel] - a[channel]) * position;
  }
  return result;
}

/// Relative luminance, WCAG 2.1.
double luminance(const Colour& colour) {
  const auto linear = [](double value) {
    const double share = value / 255;
    return share <= 0.03928 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2]);
}

}  // namespace

Paint paint(Kind kind, int shade, int shades) {
  const Scale scale = scale_of(kind);
  const double position = shades > 1 ? static_cast<double>(shade) / (shades - 1) : 0.5;
  const Colour colour = position <= 0.5 ? between(scale.light, scale.middle, position * 2)
                                        : between(scale.middle, scale.dark, position * 2 - 1);
  // Above this white text has a contrast below 4 : 1.
  constexpr double kNeedsDarkText = 0.21;
  return {fmt::format("#{:02x}{:02x}{:02x}", std::lround(colour[0]), std::lround(colour[1]), std::lround(colour[2])),
          luminance(colour) > kNeedsDarkText ? kInk : kPaper};
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kForward:
      return "forward";
    case Kind::kRecompute:
      return "recompute";
    case Kind::kBackward:
      return "backward";
    case Kind::kInputGradient:
      return "input gradient";
    case Kind::kWeightGradient:
      return "weight gradient";
    case Kind::kUpdate:
      return "update";
    case Kind::kActivationMessage:
      return "activations sent";
    case Kind::kGradientMessage:
      return "gradients sent";
    case Kind::kRestore:
      return "restore of weights";
    case Kind::kReduce:
      return "reduction of gradients";
    case Kind::kOffload:
      return "host copy";
  }
  return "";
}

bool is_shaded(Kind kind) {
  return kind == Kind::kForward || kind == Kind::kBackward || kind == Kind::kInputGradient ||
         kind == Kind::kWeightGradient;
}

}  // namespace lamina::draw
