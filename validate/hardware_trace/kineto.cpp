#include "validate/hardware_trace/kineto.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

#include "validate/hardware_trace/classify.hpp"
#include "validate/hardware_trace/json_stream.hpp"
#include "validate/hardware_trace/kineto_fields.hpp"
#include "validate/hardware_trace/numbers.hpp"

namespace lamina::validate::hardware_trace {
namespace {

constexpr std::int64_t kLongestValue = std::int64_t{64} << 20U;  ///< a single string or run of white space
constexpr std::size_t kDeepest = 64;

/// One event while it is read; its strings keep their storage from event to event.
struct Pending {
  std::string name;
  std::string start;
  std::string duration;
  std::string collective;
  std::string group;
  std::string type;
  Category category = Category::kOther;
  bool complete = false;  ///< "ph": "X"
  std::optional<std::int64_t> process, stream, device, correlation, external_id, elements_in, elements_out, group_size,
      sequence, source, destination;

  void clear() {
    for (std::string* text : {&name, &start, &duration, &collective, &group, &type}) {
      text->clear();
    }
    category = Category::kOther;
    complete = false;
    for (auto* value : {&process, &stream, &device, &correlation, &external_id, &elements_in, &elements_out,
                        &group_size, &sequence, &source, &destination}) {
      value->reset();
    }
  }
};

std::int32_t small(const std::optional<std::int64_t>& value, std::int32_t otherwise) {
  constexpr std::int64_t kMost = 0x7fffffff;
  return value && *value >= -1 && *value <= kMost ? static_cast<std::int32_t>(*value) : otherwise;
}

/// Builds a RankTrace from the events of RapidJSON's reader.
class Handler : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Handler> {
 public:
  Handler(ByteSource& source, Limits limits) : source_(source), builder_(source.file(), Format::kKineto, limits) {}

  [[nodiscard]] RankTrace finish();

  bool Key(const char* text, rapidjson::SizeType length, bool /*copy*/) {
    const std::string_view key(text, length);
    const Where where = path_.back();
    if (where == Where::kEvent) {
      field_ = field_of_event(key);
      arguments_next_ = key == "args";
    } else if (where == Where::kArguments) {
      field_ = field_of_arguments(key);
    } else {
      key_.assign(key);
    }
    return true;
  }

  bool StartObject() { return enter(object_within()); }

  bool StartArray() { return enter(array_within()); }

  bool EndObject(rapidjson::SizeType /*members*/) {
    const Where ended = path_.back();
    path_.pop_back();
    if (ended == Where::kEvent) {
      source_.allow(kLongestValue);
      keep();
    } else if (ended == Where::kDevice) {
      devices_.emplace(device_id_, device_name_);
    }
    return true;
  }

  bool EndArray(rapidjson::SizeType /*elements*/) {
    path_.pop_back();
    return true;
  }

  bool String(const char* text, rapidjson::SizeType length, bool /*copy*/) { return value({text, length}); }

  bool RawNumber(const char* text, rapidjson::SizeType length, bool /*copy*/) { return value({text, length}); }

 private:
  enum class Where : std::uint8_t { kTop, kEvents, kEvent, kArguments, kDistributed, kDevices, kDevice, kOther };

  [[nodiscard]] Where object_within() {
    if (path_.empty()) {
      return Where::kTop;
    }
    switch (path_.back()) {
      case Where::kEvents:
        pending_.clear();
        return Where::kEvent;
      case Where::kEvent:
        return arguments_next_ ? Where::kArguments : Where::kOther;
      case Where::kTop:
        return key_ == "distributedInfo" ? Where::kDistributed : Where::kOther;
      case Where::kDevices:
        device_id_ = -1;
        device_name_.clear();
        return Where::kDevice;
      default:
        return Where::kOther;
    }
  }

