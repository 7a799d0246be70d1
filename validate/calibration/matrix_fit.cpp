#include "validate/calibration/matrix_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/model/peak.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/units/parse.hpp"

namespace lamina::validate::calibration {
namespace {

using scenario::DataType;

constexpr const char* kModel = "roofline";
constexpr std::size_t kParameters = 3;

enum Parameter : std::size_t { kMatrix = 0, kMemory = 1, kLaunch = 2 };

constexpr std::array<const char*, kParameters> kNames = {"matrix_efficiency", "memory_efficiency", "launch_floor"};
constexpr double kLeastEfficiency = 0.02;
constexpr double kLargestEfficiency = 0.995;  ///< above: the fit ran into the end of the range
constexpr std::string_view kSuspicious = "suspicious";
constexpr std::size_t kFewest = 3;  ///< shapes that must tell a parameter

using Values = std::array<double, kParameters>;

/// Median of one shape.
struct Shape {
  model::Kernel kernel;
  double seconds = 0;
  double samples = 0;

  [[nodiscard]] std::string name() const {
    const std::string sides = fmt::format("{} x {} x {}", kernel.m, kernel.n, kernel.k);
    return kernel.batch > 1 ? fmt::format("{} of {}", kernel.batch, sides) : sides;
  }
};

/// 16 bits for the results of fp8 products, as all libraries write them.
double result_bytes(DataType type) {
  return type == DataType::kFp8 ? scenario::bytes_of(DataType::kBf16) : scenario::bytes_of(type);
}

model::Kernel kernel_of(const Product& product, DataType type) {
  model::Kernel kernel;
  kernel.name = "product";
  kernel.batch = product.batch;
  kernel.m = static_cast<std::int64_t>(product.m);
  kernel.n = static_cast<std::int64_t>(product.n);
  kernel.k = static_cast<std::int64_t>(product.k);
  kernel.flops = Flops(2 * product.batch * product.m * product.n * product.k);
  kernel.bytes = Bytes(product.batch * ((product.m + product.n) * product.k * scenario::bytes_of(type) +
                                        product.m * product.n * result_bytes(type)));
  return kernel;
}

/// The products below the peak, one shape each.
std::vector<Shape> shapes_of(const ProductSet& set, DataType type, double peak, std::vector<LeftOut>& left_out) {
  std::map<std::array<double, 4>, std::vector<double>> times;
  for (const Product& product : set.products) {
    if (2 * product.batch * product.m * product.n * product.k / product.seconds > peak) {
      leave_out(left_out, fmt::format("{}: above the peak of {}", kSuspicious, work_rate_text(peak)));
      continue;
    }
    times[{product.batch, product.m, product.n, product.k}].push_back(product.seconds);
  }
  std::vector<Shape> shapes;
  for (const auto& [sides, seconds] : times) {
    shapes.push_back({kernel_of({sides[0], sides[1], sides[2], sides[3], 0}, type), median_of(seconds),
                      static_cast<double>(seconds.size())});
  }
  return shapes;
}

class Fit {
 public:
  Fit(const std::vector<Shape>& shapes, const scenario::Accelerator& accelerator, DataType type,
      const catalog::Catalog<model::CostModel>::Entry& model)
      : shapes_(shapes), accelerator_(accelerator), type_(type), model_(model) {
    for (const catalog::ParameterSpec& spec : model.info.parameters) {
      const bool is_time = spec.kind == catalog::ParameterKind::kSeconds;
      const double value = is_time ? units::parse_seconds(spec.default_value).value().value()
                                   : units::parse_number(spec.default_value).value();
      fixed_.set_number(spec.name, value);
      const auto* const fitted = std::find(kNames.begin(), kNames.end(), spec.name);
      if (fitted != kNames.end()) {
        defaults_.at(static_cast<std::size_t>(fitted - kNames.begin())) = value;
      }
    }
    values_ = defaults_;
    least_time_ = std::min_element(shapes.begin(), shapes.end(), [](const Shape& a, const Shape& b) {
                    return a.seconds < b.seconds;
                  })->seconds;
  }

  void run();

