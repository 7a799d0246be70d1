#include "validate/cpu/kernel_engine.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "validate/cpu/large_pages.hpp"

namespace lamina::validate::cpu {
namespace {

using model::KernelKind;
using model::Pass;

constexpr std::size_t kAlignment = 64;

/// Memory that exists: every page has been written.
class Arena {
 public:
  Arena() = default;

  Arena(std::size_t bytes, bool half) : size_((bytes + kAlignment) / kAlignment * kAlignment) {
    data_ = allocate_in_large_pages<char>(size_);
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < size_; i += half ? 2 : 4) {
      state = state * 1664525U + 1013904223U;
      const float value = (static_cast<float>(state >> 8) / 16777216.0F - 0.5F) * 0.1F;
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      if (half) {
        const auto upper = static_cast<std::uint16_t>(bits >> 16);
        std::memcpy(data_.get() + i, &upper, sizeof upper);
      } else {
        std::memcpy(data_.get() + i, &bits, sizeof bits);
      }
    }
  }

  /// `bytes` from `offset` on, wrapped so that they lie inside.
  [[nodiscard]] char* at(std::size_t offset, std::size_t bytes) const {
    const std::size_t room = size_ - std::min(size_, bytes);
    return data_.get() + (room == 0 ? 0 : offset / kAlignment * kAlignment % (room + 1));
  }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
  std::unique_ptr<char[], Free> data_;
};

/// Products by a library, everything else by loops over as many bytes as the kernel moves.
class ListEngine final : public KernelEngine {
 public:
  ListEngine(const EngineSetup& setup, std::unique_ptr<Products> products)
      : lists_(*setup.lists), element_(setup.half ? 2 : 4), products_(std::move(products)) {
    std::size_t weights = kAlignment;
    std::size_t activations = kAlignment;
    for (std::size_t list = 0; list < lists_.size(); ++list) {
      if (setup.used[list]) {
        const auto [of_weights, of_activations] = needs(lists_[list]);
        weights = std::max(weights, of_weights);
        activations = std::max(activations, of_activations);
      }
    }
    const double total = std::max(1, setup.units) * static_cast<double>(weights) * (static_cast<double>(element_) + 4) +
                         std::max(1, setup.micro_batches) * static_cast<double>(activations);
    if (setup.most_bytes > 0 && total > setup.most_bytes) {
      constexpr double kMega = 1e6;
      throw std::runtime_error(
          fmt::format("its kernels need {:.0f} MB of memory, and this machine has {:.0f} MB for each rank; take a "
                      "smaller model or fewer micro-batches",
                      total / kMega, setup.most_bytes / kMega));
    }
    for (int unit = 0; unit < std::max(1, setup.units); ++unit) {
      weights_.emplace_back(weights * element_, setup.half);
      gradients_.emplace_back(weights * sizeof(float), false);
    }
    for (int micro_batch = 0; micro_batch < std::max(1, setup.micro_batches); ++micro_batch) {
      activations_.emplace_back(activations, setup.half);
    }
    state_ = Arena(kStateBytes, false);
    for (std::size_t list = 0; list < lists_.size(); ++list) {
      if (setup.used[list]) {
        run(static_cast<int>(list), 0, 0);  // makes the library's code for them
      }
    }
  }

  [[nodiscard]] std::string description() const override { return products_->description() + ", one core"; }

  [[nodiscard]] double memory_bytes() const override {
    double bytes = 0;
    for (const auto* arenas : {&weights_, &gradients_, &activations_}) {
      for (const Arena& arena : *arenas) {
        bytes += static_cast<double>(arena.size());
      }
    }
    return bytes + static_cast<double>(state_.size());
  }

