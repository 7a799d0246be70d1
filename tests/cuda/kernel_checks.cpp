#include "tests/cuda/kernel_checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

#include "sim/error/error.hpp"
#include "tests/cuda/check_array.hpp"
#include "validate/cuda/plugin/kernels.hpp"
#include "validate/cuda/plugin/products.hpp"

namespace lamina::tests {
namespace {

using scenario::DataType;
using validate::cuda::DeviceMemory;
using validate::cuda::Product;
using validate::cuda::Products;
using validate::cuda::Stream;
namespace kernels = validate::cuda::kernels;
using kernels::Element;

constexpr Element kElements[] = {Element::kFloat, Element::kHalf, Element::kBfloat};

const char* name_of(Element element) {
  return element == Element::kFloat ? "fp32" : element == Element::kHalf ? "fp16" : "bf16";
}

/// Half a unit in the last place, relative; sums of float products lose a little more.
double rounding(Element element) {
  return element == Element::kFloat ? 2e-6 : element == Element::kHalf ? 0x1p-10 : 0x1p-7;
}

DataType type_of(Element element) {
  return element == Element::kFloat ? DataType::kFp32 : element == Element::kHalf ? DataType::kFp16 : DataType::kBf16;
}

Values map(std::size_t count, const std::function<double(std::size_t)>& f) {
  Values result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = f(i);
  }
  return result;
}

double normal_share(double x) {
  return 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
}

double normal_density(double x) {
  return std::exp(-0.5 * x * x) / std::sqrt(2 * 3.14159265358979323846);
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

class Checker {
 public:
  std::vector<KernelCheck> run() {
    for (const Element element : kElements) {
      element_ = element;
      elementwise();
      dropout();
      rotary();
      norms(7, 40);
      norms(70, 257);  // rows that are not aligned; more rows than a block sums at once
      softmax();
      losses();
      lookups();
      attention({2, 40, 24, false, 0.3F});
      attention({1, 70, 72, true, 0.2F});
    }
    adam();
    products();
    return std::move(checks_);
  }

 private:
  void wait() const { validate::cuda::wait_for(stream_.get(), 20, "a check"); }

  [[nodiscard]] Array array(std::size_t count, double scale, std::size_t seed) const {
    return {numbers(count, scale, seed), type_of(element_)};
  }

  [[nodiscard]] static Array floats(std::size_t count, double scale = 0, std::size_t seed = 0) {
    return {scale == 0 ? Values(count, 0) : numbers(count, scale, seed), DataType::kFp32};
  }

  void compare(const std::string& name, const Array& seen, const Values& expected, double roundings = 1) {
    wait();
    checks_.push_back(
        {name + ", " + name_of(element_), difference(seen.read(), expected), roundings * rounding(element_), ""});
  }

  void elementwise() {
    const std::size_t count = 1003;  // a tail that is no whole pack
    const Array x = array(count, 3, 1);
    const Array y = array(count, 3, 2);
    const Array z = array(count, 3, 3);
    const Array out = array(count, 1, 4);
    const Array more = array(count, 1, 5);
    LAMINA_CHECKED(kernels::copy(x.data(), out.data(), count, element_, stream_.get()));
    compare("copy", out, map(count, [&](std::size_t i) { return x[i]; }));
    LAMINA_CHECKED(kernels::add(x.data(), y.data(), out.data(), count, element_, stream_.get()));
    compare("residual", out, map(count, [&](std::size_t i) { return x[i] + y[i]; }));
    LAMINA_CHECKED(kernels::gelu(x.data(), out.data(), count, element_, stream_.get()));
    compare("gelu", out, map(count, [&](std::size_t i) { return x[i] * normal_share(x[i]); }));
    LAMINA_CHECKED(kernels::gelu_gradient(x.data(), y.data(), out.data(), count, element_, stream_.get()));
    compare("gelu gradient", out,
            map(count, [&](std::size_t i) { return y[i] * (normal_share(x[i]) + x[i] * normal_density(x[i])); }));
    LAMINA_CHECKED(kernels::swiglu(x.data(), y.data(), out.data(), count, element_, stream_.get()));
    compare("swiglu", out, map(count, [&](std::size_t i) { return x[i] * sigmoid(x[i]) * y[i]; }));
    LAMINA_CHECKED(kernels::swiglu_gradient(x.data(), y.data(), z.data(), out.data(), more.data(), count, element_,
                                            stream_.get()));
    compare("swiglu gradient of the gate", out, map(count, [&](std::size_t i) {
              const double s = sigmoid(x[i]);
              return z[i] * y[i] * (s + x[i] * s * (1 - s));
            }));
    compare("swiglu gradient of the other", more,
            map(count, [&](std::size_t i) { return z[i] * x[i] * sigmoid(x[i]); }));
  }

  void dropout() {
    const std::size_t count = 4099;
    const Array x = array(count, 1, 1);
    const Array residual = array(count, 1, 2);
    const Array out = array(count, 1, 3);
    const DeviceMemory mask(count, "a check");
    auto* bytes = reinterpret_cast<std::uint8_t*>(mask.data());
    LAMINA_CHECKED(kernels::dropout(x.data(), residual.data(), out.data(), bytes, count, 5, element_, stream_.get()));
    wait();
    std::vector<std::uint8_t> kept(count);
    LAMINA_CHECKED(cudaMemcpy(kept.data(), bytes, count, cudaMemcpyDeviceToHost));
    compare("dropout", out, map(count, [&](std::size_t i) { return residual[i] + kept[i] * x[i] / 0.9; }));
    const auto share = static_cast<double>(std::count(kept.begin(), kept.end(), 1)) / static_cast<double>(count);
    checks_.push_back({std::string("share that dropout keeps, ") + name_of(element_), std::abs(share - 0.9), 0.02, ""});
    LAMINA_CHECKED(kernels::dropout_gradient(x.data(), bytes, out.data(), count, element_, stream_.get()));
    compare("dropout gradient", out, map(count, [&](std::size_t i) { return kept[i] * x[i] / 0.9; }));
  }

  void rotary() {
    const int head = 16;
    const int sequence = 9;
    const std::size_t count = 16 * 9 * 3;
    const Array x = array(count, 1, 1);
    const Array out = array(count, 1, 2);
    LAMINA_CHECKED(kernels::rotary(x.data(), out.data(), count, head, head, sequence, element_, stream_.get()));
    compare("rotary", out,
            map(count,
                [&](std::size_t i) {
                  const std::size_t pair = i / 2 * 2;
                  const double angle = static_cast<double>(pair / head % sequence) *
                                       std::pow(10000.0, -static_cast<double>(pair % head) / head);
                  return i == pair ? x[pair] * std::cos(angle) - x[pair + 1] * std::sin(angle)
                                   : x[pair] * std::sin(angle) + x[pair + 1] * std::cos(angle);
                }),
            4);
  }

  void norms(std::size_t rows, std::size_t width) {
    const std::size_t count = rows * width;
    const Array x = array(count, 2, 1);
    const Array dy = array(count, 1, 2);
    const Array residual = array(count, 1, 3);
    const Array out = array(count, 1, 4);
    const Array sums = floats(width);
    const Array bias = floats(width);
    const auto n = static_cast<int>(width);
    const Values inverse = map(rows, [&](std::size_t row) {
      double squares = 0;
      for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
        squares += x[i] * x[i];
      }
      return 1 / std::sqrt(squares / static_cast<double>(width) + 1e-5);
    });
    const Values along = map(rows, [&](std::size_t row) {
      double product = 0;
      for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
        product += x[i] * dy[i];
      }
      return product * inverse[row] * inverse[row] / static_cast<double>(width);
    });
    LAMINA_CHECKED(kernels::norm(x.data(), out.data(), rows, n, element_, stream_.get()));
    compare("norm", out, map(count, [&](std::size_t i) { return x[i] * inverse[i / width]; }));
    LAMINA_CHECKED(
        kernels::norm_gradient(x.data(), dy.data(), residual.data(), out.data(), rows, n, element_, stream_.get()));
    compare("norm gradient", out, map(count, [&](std::size_t i) {
              return (dy[i] - x[i] * along[i / width]) * inverse[i / width] + residual[i];
            }));
    LAMINA_CHECKED(kernels::norm_scale_gradient(x.data(), dy.data(), sums.floats(), rows, n, element_, stream_.get()));
    compare("norm scale gradient", sums,
            column_sums(rows, width, [&](std::size_t i) { return dy[i] * x[i] * inverse[i / width]; }));
    LAMINA_CHECKED(kernels::column_sums(dy.data(), bias.floats(), rows, n, element_, stream_.get()));
    compare("bias gradient", bias, column_sums(rows, width, [&](std::size_t i) { return dy[i]; }));
  }

