#include "validate/cpu/micro_benchmarks.hpp"

#include <exception>
#include <fstream>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "validate/cpu/cores.hpp"
#include "validate/cpu/kernel_engine.hpp"
#include "validate/cpu/micro_rank.hpp"
#include "validate/ranks/launch.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::cpu {
namespace {

/// Of the engine for one case: weights, their gradients in fp32, activations.
double memory_of(const MicroCase& one, bool half) {
  double elements = 0;
  for (const KernelCall& call : one.calls) {
    const auto m = static_cast<double>(call.kernel.m);
    const auto n = static_cast<double>(call.kernel.n);
    const auto k = static_cast<double>(call.kernel.k);
    const double product = call.kernel.batch * (m * k + k * n + m * n) + m * m;
    elements += call.kernel.kind == model::KernelKind::kMatrixProduct ? product : 0;
    elements += call.kernel.kind == model::KernelKind::kMemoryBound ? call.kernel.bytes.value() / 2 : 0;
  }
  return elements * (half ? 2 + sizeof(float) : 2 * sizeof(float));
}

/// What rank 0 measures without the other one.
class Kernels {
 public:
  Kernels(const MicroPlan& plan, MicroResult& result) : plan_(plan), result_(result) {}

  void run(MicroGroup group, bool half, double end_s) {
    const std::vector<MicroCase>& cases = group == MicroGroup::kProducts ? plan_.products : plan_.attention;
    Allowance allowance(end_s, cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (group == MicroGroup::kProducts && of_model(cases[i])) {
        run_together(cases, i, half, allowance);
        return;
      }
      MicroTiming timing = row(group, i, half);
      const double until = allowance.next();
      constexpr double kFewest = 3;  // executions, the first of which makes the code
      const double expected = rate_[half] > 0 ? kFewest * cases[i].flops / rate_[half] : 0;
      if (!supported_[half]) {
        timing.fate = MicroFate::kNotSupported;
      } else if (i > 0 && expected > allowance.left_s()) {
        timing.fate = MicroFate::kNoTime;
      } else if (2 * memory_of(cases[i], half) > available_memory()) {
        timing.fate = MicroFate::kNoMemory;
      } else {
        measure(cases[i], until, timing);
      }
      result_.timings.push_back(timing);
    }
  }

  /// A product of the narrowest type that is supported, to run beside messages. The engine is kept.
  [[nodiscard]] std::function<void()> product() {
    constexpr std::size_t kOf512 = 1;
    const auto lists = std::make_shared<std::vector<std::vector<KernelCall>>>(1, plan_.products[kOf512].calls);
    std::shared_ptr<KernelEngine> engine;
    try {
      engine = engine_of(setup_of(*lists, true));
    } catch (const std::exception&) {  // no bf16 here
      engine = engine_of(setup_of(*lists, false));
    }
    return [lists, engine] { engine->run(0, 0, 0); };
  }

 private:
  [[nodiscard]] static EngineSetup setup_of(const std::vector<std::vector<KernelCall>>& lists, bool half) {
    EngineSetup setup;
    setup.lists = &lists;
    setup.used = {1};
    setup.half = half;
    return setup;
  }

  [[nodiscard]] std::unique_ptr<KernelEngine> engine_of(const EngineSetup& setup) const {
    return make_kernel_engine(setup, library_.make(setup.half));
  }

  [[nodiscard]] static bool of_model(const MicroCase& one) { return one.name != "square" && one.name != "thin"; }

  [[nodiscard]] static MicroTiming row(MicroGroup group, std::size_t index, bool half) {
    MicroTiming timing;
    timing.group = group;
    timing.half = half ? 1 : 0;
    timing.index = static_cast<std::int32_t>(index);
    return timing;
  }

  /// The model's products from `first` on, on one memory, which takes long to fill: as many as are expected to fit.
  void run_together(const std::vector<MicroCase>& cases, std::size_t first, bool half, Allowance& allowance) {
    std::vector<std::vector<KernelCall>> lists;
    EngineSetup setup = setup_of(lists, half);
    setup.used.clear();
    std::vector<MicroTiming> timings;
    double expected = 0;
    std::size_t chosen = 0;
    for (std::size_t i = first; i < cases.size(); ++i) {
      lists.push_back(cases[i].calls);
      timings.push_back(row(MicroGroup::kProducts, i, half));
      MicroFate& fate = timings.back().fate;
      constexpr double kExecutions = 8;
      constexpr double kShareOfBest = 0.5;
      const double more = rate_[half] > 0 ? kExecutions * cases[i].flops / (kShareOfBest * rate_[half]) : 0;
      fate = !supported_[half]                                    ? MicroFate::kNotSupported
             : expected + more > allowance.left_s()               ? MicroFate::kNoTime
             : 2 * memory_of(cases[i], half) > available_memory() ? MicroFate::kNoMemory
                                                                  : MicroFate::kMeasured;
      setup.used.push_back(fate == MicroFate::kMeasured ? 1 : 0);
      expected += fate == MicroFate::kMeasured ? more : 0;
      chosen += fate == MicroFate::kMeasured ? 1U : 0U;
    }
    const std::unique_ptr<KernelEngine> engine = chosen > 0 ? make(setup, timings) : nullptr;
    Allowance left(allowance.end_s(), chosen);
    for (std::size_t i = 0; i < timings.size(); ++i) {
      if (engine && timings[i].fate == MicroFate::kMeasured) {
        const auto list = static_cast<int>(i);
        summarize(sample(left.next(), [&] { engine->run(list, 0, 0); }), timings[i]);
      }
    }
    result_.timings.insert(result_.timings.end(), timings.begin(), timings.end());
  }

