#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lamina::validate::numeric {

/// Rows times columns of float32, row by row, that somebody else holds.
struct View {
  std::span<const float> values;
  int rows = 0;
  int columns = 0;

  [[nodiscard]] std::span<const float> row(int i) const {
    return values.subspan(static_cast<std::size_t>(i) * static_cast<std::size_t>(columns),
                          static_cast<std::size_t>(columns));
  }
};

struct MutableView {
  std::span<float> values;
  int rows = 0;
  int columns = 0;
};

/// A matrix that is absent (no rows) until an operation makes it.
struct Matrix {
  Matrix() = default;

  Matrix(int row_count, int column_count, float value = 0)
      : rows(row_count),
        columns(column_count),
        values(static_cast<std::size_t>(row_count) * static_cast<std::size_t>(column_count), value) {}

  [[nodiscard]] bool absent() const { return values.empty(); }

  [[nodiscard]] View view() const { return {values, rows, columns}; }

  [[nodiscard]] MutableView mutable_view() { return {values, rows, columns}; }

  [[nodiscard]] std::span<float> row(int i) {
    return std::span(values).subspan(static_cast<std::size_t>(i) * static_cast<std::size_t>(columns),
                                     static_cast<std::size_t>(columns));
  }

  [[nodiscard]] std::span<const float> row(int i) const { return view().row(i); }

  int rows = 0;
  int columns = 0;
  std::vector<float> values;
};

}  // namespace lamina::validate::numeric