  static Values column_sums(std::size_t rows, std::size_t width, const std::function<double(std::size_t)>& f) {
    return map(width, [&](std::size_t column) {
      double sum = 0;
      for (std::size_t row = 0; row < rows; ++row) {
        sum += f(row * width + column);
      }
      return sum;
    });
  }

  static Values softmax_of(const Array& x, std::size_t width) {
    Values result(x.size());
    for (std::size_t first = 0; first < x.size(); first += width) {
      double total = 0;
      for (std::size_t i = first; i < first + width; ++i) {
        total += result[i] = std::exp(x[i]);
      }
      for (std::size_t i = first; i < first + width; ++i) {
        result[i] /= total;
      }
    }
    return result;
  }

  void softmax() {
    const std::size_t rows = 3;
    const std::size_t width = 300;
    const Array x = array(rows * width, 4, 1);
    const Array dy = array(rows * width, 1, 2);
    const Array out = array(rows * width, 1, 3);
    LAMINA_CHECKED(kernels::softmax(x.data(), out.data(), rows, width, element_, stream_.get()));
    compare("softmax", out, softmax_of(x, width), 2);
    LAMINA_CHECKED(kernels::softmax_gradient(x.data(), dy.data(), out.data(), rows, width, element_, stream_.get()));
    compare("softmax gradient", out, map(x.size(), [&](std::size_t i) {
              double product = 0;
              for (std::size_t k = i / width * width; k < (i / width + 1) * width; ++k) {
                product += x[k] * dy[k];
              }
              return x[i] * (dy[i] - product);
            }));
  }

