#include "validate/calibration/transfer_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/scenario/fault.hpp"
#include "sim/trace/row_reader.hpp"

namespace lamina::validate::calibration {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMicro = 1e-6;
constexpr double kMilli = 1e-3;
constexpr double kBitsPerByte = 8;
constexpr std::int64_t kMostRanks = 10'000'000;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 60U;

/// The number after "ranks=" and the like; 0 when there is none.
int count_after(std::string_view text, std::string_view mark) {
  const std::size_t found = text.find(mark);
  int value = 0;
  if (found != std::string_view::npos) {
    (void)std::from_chars(text.data() + found + mark.size(), text.data() + text.size(), value);
  }
  return std::max(value, 0);
}

/// The number before "gpu" or "node" in a name: 8 for "h200_8gpu".
int count_before(std::string_view name, std::string_view mark) {
  const std::size_t found = name.find(mark);
  std::size_t start = found == std::string_view::npos ? 0 : found;
  while (start > 0 && name[start - 1] >= '0' && name[start - 1] <= '9') {
    --start;
  }
  int value = 0;
  if (found != std::string_view::npos) {
    (void)std::from_chars(name.data() + start, name.data() + found, value);
  }
  return std::max(value, 0);
}

/// The word of digits after a lone "n": 4 for "bench-32gb-n4.txt".
int nodes_of_name(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    const bool begins = i == 0 || name[i - 1] == '-' || name[i - 1] == '_';
    if (begins && name[i] == 'n' && is_digit(name[i + 1])) {
      return count_after(name.substr(i), "n");
    }
  }
  return 0;
}

/// The first word of a name, between underscores, that is a collective.
std::optional<Collective> collective_in(std::string_view name) {
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    if (const auto collective = collective_of(name.substr(0, end))) {
      return collective;
    }
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return std::nullopt;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  return text;
}

/// What the comments say of all rows.
struct Stated {
  std::optional<Collective> collective;
  int ranks = 0;
  int nodes = 0;
  std::string hardware;
};

Stated read_comments(const std::string& comments) {
  Stated stated;
  constexpr std::string_view kCollective = "collective=";
  if (const std::size_t at = comments.find(kCollective); at != std::string::npos) {
    const std::size_t start = at + kCollective.size();
    stated.collective = collective_of(comments.substr(start, comments.find_first_of(" \n.,", start) - start));
  }
  const std::string plain = lower(comments);
  if (!stated.collective &&
      (plain.find("all-reduce") != std::string::npos || plain.find("all_reduce") != std::string::npos)) {
    stated.collective = Collective::kAllReduce;
  }
  stated.ranks = count_after(comments, "ranks=");
  stated.nodes = count_after(comments, "nodes=");
  for (const char* words : {"single host", "single-host", "intra-node", "one host only"}) {
    stated.nodes = stated.nodes == 0 && plain.find(words) != std::string::npos ? 1 : stated.nodes;
  }
  constexpr std::string_view kHardware = "Hardware: ";
  if (const std::size_t at = comments.find(kHardware); at != std::string::npos) {
    const std::size_t start = at + kHardware.size();
    stated.hardware = comments.substr(start, comments.find('\n', start) - start);
  }
  return stated;
}

class TableReader {
 public:
  TableReader(std::string_view text, std::string file, std::optional<Collective> collective)
      : rows_(text, file), file_(std::move(file)), stated_(read_comments(comments_of(text))) {
    if (!stated_.collective) {
      stated_.collective = collective;
    }
  }

  [[nodiscard]] std::vector<TransferSet> read();

 private:
  [[nodiscard]] int column(std::string_view name) const { return rows_.column(name); }

  [[nodiscard]] int first_of(std::string_view name, std::string_view other) const {
    return column(name) >= 0 ? column(name) : column(other);
  }

  [[nodiscard]] bool has(std::initializer_list<std::string_view> names) const {
    return std::all_of(names.begin(), names.end(), [&](std::string_view name) { return column(name) >= 0; });
  }

  void read_times();
  void read_xla();
  void read_named_sweeps();
  void read_named_rates();
  void read_expert_parallel();
  void read_training_log();
  [[nodiscard]] double positive(int column, double unit, const char* what) const;
  [[nodiscard]] TransferSet& set_for(Collective collective, int ranks, int nodes, std::vector<Label> labels);
  [[nodiscard]] Collective stated_collective() const;
  void add(TransferSet& set, Transfer transfer) const;

  [[nodiscard]] std::string word(int column) const { return std::string(rows_.field(column)); }

  trace::RowReader rows_;
  std::string file_;
  Stated stated_;
  std::vector<TransferSet> sets_;
  std::vector<LeftOut> of_no_set_;
};

