#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/scenario/resolve.hpp"
#include "validate/calibration/link_fit.hpp"
#include "validate/calibration/matrix_fit.hpp"
#include "validate/cuda/micro.hpp"
#include "validate/plugins.hpp"

namespace lamina::validate::cuda {
namespace {

using calibration::Calibration;
using calibration::Entry;
using calibration::Kind;
using calibration::Measurement;
using cpu::MicroFate;
using scenario::DataType;

constexpr const char* kSource = "Measured by lamina calibrate on a GPU.";

using Rows = std::vector<const MicroTiming*>;

const char* name_of(MicroGroup group) {
  constexpr const char* kNames[] = {"products", "copies on the device", "copies from the host", "copies to the host",
                                    "launches"};
  return kNames[static_cast<std::size_t>(group)];
}

double median_spread(const Rows& rows) {
  std::vector<double> spreads;
  for (const MicroTiming* row : rows) {
    spreads.push_back(row->spread);
  }
  return calibration::median_of(spreads);
}

class Maker {
 public:
  Maker(const cpu::MicroPlan& plan, const MicroResult& result, const std::string& name)
      : plan_(plan), result_(result), name_(name) {}

  Calibration make() {
    made_.sources = {"micro-benchmarks"};
    made_.conditions = {{"hardware", result_.device.name}, {"software", result_.software}};
    accelerators();
    host_path("", MicroGroup::kFromHost);
    host_path("-to-host", MicroGroup::kToHost);
    product_table();
    copy_table("device_copies", "Copies on the device by a kernel: bytes are read and written once.",
               MicroGroup::kMemory);
    launch_table();
    skipped();
    return std::move(made_);
  }

 private:
  [[nodiscard]] Rows rows_of(MicroGroup group) const {
    Rows rows;
    for (const MicroTiming& timing : result_.timings) {
      if (timing.group == group && timing.fate == MicroFate::kMeasured && timing.seconds > 0) {
        rows.push_back(&timing);
      }
    }
    return rows;
  }

  [[nodiscard]] calibration::ProductSet products_of(DataType type) const {
    calibration::ProductSet set;
    set.file = "micro-benchmarks";
    set.type = type;
    for (const MicroTiming* row : rows_of(MicroGroup::kProducts)) {
      if (row->type == type) {
        const model::Kernel& kernel = plan_.products[row->index].calls.front().kernel;
        set.products.push_back({1, static_cast<double>(kernel.m), static_cast<double>(kernel.n),
                                static_cast<double>(kernel.k), row->seconds});
      }
    }
    return set;
  }

  void accelerators();
  void add_accelerator(const scenario::Accelerator& device, DataType type, const std::string& suffix);
  void host_path(const std::string& suffix, MicroGroup group);
  void product_table();
  void copy_table(const char* name, const char* summary, MicroGroup group);
  void launch_table();
  void skipped();

  const cpu::MicroPlan& plan_;
  const MicroResult& result_;
  const std::string& name_;
  Calibration made_;
};

/// The peak is what the best product reaches: the roofline's efficiency is relative to that.
void Maker::accelerators() {
  scenario::Accelerator device;
  device.name = name_;
  device.source = kSource;
  for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kTf32, DataType::kFp8}) {
    double best = 0;
    for (const calibration::Product& product : products_of(type).products) {
      best = std::max(best, 2 * product.m * product.n * product.k / product.seconds);
    }
    if (best > 0) {
      device.peak.insert({type, FlopsPerSecond(best)});
    }
  }
  const Rows copies = rows_of(MicroGroup::kMemory);
  if (device.peak.empty() || copies.empty()) {
    throw error::EnvironmentError("no matrix product or no copy could be measured on the GPU: its memory is taken");
  }
  device.memory = Bytes(result_.device.memory_bytes);
  constexpr double kReadAndWritten = 2;
  device.memory_bandwidth = BytesPerSecond(kReadAndWritten * static_cast<double>(plan_.copies[copies.back()->index]) /
                                           copies.back()->seconds);
  device.multiprocessors = result_.device.multiprocessors;
  bool first = true;
  for (const auto& [type, rate] : device.peak) {
    add_accelerator(device, type, first ? "" : fmt::format("-{}", scenario::name_of(type)));
    first = false;
  }
}