  void losses() {
    const std::size_t rows = 4;
    const std::size_t width = 203;
    const Array logits = array(rows * width, 4, 1);
    const Array probabilities = floats(rows * width);
    const Array gradient = array(rows * width, 1, 2);
    LAMINA_CHECKED(kernels::cross_entropy(logits.data(), probabilities.floats(), rows, width, element_, stream_.get()));
    const Values expected = softmax_of(logits, width);
    compare("cross entropy", probabilities, expected);
    LAMINA_CHECKED(
        kernels::cross_entropy_gradient(probabilities.floats(), gradient.data(), rows, width, element_, stream_.get()));
    compare("cross entropy gradient", gradient, map(expected.size(), [&](std::size_t i) {
              const bool label = i % width == i / width * 7919 % width;
              return (expected[i] - (label ? 1 : 0)) / static_cast<double>(rows);
            }));
  }

  void lookups() {
    const std::size_t rows = 6;
    const std::size_t width = 24;
    const std::size_t table_rows = 3;  // each is looked up twice
    const Array table = array(table_rows * width, 1, 1);
    const Array dy = array(rows * width, 1, 2);
    const Array out = array(rows * width, 1, 3);
    const Array gradient = floats(table_rows * width, 1, 4);
    LAMINA_CHECKED(kernels::lookup(table.data(), out.data(), rows, width, table_rows, element_, stream_.get()));
    compare("lookup", out,
            map(rows * width, [&](std::size_t i) { return table[i / width * 7919 % table_rows * width + i % width]; }));
    LAMINA_CHECKED(kernels::lookup_gradient(dy.data(), gradient.data(), rows, width, table_rows, element_,
                                            Element::kFloat, stream_.get()));
    compare("lookup gradient", gradient, map(table_rows * width, [&](std::size_t i) {
              double sum = gradient[i];
              for (std::size_t row = 0; row < rows; ++row) {
                sum += row * 7919 % table_rows == i / width ? dy[row * width + i % width] : 0;
              }
              return sum;
            }));
  }

  /// Everything that attention and its gradient are, from their definitions.
  struct Attention {
    Values o, statistics, dq, dk, dv;
  };

