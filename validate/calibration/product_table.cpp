#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/scenario/fault.hpp"
#include "sim/trace/row_reader.hpp"
#include "validate/calibration/products.hpp"
#include "validate/calibration/transfer_table.hpp"

namespace lamina::validate::calibration {
namespace {

using scenario::DataType;

constexpr double kTera = 1e12;
constexpr double kLargestSide = 1e9;

struct TypeWord {
  std::string_view word;
  DataType type;
};

constexpr std::array<TypeWord, 17> kTypeWords = {{{"fp32", DataType::kFp32},
                                                  {"f32", DataType::kFp32},
                                                  {"float32", DataType::kFp32},
                                                  {"float", DataType::kFp32},
                                                  {"tf32", DataType::kTf32},
                                                  {"fp16", DataType::kFp16},
                                                  {"f16", DataType::kFp16},
                                                  {"float16", DataType::kFp16},
                                                  {"half", DataType::kFp16},
                                                  {"mixed", DataType::kFp16},
                                                  {"mixed_fp16", DataType::kFp16},
                                                  {"bf16", DataType::kBf16},
                                                  {"bfloat16", DataType::kBf16},
                                                  {"fp8", DataType::kFp8},
                                                  {"f8", DataType::kFp8},
                                                  {"float8", DataType::kFp8},
                                                  {"e4m3", DataType::kFp8}}};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  return result;
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/// The words of a text in order.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : lower(text)) {
    if (is_letter_or_digit(c)) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

/// Whole numbers joined by "x", the first such run of at least `least`: {4, 4096, 12288} of "qkv (4x4096x12288, b=2)".
std::vector<double> sizes_in(std::string_view text, std::size_t least) {
  std::vector<double> sizes;
  for (std::size_t at = 0; at < text.size();) {
    double value = 0;
    const bool digit = text[at] >= '0' && text[at] <= '9';
    const auto [end, status] =
        std::from_chars(text.data() + at, text.data() + text.size(), value, std::chars_format::fixed);
    if (!digit || status != std::errc()) {
      sizes.clear();
      ++at;
      continue;
    }
    sizes.push_back(value);
    at = static_cast<std::size_t>(end - text.data());
    const bool goes_on = at + 1 < text.size() && text[at] == 'x' && text[at + 1] >= '0' && text[at + 1] <= '9';
    if (!goes_on && sizes.size() >= least) {
      return sizes;
    }
    if (!goes_on) {
      sizes.clear();
    }
    ++at;
  }
  return {};
}

/// "qkv_transform (4x4096x12288, b=2048)": rows 4 x 2048; "bmm (128x1024x2048x1024)": a batch; "1024x1280x1024".
std::optional<Product> product_of(std::string_view text) {
  const std::vector<double> sizes = sizes_in(text, 3);
  if (sizes.size() == 4) {
    return Product{sizes[0], sizes[1], sizes[2], sizes[3], 0};
  }
  if (sizes.size() != 3) {
    return std::nullopt;
  }
  double rows = 1;
  constexpr std::string_view kRows = "b=";
  if (const std::size_t at = text.find(kRows); at != std::string_view::npos) {
    (void)std::from_chars(text.data() + at + kRows.size(), text.data() + text.size(), rows);
    return Product{1, sizes[0] * rows, sizes[2], sizes[1], 0};
  }
  return Product{1, sizes[0], sizes[1], sizes[2], 0};
}

class TableReader {
 public:
  TableReader(std::string_view text, std::string file) : rows_(text, file), file_(std::move(file)) {
    const std::string comments = comments_of(text);
    const std::string plain = lower(comments);
    for (const std::string& word : words_of(comments)) {
      type_ = type_ ? type_ : type_of(word);
      const bool card = word.size() > 3 && (word[0] == 'v' || word[0] == 'a' || word[0] == 'h' || word[0] == 'b') &&
                        known_accelerator(word).has_value();
      device_ = device_.empty() && card ? word : device_;
    }
    if (plain.find("presumed") != std::string::npos || plain.find("not stated") != std::string::npos) {
      device_.clear();
    }
  }