void Maker::add_accelerator(const scenario::Accelerator& device, DataType type, const std::string& suffix) {
  static const catalog::Catalog<model::CostModel> cost_models = model::cost_models();
  Entry entry = calibration::fit_products(products_of(type), device, cost_models);
  entry.name = name_ + suffix;
  entry.summary = fmt::format("{}; cost model of its {} products", result_.device.name, scenario::name_of(type));
  entry.source = kSource;
  entry.measured = {{"what", "matrix products"}, {"data_type", scenario::name_of(type)}};
  entry.settings.insert(entry.settings.begin(), {{"memory", calibration::size_text(device.memory.value())},
                                                 {"multiprocessors", fmt::format("{}", device.multiprocessors)}});
  std::string peaks;
  for (const auto& [each, rate] : device.peak) {
    peaks += fmt::format("{}{}: {}", peaks.empty() ? "" : ", ", scenario::name_of(each),
                         calibration::work_rate_text(rate.value()));
  }
  const Rows copies = rows_of(MicroGroup::kMemory);
  const auto largest = static_cast<double>(plan_.copies[copies.back()->index]);
  constexpr double kBeyondCaches = 256.0 * 1024 * 1024;
  entry.constants.insert(
      entry.constants.begin(),
      {{"peak", device.peak.at(type).value(), fmt::format("{{{}}}", peaks), "the best product of each type", true},
       {"memory_bandwidth", device.memory_bandwidth.value(), calibration::rate_text(device.memory_bandwidth.value()),
        fmt::format("copies of {}, read and written", calibration::size_text(largest)), largest >= kBeyondCaches}});
  Rows rows = rows_of(MicroGroup::kProducts);
  std::erase_if(rows, [&](const MicroTiming* row) { return row->type != type; });
  entry.spread = median_spread(rows);
  made_.entries.push_back(std::move(entry));
}

void Maker::host_path(const std::string& suffix, MicroGroup group) {
  const Rows rows = rows_of(group);
  if (rows.empty()) {
    return;
  }
  std::vector<calibration::CopyTime> times;
  for (const MicroTiming* row : rows) {
    times.push_back(
        {static_cast<double>(plan_.copies[row->index]), row->seconds, static_cast<double>(row->samples), row->spread});
  }
  Entry entry = calibration::fit_host_path(times);
  entry.name = name_ + suffix;
  entry.summary = fmt::format("Pinned memory: {}", name_of(group));
  entry.source = kSource;
  entry.measured = {{"what", name_of(group)}};
  entry.spread = median_spread(rows);
  made_.entries.push_back(std::move(entry));
}

void Maker::product_table() {
  for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kTf32, DataType::kFp8}) {
    Measurement products{
        fmt::format("products_{}", scenario::name_of(type)),
        "Matrix products m x k by k x n. Pass 0: forward, 2: gradient of the input, 3: of the weights.",
        {"Operands are the same at every execution: small ones stay in the device's caches."},
        {{"pass", "m", "n", "k", "time_s", "samples", "spread", "flops_per_s"}, 4, {}}};
    for (const MicroTiming* row : rows_of(MicroGroup::kProducts)) {
      if (row->type == type) {
        const cpu::MicroCase& one = plan_.products[row->index];
        const model::Kernel& kernel = one.calls.front().kernel;
        products.table.rows.push_back({static_cast<double>(one.calls.front().pass), static_cast<double>(kernel.m),
                                       static_cast<double>(kernel.n), static_cast<double>(kernel.k), row->seconds,
                                       row->samples, row->spread, std::round(one.flops / row->seconds)});
      }
    }
    if (!products.table.rows.empty()) {
      std::sort(products.table.rows.begin(), products.table.rows.end());
      made_.measurements.push_back(std::move(products));
    }
  }
}

void Maker::copy_table(const char* name, const char* summary, MicroGroup group) {
  Measurement copies{name, summary, {}, {{"size_bytes", "time_s", "samples", "spread"}, 1, {}}};
  for (const MicroTiming* row : rows_of(group)) {
    copies.table.rows.push_back(
        {static_cast<double>(plan_.copies[row->index]), row->seconds, row->samples, row->spread});
  }
  made_.measurements.push_back(std::move(copies));
}

void Maker::launch_table() {
  Measurement launches{"launches",
                       "The smallest kernel alone between two events (1 in a row), and one of many in a row.",
                       {"Events resolve about half a microsecond."},
                       {{"in_a_row", "time_s", "samples", "spread"}, 1, {}}};
  for (const MicroTiming* row : rows_of(MicroGroup::kLaunches)) {
    launches.table.rows.push_back({row->index == kLaunchFloor ? 1.0 : static_cast<double>(kLaunchesInARow),
                                   row->seconds, row->samples, row->spread});
  }
  if (!launches.table.rows.empty()) {
    made_.measurements.push_back(std::move(launches));
  }
}

void Maker::skipped() {
  std::map<std::pair<MicroGroup, MicroFate>, int> counts;
  for (const MicroTiming& timing : result_.timings) {
    ++counts[{timing.group, timing.fate}];
  }
  for (const auto& [key, count] : counts) {
    const char* const reason = key.second == MicroFate::kNoTime     ? "no time was left: --seconds"
                               : key.second == MicroFate::kNoMemory ? "too little memory"
                                                                    : "the device does not multiply this type";
    if (key.second != MicroFate::kMeasured) {
      made_.skipped.push_back(fmt::format("{} of {}: {}", count, name_of(key.first), reason));
    }
  }
  made_.skipped.emplace_back("attention, messages and collectives: not measured on GPUs yet");
}

}  // namespace

MicroResult run_micro_benchmarks(const MicroRequest& request) {
  const Plugin plugin("cuda");
  MicroResult result;
  plugin.entry<Measure>("lamina_cuda_measure")(request, result);
  return result;
}

Calibration micro_calibration(const cpu::MicroPlan& plan, const MicroResult& result, const std::string& name) {
  return Maker(plan, result, name).make();
}

}  // namespace lamina::validate::cuda