  static Attention attention_of(const Array& q, const Array& k, const Array& v, const Array& d_o,
                                const kernels::Heads& heads) {
    const auto s = static_cast<std::size_t>(heads.sequence);
    const auto d = static_cast<std::size_t>(heads.head);
    Attention result;
    for (Values* values : {&result.o, &result.dq, &result.dk, &result.dv}) {
      values->assign(q.size(), 0);
    }
    for (std::size_t row = 0; row < q.size() / d; ++row) {
      const std::size_t first = row / s * s;  // of the head
      const std::size_t seen = heads.causal ? row - first + 1 : s;
      Values weights(seen);
      double total = 0;
      for (std::size_t key = 0; key < seen; ++key) {
        double score = 0;
        for (std::size_t c = 0; c < d; ++c) {
          score += q[row * d + c] * k[(first + key) * d + c];
        }
        total += weights[key] = std::exp(heads.scale * score);
      }
      result.statistics.push_back(std::log(total));
      double product = 0;
      for (std::size_t key = 0; key < seen; ++key) {
        weights[key] /= total;
        for (std::size_t c = 0; c < d; ++c) {
          result.o[row * d + c] += weights[key] * v[(first + key) * d + c];
        }
      }
      for (std::size_t c = 0; c < d; ++c) {
        product += result.o[row * d + c] * d_o[row * d + c];
      }
      for (std::size_t key = 0; key < seen; ++key) {
        double d_weight = 0;
        for (std::size_t c = 0; c < d; ++c) {
          d_weight += d_o[row * d + c] * v[(first + key) * d + c];
          result.dv[(first + key) * d + c] += weights[key] * d_o[row * d + c];
        }
        const double d_score = heads.scale * weights[key] * (d_weight - product);
        for (std::size_t c = 0; c < d; ++c) {
          result.dq[row * d + c] += d_score * k[(first + key) * d + c];
          result.dk[(first + key) * d + c] += d_score * q[row * d + c];
        }
      }
    }
    return result;
  }

  void attention(const kernels::Heads& heads) {
    const auto rows = static_cast<std::size_t>(heads.batch * heads.sequence);
    const std::size_t count = rows * static_cast<std::size_t>(heads.head);
    const Array q = array(count, 1, 1);
    const Array k = array(count, 1, 2);
    const Array v = array(count, 1, 3);
    const Array d_o = array(count, 1, 4);
    const Array o = array(count, 1, 5);
    const Array statistics = floats(rows);
    const Array products = floats(rows);
    const Array dq = array(count, 1, 6);
    const Array dk = array(count, 1, 7);
    const Array dv = array(count, 1, 8);
    LAMINA_CHECKED(kernels::attention(q.data(), k.data(), v.data(), o.data(), statistics.floats(), heads, element_,
                                      stream_.get()));
    const Attention expected = attention_of(q, k, v, d_o, heads);
    const std::string form = heads.causal ? "causal attention" : "attention";
    compare(form, o, expected.o, 2);
    compare(form + " statistics", statistics, expected.statistics, 2);
    LAMINA_CHECKED(kernels::attention_gradient({q.data(), k.data(), v.data(), o.data(), d_o.data(), statistics.floats(),
                                                products.floats(), dq.data(), dk.data(), dv.data()},
                                               heads, element_, stream_.get()));
    compare(form + " gradient of q", dq, expected.dq, 4);
    compare(form + " gradient of k", dk, expected.dk, 4);
    compare(form + " gradient of v", dv, expected.dv, 4);
  }

  void adam() {
    element_ = Element::kFloat;
    const std::size_t count = 1000;
    const Array master = floats(count, 1, 1);
    const Array first = floats(count, 0.1, 2);
    const Array second(map(count, [](std::size_t i) { return 0.01 + 0.01 * std::abs(number(i, 1)); }), DataType::kFp32);
    const Array gradient(numbers(count, 1, 3), DataType::kBf16);
    const Array weight(Values(count, 0), DataType::kBf16);
    const int step = 3;
    const auto expected = map(count, [&](std::size_t i) {
      const double m = 0.9 * first[i] + 0.1 * gradient[i];
      const double v = 0.95 * second[i] + 0.05 * gradient[i] * gradient[i];
      return master[i] - 1e-4 * (m / (1 - std::pow(0.9, step))) / (std::sqrt(v / (1 - std::pow(0.95, step))) + 1e-8);
    });
    LAMINA_CHECKED(kernels::adam({master.floats(), first.floats(), second.floats()}, gradient.data(), weight.data(),
                                 count, step, Element::kBfloat, Element::kBfloat, stream_.get()));
    compare("adam, master weights", master, expected);
    checks_.push_back({"adam, bf16 weights", difference(weight.read(), expected), rounding(Element::kBfloat), ""});
  }

