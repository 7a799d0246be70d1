#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

/// Pictures of schedules: one row per pipeline rank over time, as papers print them.
namespace lamina::draw {

/// What a box shows; decides its colour and its line in the legend.
enum class Kind {
  kForward,
  kRecompute,
  kBackward,  ///< input and weight gradient together
  kInputGradient,
  kWeightGradient,
  kUpdate,
  kActivationMessage,
  kGradientMessage,
  kRestore,
  kReduce,
  kOffload,
};

inline constexpr int kKinds = 11;

/// Which part of the height of its lane a box takes; the halves of a fused pair stand above each other.
enum class Part { kWhole, kUpper, kLower };

struct Box {
  double start = 0;
  double end = 0;
  Kind kind = Kind::kForward;
  Part part = Part::kWhole;
  int shade = 0;          ///< of the stages on the rank, counted from the first in the model; darker with the number
  int stage = -1;         ///< -1: none
  int micro_batch = -1;   ///< -1: none
  bool numbered = false;  ///< its micro-batch number is printed where it fits
};

/// Boxes in order of start that do not overlap, but for the two halves of a pair.
struct Lane {
  bool thin = false;  ///< communication, below the compute
  std::vector<Box> boxes;
};

struct Row {
  std::string label;
  std::vector<Lane> lanes;  ///< as many in every row of a chart
};

struct Chart {
  std::string title;
  std::vector<std::string> facts;  ///< printed below the title in one line
  std::vector<Row> rows;
  double start = 0;      ///< of the time that is shown
  double end = 0;        ///< of it
  bool seconds = false;  ///< times are seconds; otherwise units: the forward of a rank's share of the model
  int shades = 1;        ///< largest number of stages of a rank
};

/// The part of a schedule to draw.
struct Window {
  std::size_t first_rank = 0;
  std::size_t last_rank = std::numeric_limits<std::size_t>::max();  ///< inclusive; ranks beyond the last are ignored
  double from = 0;                                                  ///< in the times of the chart
  double until = std::numeric_limits<double>::infinity();
};

[[nodiscard]] std::size_t boxes_of(const Chart& chart);

}  // namespace lamina::draw