  /// Nothing, and the reason in the rows that were to be measured, when the library or the memory does not do it.
  std::unique_ptr<KernelEngine> make(const EngineSetup& setup, std::span<MicroTiming> rows) {
    MicroFate fate = MicroFate::kNoMemory;
    try {
      return engine_of(setup);
    } catch (const std::bad_alloc&) {
    } catch (const std::exception&) {  // the library's own kinds among them
      fate = MicroFate::kNotSupported;
    }
    for (MicroTiming& timing : rows) {
      timing.fate = timing.fate == MicroFate::kMeasured ? fate : timing.fate;
    }
    return nullptr;
  }

  void measure(const MicroCase& one, double until, MicroTiming& timing) {
    const std::vector<std::vector<KernelCall>> lists = {one.calls};
    const bool half = timing.half != 0;
    const std::unique_ptr<KernelEngine> engine = make(setup_of(lists, half), {&timing, 1});
    const bool begins = timing.group == MicroGroup::kProducts && timing.index == 0;
    if (!engine) {
      supported_[half] = supported_[half] && !(begins && timing.fate == MicroFate::kNotSupported);
      return;
    }
    if (begins) {
      result_.engines.push_back(engine->description());
    }
    summarize(sample(until, [&] { engine->run(0, 0, 0); }), timing);
    rate_[half] = std::max(rate_[half], one.flops / timing.seconds);
  }

  const MicroPlan& plan_;
  MicroResult& result_;
  ProductLibrary library_{"onednn"};
  double rate_[2] = {0, 0};
  bool supported_[2] = {true, true};
};

/// Parts of the time, one after the other.
constexpr double kMessageShare = 0.22;
constexpr double kCopyShare = 0.08;
constexpr double kFileShare = 0.08;
constexpr double kProductShare = 0.25;  // of each type
constexpr double kAttentionShare = 0.06;

std::string pack(const MicroResult& result) {
  ranks::Packer packer;
  packer.array(result.timings);
  packer.value(static_cast<std::uint64_t>(result.engines.size()));
  for (const std::string& engine : result.engines) {
    packer.text(engine);
  }
  packer.text(result.files);
  return packer.take();
}

void unpack(const std::string& text, MicroResult& into) {
  ranks::Unpacker unpacker(text);
  into.timings = unpacker.array<MicroTiming>();
  for (auto left = unpacker.value<std::uint64_t>(); left > 0; --left) {
    into.engines.push_back(unpacker.text());
  }
  into.files = unpacker.text();
}

void be_rank(const MicroPlan& plan, const MicroSettings& settings, int rank, ranks::Control& control) {
  const double start = ranks::monotonic_s();
  pin_to_core_of(rank);
  MicroResult result;
  std::unique_ptr<Kernels> kernels = rank == 0 ? std::make_unique<Kernels>(plan, result) : nullptr;
  double share = 0;
  const auto until = [&](double part) { return start + (share += part) * settings.seconds; };
  const double messages_end = until(kMessageShare);
  const std::function<void()> product = rank == 0 ? kernels->product() : [] {};
  MicroMessages(plan, settings.seconds, rank, control, product).run(messages_end, result.timings);
  if (rank == 0) {
    time_copies(plan, until(kCopyShare), result.timings);
    result.files = time_files(plan, settings.scratch, until(kFileShare), result.timings);
    for (const bool half : {true, false}) {
      kernels->run(MicroGroup::kProducts, half, until(kProductShare));
    }
    for (const bool half : {true, false}) {
      kernels->run(MicroGroup::kAttention, half, until(kAttentionShare));
    }
  }
  control.report(rank == 0 ? pack(result) : "");
}

std::string load_average() {
  std::ifstream file("/proc/loadavg");
  std::string first;
  file >> first;
  return first.empty() ? "unknown" : first;
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

}  // namespace

MicroResult run_micro_benchmarks(const MicroPlan& plan, const MicroSettings& settings) {
  constexpr double kPatience = 120;  // beyond the time that is allowed: what has begun ends
  MicroResult result;
  result.processor = processor_name();
  result.cores = own_cores().size();
  result.memory_bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  const std::string before = load_average();
  const auto both =
      ranks::launch(2, [&](int rank, ranks::Control& control) { be_rank(plan, settings, rank, control); });
  both->greet(kPatience);
  both->serve([&] { return settings.seconds + kPatience; },
              [&](const std::vector<std::string>& reports) { unpack(reports.front(), result); });
  result.load = fmt::format("{} before, {} after", before, load_average());
  return result;
}

}  // namespace lamina::validate::cpu