  void products() {
    using enum DataType;
    for (const auto& [in, out, name] : {std::tuple(kFp32, kFp32, "fp32"), std::tuple(kTf32, kFp32, "tf32"),
                                        std::tuple(kFp16, kFp16, "fp16"), std::tuple(kBf16, kBf16, "bf16")}) {
      product({1, 48, 80, 64, false, false, false, in, out}, name);
      product({1, 48, 80, 64, false, true, false, in, out}, name);
      product({1, 48, 80, 64, true, false, true, in, kFp32}, name);
      product({3, 16, 32, 48, false, false, false, in, out}, name);
      product({3, 16, 32, 48, false, true, false, in, out}, name);
      product({3, 16, 32, 48, true, false, false, in, out}, name);
    }
    product({1, 48, 80, 64, false, true, false, kFp8, kBf16}, "fp8");
  }

  static double product_tolerance(const Product& product) {
    const bool narrow = product.out == DataType::kBf16 || product.out == DataType::kFp16;
    const double inputs = product.in == DataType::kTf32 ? 0x1p-9 : 4e-6;  // tf32 keeps ten bits of the operands
    return narrow ? rounding(product.out == DataType::kBf16 ? Element::kBfloat : Element::kHalf) : inputs;
  }

  void product(const Product& product, const char* type) {
    const auto& [batch, m, n, k, transpose_a, transpose_b, accumulate, in, out] = product;
    KernelCheck check;
    check.name = std::string("product") + (batch > 1 ? " of a batch" : "") + (transpose_a ? ", first transposed" : "") +
                 (transpose_b ? ", second transposed" : "") + (accumulate ? ", added in fp32" : "") + ", " + type;
    check.tolerance = product_tolerance(product);
    const Array a(numbers(static_cast<std::size_t>(batch * m * k), 1, 1), in);
    const Array b(numbers(static_cast<std::size_t>(batch * k * n), 1, 2), in);
    const Array c(numbers(static_cast<std::size_t>(batch * m * n), 1, 3), out);
    Values expected(c.size());
    for (std::int64_t i = 0; i < batch * m * n; ++i) {
      const std::int64_t matrix = i / (m * n);
      const std::int64_t row = i / n % m;
      const std::int64_t column = i % n;
      double sum = accumulate ? c[static_cast<std::size_t>(i)] : 0;
      for (std::int64_t x = 0; x < k; ++x) {
        const std::int64_t at_a = matrix * m * k + (transpose_a ? x * m + row : row * k + x);
        const std::int64_t at_b = matrix * k * n + (transpose_b ? column * k + x : x * n + column);
        sum += a[static_cast<std::size_t>(at_a)] * b[static_cast<std::size_t>(at_b)];
      }
      expected[static_cast<std::size_t>(i)] = sum;
    }
    try {
      products_.run(product, a.data(), b.data(), c.data(), workspace_.data(), stream_.get());
      wait();
      check.error = difference(c.read(), expected);
    } catch (const error::EnvironmentError& fault) {  // an older device does not multiply every type
      if (std::string(fault.what()).find("has no product") == std::string::npos) {
        throw;
      }
      check.skipped = fault.what();
    }
    checks_.push_back(std::move(check));
  }

  Stream stream_ = validate::cuda::make_stream(0);
  Products products_;
  DeviceMemory workspace_{Products::kWorkspaceBytes, "cuBLASLt's workspace"};
  Element element_ = Element::kFloat;
  std::vector<KernelCheck> checks_;
};

}  // namespace

std::vector<KernelCheck> check_kernels() {
  return Checker().run();
}

}  // namespace lamina::tests
