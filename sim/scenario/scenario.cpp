#include "sim/scenario/scenario.hpp"

#include "sim/error/error.hpp"

namespace lamina::scenario {

double bytes_of(DataType type) {
  switch (type) {
    case DataType::kFp32:
    case DataType::kTf32:  // a rounding of the inputs inside the multiplier; stored as fp32
      return 4;
    case DataType::kFp16:
    case DataType::kBf16:
      return 2;
    case DataType::kFp8:
      return 1;
  }
  throw error::InternalError("a data type has no size");
}

}  // namespace lamina::scenario
