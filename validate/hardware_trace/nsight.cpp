#include "validate/hardware_trace/nsight.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "validate/hardware_trace/byte_source.hpp"
#include "validate/hardware_trace/classify.hpp"
#include "validate/hardware_trace/numbers.hpp"
#include "validate/hardware_trace/sqlite_file.hpp"

namespace lamina::validate::hardware_trace {
namespace {

constexpr std::int64_t kMostWork = 100'000'000'000;
constexpr std::int64_t kThreads = 0x1000000;  // a globalTid is a globalPid plus the thread in its low 24 bits

/// Kinds of copies: ENUM_CUDA_MEMCPY_OPER of the export.
EventClass class_of_copy_kind(std::int64_t kind) {
  switch (kind) {
    case 1:
    case 11:  // unified memory
      return EventClass::kCopyFromHost;
    case 2:
    case 12:
      return EventClass::kCopyToHost;
    case 10:
      return EventClass::kCopyBetweenDevices;
    default:
      return EventClass::kCopyOnDevice;
  }
}

std::string_view name_of_copy(EventClass kind) {
  switch (kind) {
    case EventClass::kCopyFromHost:
      return "Memcpy HtoD";
    case EventClass::kCopyToHost:
      return "Memcpy DtoH";
    case EventClass::kCopyBetweenDevices:
      return "Memcpy PtoP";
    default:
      return "Memcpy DtoD";
  }
}

class Reader {
 public:
  Reader(SqliteFile& file, Limits limits) : file_(file), limits_(limits) {}

  [[nodiscard]] std::vector<RankTrace> read() {
    if (!file_.has_table("CUPTI_ACTIVITY_KIND_KERNEL") && !file_.has_table("CUPTI_ACTIVITY_KIND_MEMCPY")) {
      refuse(file_.name(), "The file has no table of kernels or copies (CUPTI_ACTIVITY_KIND_KERNEL).", {},
             "an export of Nsight Systems with CUDA traced: nsys profile --trace cuda,nvtx");
    }
    read_strings();
    read_kernels();
    read_copies();
    read_sets();
    if (devices_.empty()) {
      refuse(file_.name(), "The file holds no kernels and no copies of a device.");
    }
    read_launches();
    read_ranges();
    return finish();
  }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  ///< process, device

  void read_strings();
  void read_kernels();
  void read_copies();
  void read_sets();
  void read_launches();
  void read_ranges();
  void read_names_of_devices(std::vector<RankTrace>& traces);
  [[nodiscard]] std::int64_t session_start();
  [[nodiscard]] std::vector<RankTrace> finish();

  void count_row(const Rows& rows) {
    if (++rows_ > 4 * limits_.events) {
      rows.refuse_row("There are too many rows");
    }
  }

  [[nodiscard]] Builder& builder(std::int64_t process, std::int64_t device) {
    auto& entry = devices_[{process, device}];
    if (!entry) {
      constexpr std::size_t kMostDevices = 100000;
      if (devices_.size() > kMostDevices) {
        refuse(file_.name(), "There are too many processes and devices.");
      }
      entry = std::make_unique<Builder>(file_.name(), Format::kNsight, limits_);
      entry->trace().device = static_cast<std::int32_t>(std::clamp<std::int64_t>(device, -1, 0x7fffffff));
    }
    return *entry;
  }

  /// Columns 0 to 5 of every activity: start, end, deviceId, streamId, correlationId, globalPid.
  [[nodiscard]] Event event_of(const Rows& rows) const {
    const auto start = rows.whole(0);
    const auto end = rows.whole(1);
    if (!start || !end || *start < kEarliestNs || *start > kLatestNs || *end < *start || *end - *start > kLongestNs) {
      rows.refuse_row("start or end is missing, reversed or no date in nanoseconds");
    }
    Event event;
    event.start_ns = *start;
    event.duration_ns = *end - *start;
    event.stream = static_cast<std::int32_t>(std::clamp<std::int64_t>(rows.whole(3).value_or(-1), -1, 0x7fffffff));
    event.correlation = static_cast<std::uint32_t>(rows.whole(4).value_or(0));
    return event;
  }

