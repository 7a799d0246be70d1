#include "validate/cuda/plugin/micro.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

#include "sim/error/error.hpp"
#include "validate/cuda/plugin/device_backend.hpp"
#include "validate/cuda/plugin/kernels.hpp"
#include "validate/cuda/plugin/products.hpp"
#include "validate/cuda/plugin/resources.hpp"

namespace lamina::validate::cuda {
namespace {

using cpu::MicroFate;
using kernels::Element;
using scenario::DataType;

constexpr double kLimit = 60;  ///< seconds after which a device that ends nothing has failed

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double at_share(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

/// One GPU, one stream.
class Bench {
 public:
  Bench(const MicroRequest& request, MicroResult& result)
      : plan_(*request.plan), result_(result), begin_s_(now_s()), seconds_(request.seconds), stream_(make_stream(0)) {}

  void run() {
    const Share rest = share_of(0.2);
    launches(rest);
    copies(MicroGroup::kMemory, rest);
    copies(MicroGroup::kFromHost, rest);
    copies(MicroGroup::kToHost, rest);
    double until = 0.2;
    for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kTf32, DataType::kFp8}) {
      until += 0.2;
      const Share share = share_of(until);
      for (std::size_t i = 0; i < plan_.products.size(); ++i) {
        product(i, type, share);
      }
    }
  }

 private:
  struct Share {
    double end_s = 0;
  };

  [[nodiscard]] Share share_of(double until) const { return {begin_s_ + until * seconds_}; }

  double time(int launches, const std::function<void()>& launch) {
    LAMINA_CHECKED(cudaEventRecord(first_.get(), stream_.get()));
    for (int i = 0; i < launches; ++i) {
      launch();
    }
    LAMINA_CHECKED(cudaEventRecord(then_.get(), stream_.get()));
    wait_for(stream_.get(), kLimit, "a micro-benchmark");
    return seconds_between(first_, then_) / launches;
  }

  /// @param launches between two events; 0: as many as events tell apart
  void sample(MicroTiming timing, int launches, double until_s, const std::function<void()>& launch) {
    constexpr double kLeastSeconds = 200e-6;  // events resolve half a microsecond
    constexpr std::size_t kLeast = 5;
    constexpr std::size_t kMost = 51;
    (void)time(1, launch);
    const double once = std::max(1e-9, time(1, launch));
    const int inner =
        launches > 0 ? launches : static_cast<int>(std::clamp(std::ceil(kLeastSeconds / once), 1.0, 200.0));
    std::vector<double> samples;
    while (samples.size() < kLeast || (samples.size() < kMost && now_s() < until_s)) {
      samples.push_back(time(inner, launch));
    }
    std::sort(samples.begin(), samples.end());
    timing.seconds = at_share(samples, 0.5);
    timing.spread = timing.seconds > 0 ? (at_share(samples, 0.75) - at_share(samples, 0.25)) / timing.seconds : 0;
    timing.samples = static_cast<double>(samples.size());
    result_.timings.push_back(timing);
  }

  void give_up(MicroTiming timing, MicroFate fate) {
    timing.fate = fate;
    result_.timings.push_back(timing);
  }

  [[nodiscard]] double next(const Share& share) const {
    constexpr double kOfOne = 0.02;
    return std::min(share.end_s, now_s() + kOfOne * seconds_ / 4);
  }

  void launches(const Share& share) {
    const auto empty = [&] { LAMINA_CHECKED(kernels::hold(0, stream_.get())); };
    sample({MicroGroup::kLaunches, DataType::kFp32, kLaunchFloor}, 1, next(share), empty);
    sample({MicroGroup::kLaunches, DataType::kFp32, kLaunchGap}, kLaunchesInARow, next(share), empty);
  }

