#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "validate/cpu/micro_benchmarks.hpp"

namespace lamina::validate::cpu {
namespace {

using model::Kernel;
using model::KernelKind;
using model::Pass;

constexpr std::size_t kKibi = 1024;
constexpr std::size_t kMebi = kKibi * kKibi;

/// FLOPs of one execution per second of the whole run: some twenty executions of some forty cases on a core of 100
/// GFLOP/s.
constexpr double kFlopsPerSecond = 1.5e8;
constexpr double kLeastFlops = 1e9;
constexpr std::int64_t kLeastTokens = 128;
constexpr std::int64_t kLeastVocabulary = 4096;

double most_flops(double seconds) {
  return std::max(kLeastFlops, kFlopsPerSecond * seconds);
}

/// Changes a product's side; FLOPs and bytes follow.
void resize(Kernel& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto elements = [](std::int64_t rows, std::int64_t inner, std::int64_t columns) {
    const auto a = static_cast<double>(rows);
    const auto b = static_cast<double>(inner);
    const auto c = static_cast<double>(columns);
    return a * b + b * c + a * c;
  };
  const double before = elements(kernel.m, kernel.k, kernel.n);
  kernel.bytes = kernel.bytes * (before > 0 ? elements(m, k, n) / before : 1);
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.flops = Flops(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
}

MicroCase product(std::string name, std::int64_t m, std::int64_t n, std::int64_t k, Pass pass) {
  Kernel kernel;
  kernel.name = name;
  resize(kernel, m, n, k);
  return {std::move(name), {{kernel, pass, false}}, false, pass != Pass::kForward, kernel.flops.value()};
}

class Products {
 public:
  explicit Products(double seconds) : most_(most_flops(seconds)) {}

  void add(MicroCase one) {
    const KernelCall& call = one.calls.front();
    if (seen_.insert({call.pass, call.kernel.m, call.kernel.n, call.kernel.k}).second) {
      cases_.push_back(std::move(one));
    }
  }

  /// Tokens are the rows of a product, and what a weight gradient sums over. Once they are few, a vocabulary is cut.
  void add(const Kernel& kernel, Pass pass, std::int64_t vocabulary = 0) {
    std::int64_t m = kernel.m;
    std::int64_t n = kernel.n;
    std::int64_t k = kernel.k;
    const bool sums = pass == Pass::kWeightGradient;
    std::int64_t& tokens = sums ? k : m;
    std::int64_t& other = sums ? m : k;
    std::int64_t& words = n == vocabulary ? n : other;
    const auto flops = [&] { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); };
    while (flops() > most_ && tokens / 2 >= kLeastTokens) {
      tokens /= 2;
    }
    while (vocabulary > 0 && flops() > most_ && words / 2 >= kLeastVocabulary) {
      words /= 2;
    }
    add(product(kernel.name, m, n, k, pass));
  }

  [[nodiscard]] std::vector<MicroCase> take() { return std::move(cases_); }

 private:
  double most_;
  std::set<std::tuple<Pass, std::int64_t, std::int64_t, std::int64_t>> seen_;
  std::vector<MicroCase> cases_;
};

bool is_of_weights(const Kernel& kernel) {
  return kernel.kind == KernelKind::kMatrixProduct && kernel.batch <= 1 && !kernel.name.starts_with("fused_attention");
}

std::vector<MicroCase> products_of(const model::WorkModel& work, double seconds) {
  constexpr Pass kPasses[] = {Pass::kForward, Pass::kInputGradient, Pass::kWeightGradient};
  Products products(seconds);
  for (const std::int64_t side : {std::int64_t{256}, std::int64_t{512}, std::int64_t{1024}, std::int64_t{2048}}) {
    products.add(product("square", side, side, side, Pass::kForward));
  }
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{4}, std::int64_t{16}}) {  // the memory bounds them
    products.add(product("thin", rows, 2048, 4096, Pass::kForward));
  }
  for (const Pass pass : kPasses) {
    for (const model::BlockCost& block : work.layer.blocks) {
      for (const Kernel& kernel : block.pass(pass).kernels) {
        if (is_of_weights(kernel)) {
          products.add(kernel, pass);
        }
      }
    }
  }
  std::int64_t vocabulary = 0;
  for (const Pass pass : kPasses) {
    for (const model::BlockCost& block : work.head.blocks) {
      for (const Kernel& kernel : block.pass(pass).kernels) {
        if (is_of_weights(kernel)) {
          vocabulary = pass == Pass::kForward ? kernel.n : vocabulary;
          products.add(kernel, pass, vocabulary);
        }
      }
    }
  }
  return products.take();
}

/// What the core of attention launches in a pass: all between the products with weights that works on scores.
MicroCase attention_of(const model::WorkModel& work, Pass pass, bool fused, double seconds) {
  static constexpr const char* kOwn[] = {"softmax",
                                         "attention_dropout",
                                         "attention_scores",
                                         "attention_values",
                                         "fused_attention",
                                         "fused_attention_backward",
                                         "probability_gradient",
                                         "value_gradient",
                                         "query_gradient",
                                         "key_gradient"};
  MicroCase result{"attention", {}, fused, pass != Pass::kForward, 0};
  double heads = 1;
  for (const model::BlockCost& block : work.layer.blocks) {
    for (const Kernel& kernel : block.pass(pass).kernels) {
      if (std::find(std::begin(kOwn), std::end(kOwn), kernel.name) != std::end(kOwn)) {
        result.calls.push_back({kernel, pass, false});
        result.flops += kernel.flops.value();
        heads = std::max(heads, kernel.batch);
      }
    }
  }
  const double before = heads;
  while (result.flops * heads / before > most_flops(seconds) && heads >= 4) {
    heads = std::floor(heads / 2);
  }
  for (KernelCall& call : result.calls) {
    call.kernel.flops = call.kernel.flops * (heads / before);
    call.kernel.bytes = call.kernel.bytes * (heads / before);
    call.kernel.batch = call.kernel.kind == KernelKind::kMatrixProduct ? heads : 1;
  }
  result.flops *= heads / before;
  return result;
}

std::vector<std::size_t> sizes(std::size_t first, std::size_t last, std::size_t factor) {
  std::vector<std::size_t> result;
  for (std::size_t size = first; size <= last; size *= factor) {
    result.push_back(size);
  }
  return result;
}

}  // namespace

MicroPlan micro_plan(const model::WorkModel& fused, const model::WorkModel& unfused, double seconds) {
  MicroPlan plan;
  plan.products = products_of(unfused, seconds);
  for (const Pass pass : {Pass::kForward, Pass::kInputGradient}) {
    for (const bool is_fused : {false, true}) {
      MicroCase one = attention_of(is_fused ? fused : unfused, pass, is_fused, seconds);
      if (!one.calls.empty()) {
        plan.attention.push_back(std::move(one));
      }
    }
  }
  constexpr double kShort = 20;  // seconds
  plan.copies = sizes(16 * kKibi, (seconds < kShort ? 64 : 256) * kMebi, 4);
  plan.files = sizes(64 * kKibi, (seconds < kShort ? 4 : 64) * kMebi, 4);
  plan.messages = sizes(64, (seconds < kShort ? 4 : 16) * kMebi, 4);
  plan.beside = sizes(64 * kKibi, 4 * kMebi, 8);
  return plan;
}

}  // namespace lamina::validate::cpu