  [[nodiscard]] const Values& values() const { return values_; }

  [[nodiscard]] std::size_t telling(Parameter parameter) const { return telling_[parameter]; }

  [[nodiscard]] bool resolved(Parameter parameter) const { return free_[parameter]; }

  [[nodiscard]] std::vector<double> times() const { return times(values_); }

 private:
  [[nodiscard]] std::vector<double> times(const Values& values) const;
  [[nodiscard]] double cost(const Values& values) const;
  [[nodiscard]] std::size_t memory_bound_by_nature() const;
  void descend();
  void count_telling();

  const std::vector<Shape>& shapes_;
  const scenario::Accelerator& accelerator_;
  DataType type_;
  const catalog::Catalog<model::CostModel>::Entry& model_;
  double least_time_ = 0;
  catalog::Parameters fixed_;  ///< the model's defaults; the fitted ones are overwritten
  Values defaults_{};
  Values values_{};
  std::array<bool, kParameters> free_ = {true, true, true};
  std::array<std::size_t, kParameters> telling_{};
};

std::vector<double> Fit::times(const Values& values) const {
  catalog::Parameters parameters = fixed_;
  for (std::size_t i = 0; i < kParameters; ++i) {
    parameters.set_number(kNames[i], values[i]);
  }
  std::vector<double> result;
  result.reserve(shapes_.size());
  for (const Shape& shape : shapes_) {
    result.push_back(model_.implementation->time(shape.kernel, accelerator_, type_, parameters).value());
  }
  return result;
}

double Fit::cost(const Values& values) const {
  const std::vector<double> fitted = times(values);
  double sum = 0;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    sum += std::abs(std::log(fitted[i] / shapes_[i].seconds));
  }
  return sum;
}

/// One free parameter after the other, each by golden section, until the cost stands still.
void Fit::descend() {
  constexpr int kMostRounds = 12;
  constexpr double kGolden = 0.6180339887498949;
  constexpr double kPrecision = 1e-3;
  double best = cost(values_);
  for (int round = 0; round < kMostRounds; ++round) {
    const double before = best;
    for (std::size_t i = 0; i < kParameters; ++i) {
      if (!free_[i]) {
        continue;
      }
      double low = i == kLaunch ? 0 : kLeastEfficiency;
      double high = i == kLaunch ? 1.5 * least_time_ : 1;
      const double width = kPrecision * high;
      const auto at = [&](double value) {
        Values tried = values_;
        tried[i] = value;
        return cost(tried);
      };
      double left = high - kGolden * (high - low);
      double right = low + kGolden * (high - low);
      double left_cost = at(left);
      double right_cost = at(right);
      while (high - low > width) {
        const bool goes_left = left_cost <= right_cost;
        (goes_left ? high : low) = goes_left ? right : left;
        (goes_left ? right : left) = goes_left ? left : right;
        (goes_left ? right_cost : left_cost) = goes_left ? left_cost : right_cost;
        double& probe = goes_left ? left : right;
        probe = goes_left ? high - kGolden * (high - low) : low + kGolden * (high - low);
        (goes_left ? left_cost : right_cost) = at(probe);
      }
      const double middle = (low + high) / 2;
      if (const double found = at(middle); found < best) {
        best = found;
        values_[i] = middle;
      }
    }
    if (best >= before * (1 - 1e-4)) {
      return;
    }
  }
}

/// Shapes of less than half the FLOPs per byte at which peak and bandwidth balance. Others that look bound by the
/// memory are small, and a memory efficiency fitted to them would slow every streaming kernel down.
std::size_t Fit::memory_bound_by_nature() const {
  const double balance = model::peak_of(accelerator_, type_).value() / accelerator_.memory_bandwidth.value();
  return static_cast<std::size_t>(std::count_if(shapes_.begin(), shapes_.end(), [&](const Shape& shape) {
    return shape.kernel.flops.value() / shape.kernel.bytes.value() < 0.5 * balance;
  }));
}

void Fit::count_telling() {
  const std::vector<double> now = times(values_);
  Values slower = values_;
  slower[kMemory] *= 0.9;
  const std::vector<double> less_memory = times(slower);
  telling_ = {};
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool memory = less_memory[i] > 1.05 * now[i];
    telling_[kMemory] += memory ? 1 : 0;
    telling_[kMatrix] += memory ? 0 : 1;
    telling_[kLaunch] += values_[kLaunch] >= 0.25 * now[i] ? 1 : 0;
  }
}