  void run(int list, int unit, int micro_batch) override {
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | 0x8040U);  // what has shrunk to nothing after many steps is zero, not a slow denormal
#endif
    Place place;
    place.weights = &weights_[static_cast<std::size_t>(std::max(unit, 0)) % weights_.size()];
    place.gradients = &gradients_[static_cast<std::size_t>(std::max(unit, 0)) % gradients_.size()];
    place.activations = &activations_[static_cast<std::size_t>(std::max(micro_batch, 0)) % activations_.size()];
    for (const KernelCall& call : lists_[static_cast<std::size_t>(list)]) {
      if (call.updates) {
        update(call, place);
      } else if (call.kernel.kind == KernelKind::kMemoryBound) {
        stream(call.kernel.bytes.value(), place);
      } else if (call.kernel.name.starts_with("fused_attention")) {
        attention(call, place);
      } else {
        multiply(call, place);
      }
    }
  }

 private:
  static constexpr std::size_t kStateBytes = std::size_t{1} << 24;

  struct Place {
    const Arena* weights = nullptr;
    const Arena* gradients = nullptr;
    const Arena* activations = nullptr;
    std::size_t weight = 0;      ///< elements of the unit's weights that kernels before have used
    std::size_t activation = 0;  ///< bytes, likewise
  };

  [[nodiscard]] static bool has_weights(const model::Kernel& kernel) {
    return kernel.batch <= 1;
  }

  [[nodiscard]] static std::size_t elements(std::int64_t rows, std::int64_t columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }

  /// Elements of weights and bytes of activations that a list goes through.
  [[nodiscard]] std::pair<std::size_t, std::size_t> needs(const std::vector<KernelCall>& list) const {
    std::size_t weights = 0;
    std::size_t activations = 0;
    for (const auto& [kernel, pass, updates] : list) {
      const auto batch = static_cast<std::size_t>(std::max(1.0, kernel.batch));
      if (updates) {
        continue;
      }
      if (kernel.kind == KernelKind::kMemoryBound) {
        activations = std::max(activations, static_cast<std::size_t>(kernel.bytes.value()));
        continue;
      }
      const std::size_t a = elements(kernel.m, kernel.k);
      const std::size_t b = elements(kernel.k, kernel.n);
      const std::size_t c = elements(kernel.m, kernel.n);
      if (!has_weights(kernel)) {
        activations += (batch * (a + b + c) + elements(kernel.m, kernel.m)) * element_ + 4 * kAlignment;
      } else if (pass == Pass::kWeightGradient) {
        weights += c + kAlignment;
        activations += (a + b) * element_ + 2 * kAlignment;
      } else {
        weights += b + kAlignment;
        activations += (a + c) * element_ + 2 * kAlignment;
      }
    }
    return {weights, activations + kAlignment};
  }

  char* next_activation(Place& place, std::size_t bytes) const {
    char* result = place.activations->at(place.activation, bytes);
    place.activation += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return result;
  }

  char* next_weight(const Arena& arena, Place& place, std::size_t count, std::size_t element) const {
    char* result = arena.at(place.weight * element, count * element);
    place.weight += (count + kAlignment - 1) / kAlignment * kAlignment;
    return result;
  }

  void multiply(const KernelCall& call, Place& place) {
    const model::Kernel& kernel = call.kernel;
    Shape shape{static_cast<std::int64_t>(std::max(1.0, kernel.batch)), kernel.m, kernel.n, kernel.k};
    const std::size_t a = elements(shape.m, shape.k) * static_cast<std::size_t>(shape.batch);
    const std::size_t b = elements(shape.k, shape.n) * static_cast<std::size_t>(shape.batch);
    const std::size_t c = elements(shape.m, shape.n) * static_cast<std::size_t>(shape.batch);
    if (!has_weights(kernel)) {
      char* left = next_activation(place, a * element_);
      char* right = next_activation(place, b * element_);
      products_->run(shape, left, right, next_activation(place, c * element_));
    } else if (call.pass == Pass::kWeightGradient) {  // x^T dy, added to the gradients
      shape.transpose_a = true;
      shape.accumulate = true;
      char* left = next_activation(place, a * element_);
      char* right = next_activation(place, b * element_);
      products_->run(shape, left, right, next_weight(*place.gradients, place, c, sizeof(float)));
    } else {
      shape.transpose_b = call.pass == Pass::kInputGradient;
      char* left = next_activation(place, a * element_);
      char* right = next_weight(*place.weights, place, b, element_);
      products_->run(shape, left, right, next_activation(place, c * element_));
    }
  }

