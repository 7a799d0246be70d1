#pragma once

#include <compare>

namespace lamina::units {

/// A double with a dimension, so that seconds cannot be added to bytes.
///
/// Construction from and conversion to double are explicit; `value()` is in the SI base unit (seconds, bytes,
/// bytes per second, floating-point operations, floating-point operations per second).
template <class Dimension>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double value) : value_(value) {}

  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }

  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, double b) { return Quantity(a.value_ * b); }
  friend constexpr Quantity operator*(double a, Quantity b) { return Quantity(a * b.value_); }
  friend constexpr Quantity operator/(Quantity a, double b) { return Quantity(a.value_ / b); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }

 private:
  double value_ = 0.0;
};

using Seconds = Quantity<struct SecondsDimension>;
using Bytes = Quantity<struct BytesDimension>;
using BytesPerSecond = Quantity<struct BytesPerSecondDimension>;
using Flops = Quantity<struct FlopsDimension>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondDimension>;

constexpr Seconds operator/(Bytes amount, BytesPerSecond rate) { return Seconds(amount.value() / rate.value()); }

constexpr Seconds operator/(Flops amount, FlopsPerSecond rate) { return Seconds(amount.value() / rate.value()); }

constexpr Bytes operator*(BytesPerSecond rate, Seconds time) { return Bytes(rate.value() * time.value()); }

}  // namespace lamina::units

namespace lamina {
using units::Bytes;
using units::BytesPerSecond;
using units::Flops;
using units::FlopsPerSecond;
using units::Seconds;
}  // namespace lamina