void Fit::run() {
  const bool enough = shapes_.size() >= kFewest;
  free_ = {true, enough && memory_bound_by_nature() >= kFewest, enough};
  descend();
  count_telling();
  bool again = false;
  for (const Parameter parameter : {kMemory, kLaunch}) {
    if (free_[parameter] && telling_[parameter] < kFewest) {  // the model does not see it
      free_[parameter] = false;
      // A floor that no shape shows is none; the default would be a guess beside a measurement.
      values_[parameter] = parameter == kLaunch ? std::min(defaults_[kLaunch], values_[kLaunch]) : defaults_[kMemory];
      again = true;
    }
  }
  if (again) {
    descend();
    count_telling();
  }
}

std::string shapes_text(std::size_t count, const char* what) {
  return fmt::format("{} shape{} {}", count, count == 1 ? "" : "s", what);
}

Constant constant_of(const Fit& fit, Parameter parameter, const char* telling, const std::string& otherwise) {
  const double value = fit.values()[parameter];
  Constant constant;
  constant.key = fmt::format("cost_model.{}", kNames[parameter]);
  constant.value = value;
  constant.text = parameter == kLaunch ? time_text(value) : fmt::format("{:.4g}", value);
  constant.resolved = parameter == kMatrix || fit.resolved(parameter);
  const bool at_end = parameter != kLaunch && value > kLargestEfficiency;
  if (at_end && constant.resolved) {
    constant.resolved = false;
    constant.tuned_by = "at the end of its range: the times are too short for the model";
    return constant;
  }
  constant.tuned_by = constant.resolved ? shapes_text(fit.telling(parameter), telling) : otherwise;
  return constant;
}

/// Every shape is in one class.
std::string class_of(const model::Kernel& kernel) {
  constexpr std::int64_t kThin = 128;
  constexpr double kSmall = 10e9;
  return kernel.batch > 1                       ? "batched"
         : std::min(kernel.m, kernel.n) < kThin ? "thin: a side below 128"
         : kernel.flops.value() < kSmall        ? "small: below 10 GFLOP"
                                                : "large: from 10 GFLOP";
}

std::vector<Residual> residuals_by_class(const std::vector<Shape>& shapes, const std::vector<double>& fitted) {
  struct Lists {
    std::vector<double> fitted;
    std::vector<double> measured;
    std::vector<std::string> names;
  };

  std::map<std::string, Lists> classes;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (const std::string& name : {std::string(), class_of(shapes[i].kernel)}) {
      Lists& lists = classes[name];
      lists.fitted.push_back(fitted[i]);
      lists.measured.push_back(shapes[i].seconds);
      lists.names.push_back(shapes[i].name());
    }
  }
  std::vector<Residual> result;
  for (const auto& [name, lists] : classes) {
    result.push_back(residual_of(name, lists.fitted, lists.measured, lists.names));
  }
  return result;
}

/// tf32 for an "f32" that is too fast for the ordinary units.
DataType actual_type(const ProductSet& set, const scenario::Accelerator& accelerator, std::vector<std::string>& notes) {
  const DataType type = set.type.value();
  const auto plain = accelerator.peak.find(DataType::kFp32);
  if (!set.may_be_tf32 || plain == accelerator.peak.end() || !accelerator.peak.contains(DataType::kTf32)) {
    return type;
  }
  double fastest = 0;
  for (const Product& product : set.products) {
    fastest = std::max(fastest, 2 * product.batch * product.m * product.n * product.k / product.seconds);
  }
  if (fastest <= plain->second.value()) {
    return type;
  }
  notes.push_back(fmt::format("The table says f32; {} is above the fp32 peak of {}, so it is taken as tf32.",
                              work_rate_text(fastest), work_rate_text(plain->second.value())));
  return DataType::kTf32;
}