std::vector<TransferSet> TableReader::read() {
  if (has({"device", "opcode", "tensor_bytes", "time_us", "group_size"})) {
    read_xla();
  } else if (has({"size_bytes"}) && first_of("oop_time_us", "time_us") >= 0) {
    read_times();
  } else if (has({"set", "size_bytes", "busbw_GBps"})) {
    read_named_sweeps();
  } else if (has({"file", "busbw_Gbps_median", "data_GB"})) {
    read_named_rates();
  } else if (has({"topo", "dispatch_GBps", "combine_GBps"})) {
    read_expert_parallel();
  } else if (has({"comm_type", "group", "group_size", "msg_bytes", "median_ms"})) {
    read_training_log();
  } else {
    scenario::fail({file_, 0, 0}, "",
                   {.problem = "The table has none of the known sets of columns.",
                    .read = fmt::format("{}", fmt::join(rows_.header(), ", ")),
                    .allowed = "size_bytes with oop_time_us or time_us; or another form of docs/calibration.md"});
  }
  if (sets_.empty()) {
    scenario::fail({file_, 0, 0}, "",
                   {.problem = "The table has no row of measurements.", .allowed = "at least one row"});
  }
  for (TransferSet& set : sets_) {
    for (const LeftOut& left : of_no_set_) {
      leave_out(set.left_out, left.reason, left.rows);
    }
  }
  return std::move(sets_);
}

/// nccl-tests' columns, vTrain's, and a user's own.
void TableReader::read_times() {
  const int size = column("size_bytes");
  const int time = first_of("oop_time_us", "time_us");
  const int in_place = first_of("ip_time_us", "time2_us");
  const int ranks = first_of("gpus", "ranks");
  const int nodes = column("nodes");
  const int collective = column("collective");
  while (rows_.next()) {
    Collective what = Collective::kAllReduce;
    if (collective >= 0) {
      const auto named = collective_of(rows_.field(collective));
      if (!named) {
        rows_.refuse(collective, "There is no such collective.",
                     fmt::format("{}", fmt::join(collective_names(), ", ")));
      }
      what = *named;
    } else {
      what = stated_collective();
    }
    const int count = ranks < 0 ? stated_.ranks : static_cast<int>(rows_.integer(ranks, 1, kMostRanks));
    const int machines = nodes < 0 ? stated_.nodes : static_cast<int>(rows_.integer(nodes, 1, kMostRanks));
    TransferSet& set = set_for(what, count, machines, {});
    Transfer transfer;
    transfer.bytes = static_cast<double>(rows_.integer(size, 0, kLargestSize));
    if (transfer.bytes == 0) {
      leave_out(set.left_out, "no bytes");
      continue;
    }
    transfer.seconds = positive(time, kMicro, "a time in microseconds");
    const bool again = in_place >= 0 && !rows_.field(in_place).empty() && rows_.field(in_place) != "N/A";
    transfer.in_place_seconds = again ? positive(in_place, kMicro, "a time in microseconds") : kUnknown;
    add(set, transfer);
  }
}

void TableReader::read_xla() {
  const int device = column("device");
  const int opcode = column("opcode");
  const int groups = column("num_groups");
  const int size = column("group_size");
  while (rows_.next()) {
    const auto collective = collective_of(rows_.field(opcode));
    if (!collective) {
      rows_.refuse(opcode, "There is no such collective.", fmt::format("{}", fmt::join(collective_names(), ", ")));
    }
    std::vector<Label> labels = {{"device", word(device)}};
    int ranks = 2;  // a permutation: every device sends to another
    if (!rows_.field(size).empty()) {
      ranks = static_cast<int>(rows_.integer(size, 2, kMostRanks));
      labels.push_back({"groups", groups < 0 ? "1" : word(groups)});
    }
    TransferSet& set = set_for(*collective, ranks, stated_.nodes, std::move(labels));
    add(set, {.bytes = positive(column("tensor_bytes"), 1, "a size in bytes"),
              .seconds = positive(column("time_us"), kMicro, "a time in microseconds")});
  }
}

/// A printed 0.01 may be 0.005 or 0.015: such rows say nothing.
void TableReader::read_named_sweeps() {
  constexpr double kCoarse = 0.05;
  const int name = column("set");
  const int rate = column("busbw_GBps");
  while (rows_.next()) {
    const std::string set_name = word(name);
    TransferSet& set = set_for(collective_in(set_name).value_or(stated_collective()), count_before(set_name, "gpu"),
                               count_before(set_name, "node"), {{"set", set_name}});
    const std::string_view text = rows_.field(rate);
    const std::size_t point = text.find('.');
    const double digits = point == std::string_view::npos ? 0 : static_cast<double>(text.size() - point - 1);
    const double value = positive(rate, kGiga, "a bus bandwidth in GB/s");
    if (rows_.field(column("size_bytes")).empty()) {
      set.rates.push_back(value);
      continue;
    }
    if (0.5 * std::pow(10, -digits) * kGiga > kCoarse * value) {
      leave_out(set.left_out, "a bandwidth of too few digits");
      continue;
    }
    add(set, {.bytes = positive(column("size_bytes"), 1, "a size in bytes"), .bus_rate = value});
  }
}

