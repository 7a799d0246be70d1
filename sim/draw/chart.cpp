#include "sim/draw/chart.hpp"

namespace lamina::draw {

std::size_t boxes_of(const Chart& chart) {
  std::size_t count = 0;
  for (const Row& row : chart.rows) {
    for (const Lane& lane : row.lanes) {
      count += lane.boxes.size();
    }
  }
  return count;
}

}  // namespace lamina::draw
