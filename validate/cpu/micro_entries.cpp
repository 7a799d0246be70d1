#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/report/format.hpp"
#include "validate/calibration/link_fit.hpp"
#include "validate/calibration/matrix_fit.hpp"
#include "validate/cpu/micro_benchmarks.hpp"

namespace lamina::validate::cpu {
namespace {

using calibration::Calibration;
using calibration::Collective;
using calibration::Entry;
using calibration::Kind;
using calibration::Measurement;
using scenario::DataType;

constexpr const char* kSource = "Measured by lamina calibrate on processor cores.";
constexpr double kSpread = 0.1;

using Rows = std::vector<const MicroTiming*>;

const char* name_of(MicroGroup group) {
  constexpr const char* kNames[] = {"products",   "cases of attention", "copies in memory", "file writes",
                                    "file reads", "messages",           "all-reduces",      "products beside messages"};
  return kNames[static_cast<std::size_t>(group)];
}

/// Of a group, as measured, in the order of the plan.
Rows rows_of(const MicroResult& result, MicroGroup group) {
  Rows rows;
  for (const MicroTiming& timing : result.timings) {
    if (timing.group == group && timing.fate == MicroFate::kMeasured) {
      rows.push_back(&timing);
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const MicroTiming* a, const MicroTiming* b) { return a->index < b->index; });
  return rows;
}

double bits_of(const MicroTiming& timing) {
  constexpr double kHalf = 16;
  constexpr double kSingle = 32;
  return timing.half != 0 ? kHalf : kSingle;
}

double spread_of(const Rows& rows) {
  std::vector<double> spreads;
  for (const MicroTiming* row : rows) {
    spreads.push_back(row->spread);
  }
  return calibration::median_of(spreads);
}

class Maker {
 public:
  Maker(const MicroPlan& plan, const MicroResult& result, const std::string& name)
      : plan_(plan), result_(result), name_(name) {}

  Calibration make() {
    made_.sources = {"micro-benchmarks"};
    made_.conditions = {{"hardware", result_.processor},
                        {"software", fmt::format("{}", fmt::join(result_.engines, "; "))},
                        {"cores", fmt::format("{}", result_.cores)},
                        {"load", result_.load}};
    copies_ = rows_of(result_, MicroGroup::kCopies);
    accelerators();
    links();
    host_path("", MicroGroup::kCopies, plan_.copies, "Copies in the memory of this host");
    host_path("-file-write", MicroGroup::kFileWrites, plan_.files, "Writes of a file from the memory of this host");
    host_path("-file-read", MicroGroup::kFileReads, plan_.files, "Reads of a file into the memory of this host");
    kernel_tables();
    message_tables();
    skipped();
    std::stable_sort(made_.entries.begin(), made_.entries.end(),
                     [](const Entry& a, const Entry& b) { return a.kind < b.kind; });
    return std::move(made_);
  }

 private:
  void accelerators();
  void add_accelerator(const scenario::Accelerator& core, DataType type, const std::string& suffix);
  void links();
  void add_link(const std::string& suffix, MicroGroup group, Collective collective, calibration::LinkKind kind);
  void host_path(const std::string& suffix, MicroGroup group, const std::vector<std::size_t>& sizes,
                 const std::string& summary);
  void kernel_tables();
  void message_tables();
  void skipped();

  [[nodiscard]] calibration::ProductSet products_of(DataType type) const {
    calibration::ProductSet set;
    set.file = "micro-benchmarks";
    set.type = type;
    for (const MicroTiming* row : rows_of(result_, MicroGroup::kProducts)) {
      if ((row->half != 0) == (type == DataType::kBf16)) {
        const model::Kernel& kernel = plan_.products[static_cast<std::size_t>(row->index)].calls.front().kernel;
        set.products.push_back({1, static_cast<double>(kernel.m), static_cast<double>(kernel.n),
                                static_cast<double>(kernel.k), row->seconds});
      }
    }
    return set;
  }

