#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>

#include "validate/plugins.hpp"

/// Matrix products on one processor core, by a library that a plug-in brings.
namespace lamina::validate::cpu {

/// c[b] = op(a[b]) op(b[b]), or +=. Matrices are dense, row by row: a is m x k, or k x m where it is transposed; b is
/// k x n, or n x k.
struct Shape {
  std::int64_t batch = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;  ///< c is added to, and is float32 whatever a and b are
  auto operator<=>(const Shape&) const = default;
};

/// Interface of the plug-ins.
class Products {
 public:
  virtual ~Products() = default;

  /// Library, version, instruction set and data type.
  [[nodiscard]] virtual std::string description() const = 0;

  /// On the calling thread. The first run of a shape may make code for it.
  virtual void run(const Shape& shape, const char* a, const char* b, char* c) = 0;
};

/// Entry point `lamina_make_products`. The caller owns the result.
/// @param half a, b and (unless it is added to) c are bf16, else float32
/// @throws std::runtime_error for a data type that the library cannot multiply here, with what to set instead
using MakeProducts = Products*(bool half);

/// A library of products: the plug-in "onednn" or "openblas".
class ProductLibrary {
 public:
  /// Tells the libraries to stay on one thread: a second one on a rank's only core would spin against the first.
  /// @throws EnvironmentError as Plugin does
  explicit ProductLibrary(const std::string& name);

  /// @throws as MakeProducts
  [[nodiscard]] std::unique_ptr<Products> make(bool half) const { return std::unique_ptr<Products>(make_(half)); }

 private:
  Plugin plugin_;
  MakeProducts* make_;
};

}  // namespace lamina::validate::cpu