void TableReader::read_named_rates() {
  while (rows_.next()) {
    const std::string name = word(column("file"));
    TransferSet& set = set_for(stated_collective(), stated_.ranks,
                               stated_.nodes > 0 ? stated_.nodes : nodes_of_name(name), {{"log", name}});
    set.rates.push_back(positive(column("busbw_Gbps_median"), kGiga / kBitsPerByte, "a bus bandwidth in Gbit/s"));
    set.notes.push_back(
        fmt::format("One size only: {}.", size_text(positive(column("data_GB"), kGiga, "a size in GB"))));
  }
}

/// "EP 8 x 2": 8 ranks on each of 2 nodes; "EP 8": one node.
void TableReader::read_expert_parallel() {
  const int topology = column("topo");
  while (rows_.next()) {
    const std::string text = word(topology);
    const int inside = count_after(text, "EP ");
    const std::size_t times = text.find(" x ");
    const int nodes = times == std::string::npos ? 1 : count_after(text, " x ");
    if (inside < 1 || nodes < 1 || inside > kMostRanks / nodes) {
      rows_.refuse(topology, "This is no layout of an expert-parallel group.", "for example EP 8 x 2");
    }
    std::vector<Label> labels;
    for (const char* key : {"arch", "nic", "sms"}) {
      if (column(key) >= 0) {
        labels.push_back({key, word(column(key))});
      }
    }
    for (const char* direction : {"dispatch", "combine"}) {
      std::vector<Label> own = labels;
      own.push_back({"direction", direction});
      set_for(Collective::kAllToAll, inside * nodes, nodes, std::move(own))
          .rates.push_back(positive(column(fmt::format("{}_GBps", direction)), kGiga, "a bandwidth in GB/s"));
    }
  }
}

void TableReader::read_training_log() {
  const int kind = column("comm_type");
  const int size = column("group_size");
  const int bytes = column("msg_bytes");
  while (rows_.next()) {
    const auto collective = collective_of(rows_.field(kind));
    if (!collective) {
      leave_out(of_no_set_, fmt::format("of the file: {} is no collective", word(kind)));
      continue;
    }
    if (rows_.field(size) == "None") {
      leave_out(of_no_set_, "of the file: the group's size is not stated");
      continue;
    }
    if (rows_.field(bytes) == "0") {
      leave_out(of_no_set_, "of the file: no bytes");
      continue;
    }
    TransferSet& set = set_for(*collective, static_cast<int>(rows_.integer(size, 2, kMostRanks)), stated_.nodes,
                               {{"group", word(column("group"))}});
    add(set, {.bytes = positive(bytes, 1, "a size in bytes"),
              .seconds = positive(column("median_ms"), kMilli, "a time in milliseconds")});
  }
}

double TableReader::positive(int column, double unit, const char* what) const {
  const double value = rows_.number(column);
  if (!(value > 0)) {
    rows_.refuse(column, "The number must be more than zero.", what);
  }
  return value * unit;
}

TransferSet& TableReader::set_for(Collective collective, int ranks, int nodes, std::vector<Label> labels) {
  const auto same = [&](const TransferSet& set) {
    return set.collective == collective && set.ranks == ranks && set.nodes == nodes && set.labels == labels;
  };
  // Rows of one set stand together, as a rule.
  if (!sets_.empty() && same(sets_.back())) {
    return sets_.back();
  }
  const auto found = std::find_if(sets_.begin(), sets_.end(), same);
  if (found != sets_.end()) {
    return *found;
  }
  TransferSet set;
  set.file = file_;
  set.collective = collective;
  set.ranks = ranks;
  set.nodes = nodes;
  set.labels = std::move(labels);
  if (!stated_.hardware.empty()) {
    set.conditions.push_back({"hardware", stated_.hardware});
  }
  sets_.push_back(std::move(set));
  return sets_.back();
}

Collective TableReader::stated_collective() const {
  if (!stated_.collective) {
    scenario::fail({file_, 0, 0}, "",
                   {.problem = "The table does not say which collective this is.",
                    .allowed = "a column or comment \"collective\", or --collective"});
  }
  return *stated_.collective;
}

void TableReader::add(TransferSet& set, Transfer transfer) const {
  set.transfers.push_back(transfer);
}

}  // namespace

bool is_table(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    if (line.starts_with("\xEF\xBB\xBF")) {
      line.remove_prefix(3);
    }
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const bool names = std::all_of(line.begin(), line.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ',';
    });
    return names && line.find(',') != std::string_view::npos && !(line.front() >= '0' && line.front() <= '9');
  }
  return false;
}

std::string comments_of(std::string_view text) {
  std::string comments;
  while (text.starts_with('#')) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    comments += text.substr(1, end - 1);
    comments += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return comments;
}

std::vector<TransferSet> read_transfer_table(std::string_view text, const std::string& file,
                                             std::optional<Collective> collective) {
  return TableReader(text, file, collective).read();
}

}  // namespace lamina::validate::calibration