void describe(const ProductSet& set, DataType type, const std::vector<Shape>& shapes, double peak, Entry& entry) {
  double best = 0;
  for (const Shape& shape : shapes) {
    best = std::max(best, shape.kernel.flops.value() / shape.seconds);
  }
  entry.measured = {{"data_type", std::string(model::name_of(type))},
                    {"peak", work_rate_text(peak)},
                    {"best_rate", work_rate_text(best)},
                    {"best_share_of_peak", fmt::format("{:.3f}", best / peak)},
                    {"file", set.file}};
  for (const Label& label : set.labels) {
    entry.measured.push_back(label);
  }
  entry.summary = fmt::format("{}, {} products: {} shapes, best {}", set.device.empty() ? "Accelerator" : set.device,
                              model::name_of(type), shapes.size(), work_rate_text(best));
  entry.source = fmt::format("Cost model fitted by lamina calibrate to {}.", set.file);
  if (!set.device.empty()) {
    entry.conditions.push_back({"hardware", set.device});
  }
  entry.notes.insert(entry.notes.end(), set.notes.begin(), set.notes.end());
  entry.notes.push_back(fmt::format(
      "The cost model is that of {} products; other types of this accelerator have it too.", model::name_of(type)));
}

/// Where many rows are above the peak, the others of the same clock are no better.
void note_suspicious(const ProductSet& set, Entry& entry) {
  constexpr double kMany = 0.05;
  const auto found = std::find_if(entry.left_out.begin(), entry.left_out.end(),
                                  [](const LeftOut& left) { return left.reason.starts_with(kSuspicious); });
  const double share =
      found == entry.left_out.end() ? 0 : static_cast<double>(found->rows) / static_cast<double>(set.products.size());
  if (share > kMany) {
    entry.notes.push_back(
        fmt::format("{:.0f} % of the rows are above the peak: how these were timed is doubtful, so the "
                    "others are as well.",
                    100 * share));
  }
}

}  // namespace

Entry fit_products(const ProductSet& set, const scenario::Accelerator& accelerator,
                   const catalog::Catalog<model::CostModel>& cost_models) {
  const auto* model = cost_models.find(kModel);
  if (model == nullptr || !set.type || set.products.empty()) {
    throw error::InternalError("products without type, or no roofline to fit");
  }
  Entry entry;
  entry.kind = Kind::kAccelerator;
  entry.left_out = set.left_out;
  const DataType type = actual_type(set, accelerator, entry.notes);
  const double peak = model::peak_of(accelerator, type).value();
  const std::vector<Shape> shapes = shapes_of(set, type, peak, entry.left_out);
  if (shapes.empty()) {
    scenario::fail(
        {set.file, 0, 0}, "",
        {.problem = "Every product is faster than the accelerator's peak.",
         .read = fmt::format("{} on {}", model::name_of(type), accelerator.name),
         .allowed = fmt::format("at most {}: another --accelerator, --peak or --dtype", work_rate_text(peak))});
  }
  note_suspicious(set, entry);
  Fit fit(shapes, accelerator, type, *model);
  fit.run();
  describe(set, type, shapes, peak, entry);
  entry.settings.push_back({"cost_model.name", kModel});
  entry.constants = {constant_of(fit, kMatrix, "that arithmetic bounds", ""),
                     constant_of(fit, kMemory, "that the memory bounds (products; streaming kernels were not measured)",
                                 "too few shapes that the memory bounds; the model's default"),
                     constant_of(fit, kLaunch, "of which it is a quarter or more",
                                 "too few short shapes; at most the model's default stands in")};
  entry.residuals = residuals_by_class(shapes, fit.times());
  entry.table = {{"batch", "m", "n", "k", "time_s", "samples"}, 4, {}};
  for (const Shape& shape : shapes) {
    entry.table.rows.push_back({shape.kernel.batch, static_cast<double>(shape.kernel.m),
                                static_cast<double>(shape.kernel.n), static_cast<double>(shape.kernel.k), shape.seconds,
                                shape.samples});
  }
  return entry;
}

}  // namespace lamina::validate::calibration