  [[nodiscard]] std::string_view string_of(std::optional<std::int64_t> id) const {
    const auto found = id ? strings_.find(*id) : strings_.end();
    return found == strings_.end() ? std::string_view() : std::string_view(found->second);
  }

  void keep_range(std::int64_t process, std::string_view name, std::int64_t start, std::int64_t end);

  SqliteFile& file_;
  Limits limits_;
  std::size_t rows_ = 0;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::map<Key, std::unique_ptr<Builder>> devices_;
};

void Reader::read_strings() {
  if (!file_.has_table("StringIds")) {
    return;
  }
  std::size_t bytes = 0;
  Rows rows(file_, "StringIds", {"id", "value"});
  while (rows.next()) {
    const auto id = rows.whole(0);
    const auto value = rows.text(1);
    if (!id || !value) {
      continue;
    }
    bytes += value->size();
    if (strings_.size() >= limits_.names || bytes > limits_.name_bytes) {
      rows.refuse_row("There are too many strings");
    }
    strings_.emplace(*id, *value);
  }
}

void Reader::read_kernels() {
  if (!file_.has_table("CUPTI_ACTIVITY_KIND_KERNEL")) {
    return;
  }
  Rows rows(file_, "CUPTI_ACTIVITY_KIND_KERNEL",
            {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName", "shortName"});
  while (rows.next()) {
    count_row(rows);
    Event event = event_of(rows);
    std::string_view name = string_of(rows.whole(6));
    if (name.empty()) {
      name = string_of(rows.whole(7));
    }
    Builder& into = builder(rows.whole(5).value_or(0), rows.whole(2).value_or(-1));
    event.kind = class_of_kernel(name);
    event.name = into.intern(name);
    into.add(event, -1);
  }
}

void Reader::read_copies() {
  if (!file_.has_table("CUPTI_ACTIVITY_KIND_MEMCPY")) {
    return;
  }
  Rows rows(file_, "CUPTI_ACTIVITY_KIND_MEMCPY",
            {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "copyKind"});
  while (rows.next()) {
    count_row(rows);
    Event event = event_of(rows);
    Builder& into = builder(rows.whole(5).value_or(0), rows.whole(2).value_or(-1));
    event.kind = class_of_copy_kind(rows.whole(6).value_or(0));
    event.name = into.intern(name_of_copy(event.kind));
    into.add(event, -1);
  }
}

void Reader::read_sets() {
  if (!file_.has_table("CUPTI_ACTIVITY_KIND_MEMSET")) {
    return;
  }
  Rows rows(file_, "CUPTI_ACTIVITY_KIND_MEMSET",
            {"start", "end", "deviceId", "streamId", "correlationId", "globalPid"});
  while (rows.next()) {
    count_row(rows);
    Event event = event_of(rows);
    Builder& into = builder(rows.whole(5).value_or(0), rows.whole(2).value_or(-1));
    event.kind = EventClass::kSet;
    event.name = into.intern("Memset");
    into.add(event, -1);
  }
}

void Reader::read_launches() {
  if (!file_.has_table("CUPTI_ACTIVITY_KIND_RUNTIME")) {
    return;
  }
  Rows rows(file_, "CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "correlationId", "globalTid", "nameId"});
  while (rows.next()) {
    count_row(rows);
    const auto start = rows.whole(0);
    const auto correlation = rows.whole(1);
    const std::string_view name = string_of(rows.whole(3));
    const bool launches = name.find("aunch") != std::string_view::npos || name.find("Mem") != std::string_view::npos;
    if (!start || !correlation || !launches || *start < kEarliestNs || *start > kLatestNs) {
      continue;
    }
    const std::int64_t process = rows.whole(2).value_or(0) / kThreads * kThreads;
    for (auto it = devices_.lower_bound({process, -1}); it != devices_.end() && it->first.first == process; ++it) {
      it->second->add_launch(static_cast<std::uint32_t>(*correlation), *start);
    }
  }
}

void Reader::keep_range(std::int64_t process, std::string_view name, std::int64_t start, std::int64_t end) {
  name = name.substr(0, name.find(", op_id"));  // what PyTorch's emit_nvtx appends
  Action action;
  action.start_ns = start;
  action.end_ns = end;
  const std::int64_t step = step_number(name);
  if (step < 0 && !parse_action(name, action)) {
    return;
  }
  for (auto it = devices_.lower_bound({process, -1}); it != devices_.end() && it->first.first == process; ++it) {
    if (step >= 0) {
      it->second->add_step({step, start, end});
    } else {
      action.name = it->second->intern(name);
      it->second->add_action(action);
    }
  }
}

void Reader::read_ranges() {
  if (!file_.has_table("NVTX_EVENTS")) {
    return;
  }
  Rows rows(file_, "NVTX_EVENTS", {"start", "end", "text", "textId", "globalTid", "eventType"});
  while (rows.next()) {
    count_row(rows);
    const auto start = rows.whole(0);
    const auto end = rows.whole(1);
    const std::int64_t type = rows.whole(5).value_or(59);
    const bool is_range = type == 59 || type == 60;  // NvtxPushPopRange, NvtxStartEndRange
    if (!is_range || !start || !end || *start < kEarliestNs || *start > kLatestNs || *end < *start ||
        *end - *start > kLongestNs) {
      continue;  // marks, and ranges that never ended
    }
    keep_range(rows.whole(4).value_or(0) / kThreads * kThreads, rows.text(2).value_or(string_of(rows.whole(3))), *start,
               *end);
  }
}

std::int64_t Reader::session_start() {
  if (!file_.has_table("TARGET_INFO_SESSION_START_TIME")) {
    return 0;
  }
  Rows rows(file_, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"});
  if (!rows.next()) {
    return 0;
  }
  const std::int64_t start = rows.whole(0).value_or(0);
  if (start < 0 || start > kLatestNs) {
    rows.refuse_row("utcEpochNs is no date in nanoseconds");
  }
  return start;
}

void Reader::read_names_of_devices(std::vector<RankTrace>& traces) {
  if (!file_.has_table("TARGET_INFO_GPU")) {
    return;
  }
  Rows rows(file_, "TARGET_INFO_GPU", {"id", "name"});
  while (rows.next()) {
    count_row(rows);
    for (RankTrace& trace : traces) {
      if (rows.whole(0) && *rows.whole(0) == trace.device) {
        trace.device_name = rows.text(1).value_or("");
      }
    }
  }
}

std::vector<RankTrace> Reader::finish() {
  const std::int64_t base = session_start();
  std::vector<RankTrace> result;
  for (auto& [key, each] : devices_) {
    each->trace().title =
        devices_.size() > 1 ? fmt::format("process {}, device {}", key.first / kThreads % kThreads, key.second) : "";
    RankTrace trace = each->finish(base);
    trace.records = static_cast<std::int64_t>(trace.events.size());
    result.push_back(std::move(trace));
  }
  read_names_of_devices(result);
  return result;
}

}  // namespace

std::vector<RankTrace> read_nsight(const std::filesystem::path& file, Limits limits) {
  SqliteFile sqlite(file, kMostWork);
  return Reader(sqlite, limits).read();
}

std::vector<RankTrace> read_nsight_bytes(std::string_view bytes, const std::string& file, Limits limits) {
  constexpr std::int64_t kWorkPerEvent = 1000;
  SqliteFile sqlite(bytes, file, std::min(kMostWork, static_cast<std::int64_t>(limits.events) * kWorkPerEvent));
  return Reader(sqlite, limits).read();
}

}  // namespace lamina::validate::hardware_trace