  [[nodiscard]] std::vector<ProductSet> read();

 private:
  [[nodiscard]] int column(std::string_view name) const { return rows_.column(name); }

  [[nodiscard]] int first_of(std::initializer_list<std::string_view> names) const;
  void read_xla(const std::vector<int>& rates);
  void read_shapes(int time, double unit, int rate);
  void read_operations();
  void read_best();
  void read_squares(int rate);
  [[nodiscard]] double positive(int column, double most) const;
  [[nodiscard]] std::optional<DataType> type_in(int column) const;
  [[nodiscard]] ProductSet& set_for(const std::string& device, std::optional<DataType> type, std::vector<Label> labels);
  void add_rate(ProductSet& set, Product product, double flops) const;

  trace::RowReader rows_;
  std::string file_;
  std::optional<DataType> type_;  ///< of the comments
  std::string device_;            ///< of the comments
  std::vector<ProductSet> sets_;
};

int TableReader::first_of(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    if (column(name) >= 0) {
      return column(name);
    }
  }
  return -1;
}

std::vector<ProductSet> TableReader::read() {
  std::vector<int> xla_rates;
  int last_rate = -1;
  for (const std::string& name : rows_.header()) {
    if (name.ends_with("_flops") && name.find("_to_") != std::string::npos) {
      xla_rates.push_back(column(name));
    }
    last_rate = name.ends_with("tflops") ? column(name) : last_rate;
  }
  const bool shape = column("m") >= 0 && column("n") >= 0 && column("k") >= 0;
  constexpr std::array<std::pair<std::string_view, double>, 4> kTimes = {
      {{"time_us", 1e-6}, {"time_ms", 1e-3}, {"latency_ms", 1e-3}, {"time_s", 1}}};
  const auto time =
      std::find_if(kTimes.begin(), kTimes.end(), [&](const auto& known) { return column(known.first) >= 0; });
  if (shape && !xla_rates.empty()) {
    read_xla(xla_rates);
  } else if (shape && (time != kTimes.end() || column("tflops") >= 0)) {
    read_shapes(time == kTimes.end() ? -1 : column(time->first), time == kTimes.end() ? 1 : time->second,
                column("tflops"));
  } else if (column("op") >= 0 && column("tflops") >= 0) {
    read_operations();
  } else if (column("best_mnk") >= 0 && column("mamf_tflops") >= 0 && column("accelerator") >= 0) {
    read_best();
  } else if (column("mnk") >= 0 && last_rate >= 0) {
    read_squares(last_rate);
  } else {
    scenario::fail({file_, 0, 0}, "",
                   {.problem = "The table has none of the known sets of columns.",
                    .read = fmt::format("{}", fmt::join(rows_.header(), ", ")),
                    .allowed = "m, n, k with a time or tflops; or another form of docs/calibration.md"});
  }
  const bool any = std::any_of(sets_.begin(), sets_.end(), [](const ProductSet& set) { return !set.products.empty(); });
  if (!any) {
    scenario::fail({file_, 0, 0}, "", {.problem = "The table has no matrix product.", .allowed = "at least one row"});
  }
  return std::move(sets_);
}

void TableReader::read_xla(const std::vector<int>& rates) {
  while (rows_.next()) {
    const std::string device(rows_.field(column("device")));
    const Product shape{positive(column("b"), kLargestSide), positive(column("m"), kLargestSide),
                        positive(column("n"), kLargestSide), positive(column("k"), kLargestSide), 0};
    for (const int rate : rates) {
      if (rows_.field(rate).empty()) {
        continue;
      }
      const std::string& name = rows_.header()[static_cast<std::size_t>(rate)];
      const std::string operand = name.substr(0, name.find('x'));
      const auto type = operand.starts_with("f8") ? std::optional(DataType::kFp8) : type_of(operand);
      if (!type) {
        rows_.refuse(rate, "The column's name begins with no data type.", "bf16x..., f32x..., f16x... or f8...");
      }
      ProductSet& set = set_for(device, type, {});
      set.may_be_tf32 = type == DataType::kFp32;
      add_rate(set, shape, positive(rate, 1e18));
    }
  }
}

void TableReader::read_shapes(int time, double unit, int rate) {
  const int batch = first_of({"b", "batch", "groups"});
  const int device = first_of({"device", "accelerator", "gpu"});
  const int type = first_of({"dtype", "precision", "type"});
  while (rows_.next()) {
    ProductSet& set =
        set_for(device < 0 ? device_ : std::string(rows_.field(device)), type < 0 ? type_ : type_in(type), {});
    Product product{batch < 0 ? 1 : positive(batch, kLargestSide), positive(column("m"), kLargestSide),
                    positive(column("n"), kLargestSide), positive(column("k"), kLargestSide), 0};
    if (time >= 0) {
      product.seconds = positive(time, 1e9) * unit;
      set.products.push_back(product);
    } else {
      add_rate(set, product, positive(rate, 1e6) * kTera);
    }
  }
}

void TableReader::read_operations() {
  const int rate = column("tflops");
  while (rows_.next()) {
    ProductSet& set = set_for(device_, type_, {});
    const auto product = product_of(rows_.field(column("op")));
    if (!product || rows_.field(rate).empty()) {
      leave_out(set.left_out, "no matrix product with a rate");
      continue;
    }
    add_rate(set, *product, positive(rate, 1e6) * kTera);
  }
}

void TableReader::read_best() {
  const int shape = column("best_mnk");
  while (rows_.next()) {
    const auto product = product_of(rows_.field(shape));
    if (!product) {
      rows_.refuse(shape, "This is no shape.", "for example 1024x10240x5120");
    }
    ProductSet& set = set_for(std::string(rows_.field(column("accelerator"))),
                              column("dtype") < 0 ? type_ : type_in(column("dtype")), {});
    add_rate(set, *product, positive(column("mamf_tflops"), 1e6) * kTera);
  }
}

void TableReader::read_squares(int rate) {
  const int side = column("mnk");
  const int version = column("version");
  while (rows_.next()) {
    const double size = positive(side, kLargestSide);
    ProductSet& set = set_for(
        device_, type_,
        version < 0 ? std::vector<Label>{} : std::vector<Label>{{"version", std::string(rows_.field(version))}});
    add_rate(set, {1, size, size, size, 0}, positive(rate, 1e6) * kTera);
  }
}

double TableReader::positive(int column, double most) const {
  const double value = rows_.number(column);
  if (!(value > 0) || value > most) {
    rows_.refuse(column, "The number is out of range.", fmt::format("more than 0, at most {:g}", most));
  }
  return value;
}

std::optional<DataType> TableReader::type_in(int column) const {
  const auto type = type_of(rows_.field(column));
  if (!type) {
    rows_.refuse(column, "There is no such data type.", "fp32, tf32, fp16, mixed, bf16 or fp8");
  }
  return type;
}

ProductSet& TableReader::set_for(const std::string& device, std::optional<DataType> type, std::vector<Label> labels) {
  const auto found = std::find_if(sets_.begin(), sets_.end(), [&](const ProductSet& set) {
    return set.device == device && set.type == type && set.labels == labels;
  });
  if (found != sets_.end()) {
    return *found;
  }
  ProductSet set;
  set.file = file_;
  set.device = device;
  set.type = type;
  set.labels = std::move(labels);
  sets_.push_back(std::move(set));
  return sets_.back();
}

void TableReader::add_rate(ProductSet& set, Product product, double flops) const {
  product.seconds = 2 * product.batch * product.m * product.n * product.k / flops;
  set.products.push_back(product);
}

}  // namespace

std::optional<DataType> type_of(std::string_view word) {
  const std::string plain = lower(word);
  const auto found =
      std::find_if(kTypeWords.begin(), kTypeWords.end(), [&](const TypeWord& known) { return known.word == plain; });
  return found == kTypeWords.end() ? std::nullopt : std::optional(found->type);
}

std::vector<ProductSet> read_product_table(std::string_view text, const std::string& file) {
  return TableReader(text, file).read();
}

}  // namespace lamina::validate::calibration