  [[nodiscard]] Where array_within() {
    if (path_.empty()) {
      return Where::kEvents;
    }
    if (path_.back() != Where::kTop) {
      return Where::kOther;
    }
    if (key_ == "nodes" || key_ == "workload_graph") {
      execution_trace_ = true;
    }
    if (key_ == "deviceProperties") {
      return Where::kDevices;
    }
    return key_ == "traceEvents" ? Where::kEvents : Where::kOther;
  }

  bool enter(Where where) {
    if (path_.size() >= kDeepest) {
      refuse(source_.file(),
             fmt::format("Objects and arrays are nested more than {} deep (byte {}).", kDeepest, source_.position()));
    }
    path_.push_back(where);
    if (path_.size() <= 2) {
      source_.allow(kLongestValue);
    }
    return true;
  }

  bool value(std::string_view text);
  void value_of_event(std::string_view text);
  void value_of_arguments(std::string_view text);
  void value_of_top(std::string_view text);
  void keep();
  void keep_device_event(EventClass kind);
  void keep_range(std::int64_t start_ns, std::int64_t end_ns, bool on_device);
  [[nodiscard]] std::int64_t nanoseconds(const std::string& text, const char* what, std::int64_t least,
                                         std::int64_t most) const;
  [[nodiscard]] Communication communication(DetailSource found_in);