  /// "{bf16: 1 TFLOP/s, fp32: 500 GFLOP/s}" in the order of a scenario's types.
  [[nodiscard]] static std::string peak_text(const scenario::Accelerator& core) {
    std::string text;
    for (const auto& [type, rate] : core.peak) {
      text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", type == DataType::kBf16 ? "bf16" : "fp32",
                          calibration::work_rate_text(rate.value()));
    }
    return fmt::format("{{{}}}", text);
  }

  const MicroPlan& plan_;
  const MicroResult& result_;
  const std::string& name_;
  Rows copies_;
  Calibration made_;
};

/// The peak is what the best product reaches: the roofline's efficiency is relative to that.
void Maker::accelerators() {
  scenario::Accelerator core;
  core.name = name_;
  core.source = kSource;
  for (const DataType type : {DataType::kBf16, DataType::kFp32}) {
    double best = 0;
    for (const calibration::Product& product : products_of(type).products) {
      best = std::max(best, 2 * product.batch * product.m * product.n * product.k / product.seconds);
    }
    if (best > 0) {
      core.peak.insert({type, FlopsPerSecond(best)});
    }
  }
  if (core.peak.empty() || copies_.empty()) {
    throw error::InternalError("micro-benchmarks without a product or a copy");
  }
  core.memory = Bytes(result_.memory_bytes / static_cast<double>(std::max<std::size_t>(result_.cores, 1)));
  const MicroTiming& largest = *copies_.back();
  constexpr double kReadAndWritten = 2;
  core.memory_bandwidth = BytesPerSecond(
      kReadAndWritten * static_cast<double>(plan_.copies[static_cast<std::size_t>(largest.index)]) / largest.seconds);
  core.multiprocessors = 1;
  const bool half = core.peak.contains(DataType::kBf16);
  add_accelerator(core, half ? DataType::kBf16 : DataType::kFp32, "");
  if (half && core.peak.contains(DataType::kFp32)) {
    add_accelerator(core, DataType::kFp32, "-fp32");
  }
}

void Maker::add_accelerator(const scenario::Accelerator& core, DataType type, const std::string& suffix) {
  static const catalog::Catalog<model::CostModel> cost_models = model::cost_models();
  Entry entry = calibration::fit_products(products_of(type), core, cost_models);
  const char* const type_name = type == DataType::kBf16 ? "bf16" : "fp32";
  entry.name = name_ + suffix;
  entry.summary = fmt::format("One processor core of this machine; cost model of its {} products", type_name);
  entry.source = kSource;
  entry.measured = {{"what", "matrix products"}, {"data_type", type_name}};
  entry.settings.insert(entry.settings.begin(),
                        {{"memory", calibration::size_text(core.memory.value())}, {"multiprocessors", "1"}});
  const std::size_t size = plan_.copies[static_cast<std::size_t>(copies_.back()->index)];
  constexpr std::size_t kBeyondCaches = std::size_t{64} << 20;
  entry.constants.insert(
      entry.constants.begin(),
      {{"peak", core.peak.at(type).value(), peak_text(core), "the best product of each type", true},
       {"memory_bandwidth", core.memory_bandwidth.value(), calibration::rate_text(core.memory_bandwidth.value()),
        fmt::format("copies of {}, read and written", calibration::size_text(static_cast<double>(size))),
        size >= kBeyondCaches}});
  entry.notes.push_back("The memory is the host's, divided by the cores that were available.");
  Rows rows = rows_of(result_, MicroGroup::kProducts);
  std::erase_if(rows, [&](const MicroTiming* row) { return (row->half != 0) != (type == DataType::kBf16); });
  entry.spread = spread_of(rows);
  made_.entries.push_back(std::move(entry));
}

void Maker::links() {
  add_link("", MicroGroup::kMessages, Collective::kSendReceive, calibration::LinkKind::kDeviceLink);
  add_link("-ring", MicroGroup::kReductions, Collective::kAllReduce, calibration::LinkKind::kDeviceLink);
  add_link("", MicroGroup::kMessages, Collective::kSendReceive, calibration::LinkKind::kNetwork);
}

void Maker::add_link(const std::string& suffix, MicroGroup group, Collective collective, calibration::LinkKind kind) {
  const Rows rows = rows_of(result_, group);
  if (rows.empty()) {
    return;
  }
  const bool network = kind == calibration::LinkKind::kNetwork;
  calibration::TransferSet set;
  set.file = "micro-benchmarks";
  set.collective = collective;
  set.ranks = 2;
  set.nodes = network ? 2 : 1;
  for (const MicroTiming* row : rows) {
    const auto bytes = static_cast<double>(plan_.messages[static_cast<std::size_t>(row->index)]);
    set.transfers.push_back({bytes, row->seconds});
  }
  Entry entry = calibration::fit_link(set, {kind, 1, false});
  const std::string what = collective == Collective::kAllReduce ? "ring all-reduces" : "messages";
  entry.name = name_ + suffix;
  entry.summary = fmt::format("{} over TCP on the loopback interface between two cores",
                              collective == Collective::kAllReduce ? "Ring all-reduces" : "Messages");
  entry.source = kSource;
  entry.measured = {{"what", fmt::format("{} of two processes", what)}, {"transport", "TCP, loopback"}};
  entry.notes = {
      "Sender and receiver use a core each; a network card of its own costs them less, and has a rate of its own."};
  entry.spread = spread_of(rows);
  entry.table = {{"size_bytes", "time_s", "samples", "spread"}, 1, {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    entry.table.rows.push_back({set.transfers[i].bytes, rows[i]->seconds, rows[i]->samples, rows[i]->spread});
  }
  made_.entries.push_back(std::move(entry));
}

void Maker::host_path(const std::string& suffix, MicroGroup group, const std::vector<std::size_t>& sizes,
                      const std::string& summary) {
  const Rows rows = rows_of(result_, group);
  if (rows.empty()) {
    return;
  }
  std::vector<calibration::CopyTime> times;
  for (const MicroTiming* row : rows) {
    times.push_back({static_cast<double>(sizes[static_cast<std::size_t>(row->index)]), row->seconds,
                     static_cast<double>(row->samples), row->spread});
  }
  Entry entry = calibration::fit_host_path(times);
  entry.name = name_ + suffix;
  entry.summary = summary;
  entry.source = kSource;
  entry.spread = spread_of(rows);
  entry.measured = {{"what", name_of(group)}};
  if (group == MicroGroup::kCopies) {
    entry.notes = {"Copies that fit into the caches are faster than the line."};
  } else {
    entry.measured.push_back({"access", result_.files});
  }
  made_.entries.push_back(std::move(entry));
}

/// Rows sorted and each once.
void add_table(Calibration& to, Measurement measurement) {
  if (!measurement.table.rows.empty()) {
    std::sort(measurement.table.rows.begin(), measurement.table.rows.end());
    to.measurements.push_back(std::move(measurement));
  }
}

void Maker::kernel_tables() {
  Measurement products{"products",
                       "Matrix products m x k by k x n. Pass 0: forward, 2: gradient of the input, 3: of the weights.",
                       {},
                       {{"bits", "pass", "m", "n", "k", "time_s", "samples", "spread", "flops_per_s"}, 5, {}}};
  for (const MicroTiming* row : rows_of(result_, MicroGroup::kProducts)) {
    const MicroCase& one = plan_.products[static_cast<std::size_t>(row->index)];
    const model::Kernel& kernel = one.calls.front().kernel;
    products.table.rows.push_back({bits_of(*row), static_cast<double>(one.calls.front().pass),
                                   static_cast<double>(kernel.m), static_cast<double>(kernel.n),
                                   static_cast<double>(kernel.k), row->seconds, row->samples, row->spread,
                                   std::round(one.flops / row->seconds)});
  }
  add_table(made_, std::move(products));
  Measurement attention{
      "attention",
      "The core of attention: scores, softmax and values of so many heads, whole squares.",
      {"Of memory-bound kernels the bytes are moved; exponents are not computed."},
      {{"bits", "fused", "backward", "heads", "tokens", "head_size", "time_s", "samples", "spread", "flops_per_s"},
       6,
       {}}};
  for (const MicroTiming* row : rows_of(result_, MicroGroup::kAttention)) {
    const MicroCase& one = plan_.attention[static_cast<std::size_t>(row->index)];
    const model::Kernel& kernel = one.calls.front().kernel;  // scores: n = tokens; fused: n = size of a head
    attention.table.rows.push_back({bits_of(*row), one.fused ? 1.0 : 0.0, one.backward ? 1.0 : 0.0, kernel.batch,
                                    static_cast<double>(kernel.m), static_cast<double>(std::min(kernel.n, kernel.k)),
                                    row->seconds, row->samples, row->spread, std::round(one.flops / row->seconds)});
  }
  add_table(made_, std::move(attention));
}

void Maker::message_tables() {
  Measurement messages{
      "messages",
      "Messages over TCP on loopback: half of there and back; one of a stream; and the processor "
      "time that one costs the threads at its ends.",
      {},
      {{"size_bytes", "time_s", "samples", "spread", "stream_s", "sender_cpu_s", "receiver_cpu_s"}, 1, {}}};
  for (const MicroTiming* row : rows_of(result_, MicroGroup::kMessages)) {
    messages.table.rows.push_back({static_cast<double>(plan_.messages[static_cast<std::size_t>(row->index)]),
                                   row->seconds, row->samples, row->spread, row->stream_s, row->sender_cpu_s,
                                   row->receiver_cpu_s});
  }
  add_table(made_, std::move(messages));
  Measurement beside{"compute_beside_messages",
                     "A product of 512 x 512 x 512 alone, and while a second thread of its core exchanges messages "
                     "(mean): slowdown is the share of the core that they take.",
                     {},
                     {{"size_bytes", "alone_s", "beside_s", "samples", "spread", "slowdown"}, 1, {}}};
  for (const MicroTiming* row : rows_of(result_, MicroGroup::kBeside)) {
    beside.table.rows.push_back({static_cast<double>(plan_.beside[static_cast<std::size_t>(row->index)]), row->alone_s,
                                 row->seconds, row->samples, row->spread,
                                 std::max(0.0, 1 - row->alone_s / row->seconds)});
  }
  add_table(made_, std::move(beside));
}

void Maker::skipped() {
  std::map<std::pair<MicroGroup, MicroFate>, int> counts;
  for (const MicroTiming& timing : result_.timings) {
    ++counts[{timing.group, timing.fate}];
  }
  for (const auto& [key, count] : counts) {
    const char* const reason = key.second == MicroFate::kNoTime     ? "no time was left: --seconds"
                               : key.second == MicroFate::kNoMemory ? "too little memory or space"
                                                                    : "the library cannot do this type here";
    if (key.second != MicroFate::kMeasured) {
      made_.skipped.push_back(fmt::format("{} of {}: {}", count, name_of(key.first), reason));
    }
  }
  if (result_.files.starts_with("files were not measured")) {
    made_.skipped.push_back(result_.files);
  }
}

}  // namespace

Calibration micro_calibration(const MicroPlan& plan, const MicroResult& result, const std::string& name) {
  return Maker(plan, result, name).make();
}

std::vector<std::string> micro_warnings(const MicroResult& result) {
  std::vector<std::string> warnings;
  if (result.cores < 2) {
    warnings.emplace_back("Two processes share one core: what is measured of messages says little.");
  }
  for (std::int32_t i = 0; i <= static_cast<std::int32_t>(MicroGroup::kBeside); ++i) {
    const auto group = static_cast<MicroGroup>(i);
    const Rows rows = rows_of(result, group);
    double worst = 0;
    std::size_t unsteady = 0;
    for (const MicroTiming* row : rows) {
      worst = std::max(worst, row->spread);
      unsteady += row->spread > kSpread ? 1U : 0U;
    }
    if (unsteady > 0) {
      warnings.push_back(fmt::format(
          "{} of {} {} spread by more than 10 % between repeats (interquartile range), at worst by {}: the machine is "
          "shared or unsteady.",
          unsteady, rows.size(), name_of(group), report::percent(worst)));
    }
  }
  return warnings;
}

}  // namespace lamina::validate::cpu