  /// Head by head, so that the scores of one stay in the cache, as fused kernels do it.
  void attention(const KernelCall& call, Place& place) {
    const model::Kernel& kernel = call.kernel;  // batch of (m = sequence) x (n = head size), k = sequence
    const double one = 2.0 * static_cast<double>(kernel.m) * static_cast<double>(kernel.n) *
                       static_cast<double>(kernel.k) * std::max(1.0, kernel.batch);
    const int products = std::max(1, static_cast<int>(std::lround(kernel.flops.value() / one)));
    const Shape scores{1, kernel.m, kernel.k, kernel.n, false, true};
    const Shape values{1, kernel.m, kernel.n, kernel.k};
    const std::size_t of_head = elements(kernel.m, kernel.n) * element_;
    for (int head = 0; head < static_cast<int>(kernel.batch); ++head) {
      char* query = next_activation(place, of_head);
      char* key = next_activation(place, of_head);
      char* square = place.activations->at(0, elements(kernel.m, kernel.k) * element_);
      for (int product = 0; product < products; ++product) {
        if (product % 2 == 0) {
          products_->run(scores, query, key, square);
        } else {
          products_->run(values, square, key, query);
        }
      }
    }
  }

  /// Reads one half of the bytes and writes the other.
  void stream(double bytes, Place& place) const {
    const auto count = static_cast<std::size_t>(bytes / (2 * sizeof(float)));
    auto* from = reinterpret_cast<float*>(place.activations->at(place.activation, count * sizeof(float)));
    auto* to = reinterpret_cast<float*>(
        place.activations->at(place.activation + count * sizeof(float), count * sizeof(float)));
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = from[i];
    }
    place.activation += count * sizeof(float);
  }

  /// Adam in float32 on a piece of state that is gone through again and again.
  void update(const KernelCall& call, Place& place) const {
    constexpr double kBytesPerParameter = 28;  // master, two moments read and written, the gradient read
    const auto parameters = static_cast<std::size_t>(call.kernel.bytes.value() / kBytesPerParameter);
    const std::size_t block = std::min(parameters, kStateBytes / (4 * sizeof(float)));
    auto* master = reinterpret_cast<float*>(state_.at(0, kStateBytes));
    float* first = master + block;
    float* second = first + block;
    for (std::size_t done = 0; done < parameters; done += block) {
      const std::size_t count = std::min(block, parameters - done);
      const auto* gradient =
          reinterpret_cast<const float*>(place.gradients->at(done * sizeof(float), count * sizeof(float)));
      const std::size_t here = std::min(count, place.gradients->size() / sizeof(float));
      for (std::size_t i = 0; i < count; ++i) {
        const float g = gradient[i < here ? i : i % here];
        first[i] = 0.9F * first[i] + 0.1F * g;
        second[i] = 0.95F * std::fabs(second[i]) + 0.05F * g * g;
        master[i] -= 1e-6F * first[i] / (std::sqrt(second[i]) + 1e-8F);
      }
    }
  }

  const std::vector<std::vector<KernelCall>>& lists_;
  std::size_t element_;
  std::unique_ptr<Products> products_;
  std::vector<Arena> weights_;  ///< [unit]
  std::vector<Arena> gradients_;
  std::vector<Arena> activations_;  ///< [micro-batch]
  Arena state_;
};

}  // namespace

std::unique_ptr<KernelEngine> make_kernel_engine(const EngineSetup& setup, std::unique_ptr<Products> products) {
  return std::make_unique<ListEngine>(setup, std::move(products));
}

}  // namespace lamina::validate::cpu