  ByteSource& source_;
  Builder builder_;
  std::vector<Where> path_;
  std::string key_;
  Field field_ = Field::kNone;
  bool arguments_next_ = false;
  Pending pending_;
  std::int64_t base_ns_ = 0;
  std::int64_t device_id_ = -1;
  std::string device_name_;
  std::map<std::int64_t, std::string> devices_;
  std::vector<Action> device_actions_;
  std::vector<Step> device_steps_;
  bool execution_trace_ = false;  ///< operators instead of events
  bool pipeline_job_ = false;     ///< events of whole passes instead of kernels
};

bool Handler::value(std::string_view text) {
  if (path_.empty()) {
    return true;
  }
  switch (path_.back()) {
    case Where::kEvent:
      value_of_event(text);
      break;
    case Where::kArguments:
      value_of_arguments(text);
      break;
    case Where::kTop:
    case Where::kDistributed:
    case Where::kDevice:
      value_of_top(text);
      break;
    default:
      break;
  }
  return true;
}

void Handler::value_of_event(std::string_view text) {
  switch (field_) {
    case Field::kName:
      pending_.name.assign(text);
      break;
    case Field::kCategory:
      pending_.category = category_of(text);
      break;
    case Field::kPhase:
      pending_.complete = text == "X";
      break;
    case Field::kStart:
      pending_.start.assign(text);
      break;
    case Field::kDuration:
      pending_.duration.assign(text);
      break;
    case Field::kProcess:
      pending_.process = scaled_decimal(text, 0);
      break;
    default:
      break;
  }
}

void Handler::value_of_arguments(std::string_view text) {
  switch (field_) {
    case Field::kStream:
      pending_.stream = scaled_decimal(text, 0);
      break;
    case Field::kDevice:
      pending_.device = scaled_decimal(text, 0);
      break;
    case Field::kCorrelation:
      pending_.correlation = scaled_decimal(text, 0);
      break;
    case Field::kExternalId:
      pending_.external_id = scaled_decimal(text, 0);
      break;
    case Field::kElementsIn:
      pending_.elements_in = scaled_decimal(text, 0);
      break;
    case Field::kElementsOut:
      pending_.elements_out = scaled_decimal(text, 0);
      break;
    case Field::kGroupSize:
      pending_.group_size = scaled_decimal(text, 0);
      break;
    case Field::kSequence:
      pending_.sequence = scaled_decimal(text, 0);
      break;
    case Field::kSource:
      pending_.source = scaled_decimal(text, 0);
      break;
    case Field::kDestination:
      pending_.destination = scaled_decimal(text, 0);
      break;
    case Field::kCollective:
      pending_.collective.assign(text);
      break;
    case Field::kGroup:
      pending_.group.assign(text);
      break;
    case Field::kType:
      pending_.type.assign(text);
      break;
    default:
      break;
  }
}

void Handler::value_of_top(std::string_view text) {
  constexpr std::int64_t kMostRanks = 100'000'000;
  const Where where = path_.back();
  if (where == Where::kTop && key_ == "baseTimeNanoseconds") {
    const auto base = scaled_decimal(text, 0);
    if (!base || *base < 0 || *base > kLatestNs) {
      refuse(source_.file(), fmt::format("baseTimeNanoseconds is no date (byte {}).", source_.position()),
             std::string(text), "whole nanoseconds since 1970");
    }
    base_ns_ = *base;
  } else if (where == Where::kDistributed && (key_ == "rank" || key_ == "world_size")) {
    const auto number = scaled_decimal(text, 0);
    if (!number || *number < -1 || *number > kMostRanks) {
      refuse(source_.file(), fmt::format("distributedInfo.{} is no rank (byte {}).", key_, source_.position()),
             std::string(text), "a whole number");
    }
    (key_ == "rank" ? builder_.trace().rank : builder_.trace().world_size) = static_cast<std::int32_t>(*number);
  } else if (where == Where::kDistributed && key_ == "backend") {
    builder_.trace().backend.assign(text.substr(0, 100));
  } else if (where == Where::kDevice && key_ == "id") {
    device_id_ = scaled_decimal(text, 0).value_or(-1);
  } else if (where == Where::kDevice && key_ == "name") {
    device_name_.assign(text.substr(0, 200));
  }
}

std::int64_t Handler::nanoseconds(const std::string& text, const char* what, std::int64_t least,
                                  std::int64_t most) const {
  constexpr int kPerMicrosecond = 3;  // decimals
  const auto value = scaled_decimal(text, kPerMicrosecond);
  if (!value || *value < least || *value > most) {
    refuse(source_.file(),
           fmt::format("\"{}\" of the event that ends at byte {} ({}) is {}.", what, source_.position(),
                       pending_.name.substr(0, 60), text.empty() ? "missing" : "no such number"),
           text, least == 0 ? "microseconds, 0 or more" : "microseconds");
  }
  return *value;
}

Communication Handler::communication(DetailSource found_in) {
  Communication result;
  result.name = collective_of(pending_.collective);
  result.source = found_in;
  const std::int64_t elements = std::max(pending_.elements_in.value_or(0), pending_.elements_out.value_or(0));
  result.bytes = static_cast<double>(std::max<std::int64_t>(elements, 0)) * bytes_of_type(pending_.type);
  result.group_size = std::max(0, small(pending_.group_size, 0));
  result.group = pending_.group.empty() ? kNoName : builder_.intern(pending_.group);
  result.sequence = pending_.sequence.value_or(-1);
  result.peer = small(result.name == CollectiveName::kReceive ? pending_.source : pending_.destination, -1);
  return result;
}

void Handler::keep_device_event(EventClass kind) {
  Event event;
  event.start_ns = nanoseconds(pending_.start, "ts", -kLatestNs, kLatestNs);
  event.duration_ns = nanoseconds(pending_.duration, "dur", 0, kLongestNs);
  event.name = builder_.intern(pending_.name);
  event.stream = small(pending_.stream, -1);
  event.correlation = pending_.correlation ? static_cast<std::uint32_t>(*pending_.correlation) : 0U;
  event.kind = kind;
  RankTrace& trace = builder_.trace();
  if (trace.device < 0) {
    trace.device = small(pending_.device ? pending_.device : pending_.process, -1);
  }
  if (kind == EventClass::kCommunication && !pending_.collective.empty()) {
    builder_.add(event, communication(DetailSource::kKernel));
  } else {
    builder_.add(event, pending_.external_id.value_or(-1));
  }
}

void Handler::keep_range(std::int64_t start_ns, std::int64_t end_ns, bool on_device) {
  Action action;
  action.start_ns = start_ns;
  action.end_ns = end_ns;
  if (const std::int64_t number = step_number(pending_.name); number >= 0) {
    if (!on_device) {
      builder_.add_step({number, start_ns, end_ns});
    } else if (device_steps_.size() < Limits{}.names) {
      device_steps_.push_back({number, start_ns, end_ns});
    }
  } else if (parse_action(pending_.name, action)) {
    action.name = builder_.intern(pending_.name);
    if (!on_device) {
      builder_.add_action(action);
    } else if (device_actions_.size() < Limits{}.events) {
      device_actions_.push_back(action);
    }
  }
}

void Handler::keep() {
  ++builder_.trace().records;
  if (!pending_.complete) {
    return;
  }
  switch (pending_.category) {
    case Category::kKernel:
      keep_device_event(class_of_kernel(pending_.name));
      break;
    case Category::kCopy:
      keep_device_event(class_of_copy(pending_.name));
      break;
    case Category::kSet:
      keep_device_event(EventClass::kSet);
      break;
    case Category::kRuntime:
      if (pending_.correlation &&
          (pending_.name.find("aunch") != std::string::npos || pending_.name.find("Mem") != std::string::npos)) {
        builder_.add_launch(static_cast<std::uint32_t>(*pending_.correlation),
                            nanoseconds(pending_.start, "ts", -kLatestNs, kLatestNs));
      }
      break;
    case Category::kHostOperation:
      if (pending_.external_id && !pending_.collective.empty() && pending_.name == "record_param_comms") {
        builder_.describe_launch(*pending_.external_id, communication(DetailSource::kCpuOperation));
      }
      break;
    case Category::kAnnotation:
    case Category::kDeviceAnnotation: {
      const std::int64_t start = nanoseconds(pending_.start, "ts", -kLatestNs, kLatestNs);
      keep_range(start, start + nanoseconds(pending_.duration, "dur", 0, kLongestNs),
                 pending_.category == Category::kDeviceAnnotation);
      break;
    }
    case Category::kOther:
      pipeline_job_ = pipeline_job_ || pending_.name == "forward-compute";
      break;
  }
}

RankTrace Handler::finish() {
  RankTrace& trace = builder_.trace();
  if (trace.events.empty()) {
    std::string hint = "a trace with \"kernel\" events: profile with ProfilerActivity.CUDA";
    if (execution_trace_) {
      hint =
          "a profiler trace; this is an execution trace (operators without device times): lamina run --trace reads "
          "Chakra's .et files";
    } else if (pipeline_job_) {
      hint = "kernels; this holds whole passes: lamina trace replay reads such jobs as CSV";
    }
    refuse(trace.file, "The trace holds no kernels and no copies of a device.", fmt::format("{} events", trace.records),
           hint);
  }
  if (trace.actions.empty()) {
    for (const Action& action : device_actions_) {
      builder_.add_action(action);
    }
  }
  if (trace.steps.empty()) {
    for (const Step& step : device_steps_) {
      builder_.add_step(step);
    }
  }
  if (const auto device = devices_.find(trace.device); device != devices_.end()) {
    trace.device_name = device->second;
  }
  return builder_.finish(base_ns_);
}

}  // namespace

RankTrace read_kineto(ByteSource& source, Limits limits) {
  JsonStream stream(source);
  Handler handler(source, limits);
  rapidjson::Reader reader;
  source.allow(kLongestValue);
  constexpr unsigned kFlags = rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag;
  if (const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, handler); !result) {
    refuse(source.file(),
           fmt::format("The text is no JSON, or ends early (byte {}): {}", result.Offset(),
                       rapidjson::GetParseError_En(result.Code())),
           {}, "a trace of PyTorch's profiler");
  }
  return handler.finish();
}

}  // namespace lamina::validate::hardware_trace