  void copies(MicroGroup group, const Share& share) {
    for (std::size_t i = 0; i < plan_.copies.size(); ++i) {
      const std::size_t bytes = plan_.copies[i];
      const MicroTiming timing{group, DataType::kFp32, i};
      DeviceMemory device;
      DeviceMemory other;
      PinnedMemory host;
      try {
        device = DeviceMemory(bytes, "copies");
        if (group == MicroGroup::kMemory) {
          other = DeviceMemory(bytes, "copies");
        } else {
          host = PinnedMemory(bytes, "copies");
        }
      } catch (const error::EnvironmentError&) {
        (void)cudaGetLastError();
        give_up(timing, MicroFate::kNoMemory);
        continue;
      }
      const std::size_t count = bytes / sizeof(float);
      LAMINA_CHECKED(kernels::fill(device.data(), count, Element::kFloat, 1, 0.1F, stream_.get()));
      sample(timing, 0, next(share), [&] {
        if (group == MicroGroup::kMemory) {
          LAMINA_CHECKED(kernels::copy(device.data(), other.data(), count, Element::kFloat, stream_.get()));
        } else if (group == MicroGroup::kToHost) {
          LAMINA_CHECKED(cudaMemcpyAsync(host.data(), device.data(), bytes, cudaMemcpyDeviceToHost, stream_.get()));
        } else {
          LAMINA_CHECKED(cudaMemcpyAsync(device.data(), host.data(), bytes, cudaMemcpyHostToDevice, stream_.get()));
        }
      });
    }
  }

  /// Operands in the order of KernelRunner's products.
  [[nodiscard]] static Product product_of(const KernelCall& call, DataType type) {
    Product product;
    product.m = call.kernel.m;
    product.n = call.kernel.n;
    product.k = call.kernel.k;
    product.in = type;
    product.out = type == DataType::kFp8 ? DataType::kBf16 : type;
    product.transpose_a = call.pass == model::Pass::kWeightGradient && type != DataType::kFp8;
    product.transpose_b = call.pass == model::Pass::kInputGradient || type == DataType::kFp8;
    product.accumulate = call.pass == model::Pass::kWeightGradient;
    return product;
  }

  void fill(const DeviceMemory& memory, DataType type) {
    if (type == DataType::kFp8) {
      LAMINA_CHECKED(kernels::fill_bytes(memory.data(), memory.size(), 1, stream_.get()));
      return;
    }
    const Element element = type == DataType::kTf32   ? Element::kFloat
                            : type == DataType::kFp16 ? Element::kHalf
                                                      : Element::kBfloat;
    LAMINA_CHECKED(
        kernels::fill(memory.data(), memory.size() / kernels::bytes_of(element), element, 1, 0.1F, stream_.get()));
  }

  void product(std::size_t index, DataType type, const Share& share) {
    const Product product = product_of(plan_.products[index].calls.front(), type);
    const MicroTiming timing{MicroGroup::kProducts, type, index};
    if (index > 0 && now_s() >= share.end_s) {
      give_up(timing, MicroFate::kNoTime);
      return;
    }
    try {
      products_.prepare(product);
    } catch (const error::EnvironmentError&) {
      give_up(timing, MicroFate::kNotSupported);
      return;
    }
    const auto bytes = [](std::int64_t rows, std::int64_t columns, DataType of) {
      return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * size_of(of);
    };
    DeviceMemory a;
    DeviceMemory b;
    DeviceMemory c;
    DeviceMemory workspace;
    try {
      a = DeviceMemory(bytes(product.m, product.k, product.in), "a product");
      b = DeviceMemory(bytes(product.k, product.n, product.in), "a product");
      c = DeviceMemory(bytes(product.m, product.n, product.out), "a product");
      workspace = DeviceMemory(Products::kWorkspaceBytes, "cuBLASLt's workspace");
    } catch (const error::EnvironmentError&) {
      (void)cudaGetLastError();
      give_up(timing, MicroFate::kNoMemory);
      return;
    }
    fill(a, type);
    fill(b, type);
    fill(c, product.out);
    sample(timing, 0, next(share),
           [&] { products_.run(product, a.data(), b.data(), c.data(), workspace.data(), stream_.get()); });
  }

  const cpu::MicroPlan& plan_;
  MicroResult& result_;
  double begin_s_;
  double seconds_;
  Stream stream_;
  Event first_ = make_event();
  Event then_ = make_event();
  Products products_;
};

}  // namespace

MicroResult measure(const MicroRequest& request) {
  MicroResult result;
  result.device = find_devices().at(static_cast<std::size_t>(request.device));
  LAMINA_CHECKED(cudaSetDevice(request.device));
  int runtime = 0;
  int driver = 0;
  LAMINA_CHECKED(cudaRuntimeGetVersion(&runtime));
  LAMINA_CHECKED(cudaDriverGetVersion(&driver));
  result.software =
      std::string("CUDA ").append(std::to_string(runtime)).append(", driver's CUDA ").append(std::to_string(driver));
  Bench(request, result).run();
  return result;
}

}  // namespace lamina::validate::cuda
