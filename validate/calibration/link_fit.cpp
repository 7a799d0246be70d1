#include "validate/calibration/link_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::validate::calibration {
namespace {

constexpr double kKibi = 1024;
constexpr double kSmall = 64 * kKibi;

struct SizeRange {
  const char* name;
  double below;  ///< bytes
};

constexpr std::array<SizeRange, 4> kRanges = {{{"below 64 KiB", 64 * kKibi},
                                               {"64 KiB to 1 MiB", kKibi* kKibi},
                                               {"1 to 16 MiB", 16 * kKibi* kKibi},
                                               {"from 16 MiB", 1e300}}};

/// Medians of one size.
struct Size {
  double bytes = 0;
  double seconds = 0;
  double samples = 0;
  double spread = kUnknown;
};

double chosen_time(const Transfer& transfer, bool in_place) {
  const double first = in_place ? transfer.in_place_seconds : transfer.seconds;
  const double other = in_place ? transfer.seconds : transfer.in_place_seconds;
  return std::isnan(first) ? other : first;
}

std::vector<Size> medians_by_size(const TransferSet& set, bool in_place) {
  std::map<double, std::vector<double>> times;
  const double factor = bus_factor(set.collective, set.ranks);
  for (const Transfer& transfer : set.transfers) {
    const double time = chosen_time(transfer, in_place);
    times[transfer.bytes].push_back(std::isnan(time) ? transfer.bytes * factor / transfer.bus_rate : time);
  }
  std::vector<Size> sizes;
  for (const auto& [bytes, values] : times) {
    Size size{bytes, median_of(values), static_cast<double>(values.size()), kUnknown};
    if (values.size() > 1) {
      const auto [least, most] = std::minmax_element(values.begin(), values.end());
      size.spread = (*most - *least) / size.seconds;
    }
    sizes.push_back(size);
  }
  return sizes;
}

/// Points of one end: those within the limit, at least 3, of fewer than 6 a half, at least 1.
std::size_t end_count(std::size_t within, std::size_t points) {
  return std::max({within, std::min<std::size_t>(3, points / 2), std::size_t{1}});
}

/// Where the residual jumps by more than a fifth and stands out, or a larger size takes less time.
std::vector<std::string> find_steps(const std::vector<Size>& sizes, const std::vector<double>& fitted) {
  constexpr double kJump = 0.2;
  constexpr double kOutstanding = 3;
  constexpr std::size_t kMost = 8;
  std::vector<double> jumps;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const auto log_of = [&](std::size_t at) { return std::log(fitted[at] / sizes[at].seconds); };
    jumps.push_back(log_of(i + 1) - log_of(i));
  }
  std::vector<double> magnitudes;
  std::transform(jumps.begin(), jumps.end(), std::back_inserter(magnitudes),
                 [](double jump) { return std::abs(jump); });
  const double usual = median_of(magnitudes);
  std::vector<std::string> steps;
  for (std::size_t i = 0; i < jumps.size() && steps.size() < kMost; ++i) {
    const bool faster = sizes[i + 1].seconds < 0.95 * sizes[i].seconds;
    if (faster || (magnitudes[i] > kJump && magnitudes[i] > kOutstanding * usual)) {
      steps.push_back(fmt::format(
          "{} to {}: time x {:.2f} for size x {:.2f}; fitted / measured goes from {:.2f} to {:.2f}",
          size_text(sizes[i].bytes), size_text(sizes[i + 1].bytes), sizes[i + 1].seconds / sizes[i].seconds,
          sizes[i + 1].bytes / sizes[i].bytes, fitted[i] / sizes[i].seconds, fitted[i + 1] / sizes[i + 1].seconds));
    }
  }
  return steps;
}

std::vector<Residual> residuals_by_size(const std::vector<Size>& sizes, const std::vector<double>& fitted) {
  const auto of_range = [&](std::string name, double from, double below) {
    std::vector<double> model;
    std::vector<double> measured;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i].bytes >= from && sizes[i].bytes < below) {
        model.push_back(fitted[i]);
        measured.push_back(sizes[i].seconds);
        names.push_back(size_text(sizes[i].bytes));
      }
    }
    return residual_of(std::move(name), model, measured, names);
  };
  std::vector<Residual> result = {of_range("", 0, 1e300)};
  double from = 0;
  for (const SizeRange& range : kRanges) {
    Residual residual = of_range(range.name, from, range.below);
    if (residual.points > 0) {
      result.push_back(std::move(residual));
    }
    from = range.below;
  }
  return result;
}

/// What the links are and how the numbers of a collective become theirs.
struct Target {
  bool network = false;
  double factor = 1;  ///< bytes over the link per byte of size
  double ports = 1;   ///< links that share them
  double steps = 1;   ///< hops one after the other
};

Target target_of(const TransferSet& set, const LinkOptions& options) {
  Target target;
  target.network = options.kind == LinkKind::kNetwork || (options.kind == LinkKind::kByNodes && set.nodes > 1);
  target.factor =
      target.network ? node_factor(set.collective, set.ranks, set.nodes) : bus_factor(set.collective, set.ranks);
  target.ports = target.network ? std::max(options.nics_per_node, 1) : 1;
  target.steps =
      target.network ? node_steps(set.collective, set.ranks, set.nodes) : ring_steps(set.collective, set.ranks);
  return target;
}

std::string sizes_text(std::size_t count, const char* which, double bytes) {
  return fmt::format("{} size{} {} {}", count, count == 1 ? "" : "s", which, size_text(bytes));
}

void add_constants(const Line& line, const std::vector<Size>& sizes, const Target& target, Entry& entry) {
  const double rate = line.rate / target.ports;
  Constant bandwidth{"bandwidth", rate, rate_text(rate),
                     sizes_text(line.large, "from", sizes[sizes.size() - line.large].bytes), line.rate_resolved};
  if (!line.rate_resolved) {
    bandwidth.tuned_by += "; most of their time is latency, so this is a lower bound at best";
  }
  const bool one_size = sizes.size() == 1;
  Constant latency{target.network ? "port_latency" : "latency", line.latency / target.steps,
                   time_text(line.latency / target.steps),
                   one_size ? "not measured: one size only; 0 stands in"
                            : sizes_text(line.small, "up to", sizes[line.small - 1].bytes),
                   line.latency_resolved && !one_size};
  if (!line.latency_resolved && !one_size) {
    latency.tuned_by += "; most of their time is transfer, so this is rough";
  }
  entry.constants = {std::move(bandwidth), std::move(latency)};
}

void fit_sizes(const std::vector<Size>& sizes, const Target& target, Entry& entry) {
  std::vector<LinePoint> points;
  for (const Size& size : sizes) {
    points.push_back({size.bytes * target.factor, size.seconds});
  }
  const Line line = fit_line(points);
  std::vector<double> fitted;
  for (const LinePoint& point : points) {
    fitted.push_back(line.latency + point.x / line.rate);
  }
  add_constants(line, sizes, target, entry);
  entry.residuals = residuals_by_size(sizes, fitted);
  entry.steps = find_steps(sizes, fitted);
  entry.table = {{"size_bytes", "time_s", "samples", "spread"}, 1, {}};
  std::vector<double> spreads;
  for (const Size& size : sizes) {
    entry.table.rows.push_back({size.bytes, size.seconds, size.samples, size.spread});
    if (!std::isnan(size.spread)) {
      spreads.push_back(size.spread);
    }
  }
  entry.spread = median_of(spreads);
}

/// Sources that state a rate only.
void fit_rates(const TransferSet& set, const Target& target, Entry& entry) {
  const double to_link = set.ranks > 1 ? target.factor / bus_factor(set.collective, set.ranks) : 1;
  const double rate = median_of(set.rates) * to_link / target.ports;
  entry.constants = {{"bandwidth", rate, rate_text(rate),
                      fmt::format("{} stated rate{}", set.rates.size(), set.rates.size() == 1 ? "" : "s"), true},
                     {target.network ? "port_latency" : "latency", 0, "0 us",
                      "not measured: the source states rates only; 0 stands in", false}};
  entry.table = {{"bus_bytes_per_s"}, 1, {}};
  std::vector<double> rates = set.rates;
  std::sort(rates.begin(), rates.end());
  rates.erase(std::unique(rates.begin(), rates.end()), rates.end());
  for (const double value : rates) {
    entry.table.rows.push_back({value});
  }
}

void describe(const TransferSet& set, const LinkOptions& options, const Target& target, Entry& entry) {
  entry.measured = {{"collective", name_of(set.collective)},
                    {"ranks", set.ranks > 0 ? fmt::format("{}", set.ranks) : "not stated"},
                    {"nodes", fmt::format("{}", set.nodes)}};
  if (target.network) {
    entry.measured.push_back(
        {"nics_per_node", options.nics_per_node > 0 ? fmt::format("{}", options.nics_per_node) : "not given"});
  }
  entry.measured.push_back({"file", set.file});
  for (const Label& label : set.labels) {
    entry.measured.push_back(label);
  }
  entry.conditions = set.conditions;
  entry.left_out = set.left_out;
  entry.notes = set.notes;
  const std::string ranks = set.ranks > 0 ? fmt::format("{} ranks on ", set.ranks) : "";
  entry.summary = fmt::format("{} from {} over {}{} node{}", target.network ? "Network" : "Links between accelerators",
                              name_of(set.collective), ranks, set.nodes, set.nodes == 1 ? "" : "s");
  entry.source = fmt::format("Fitted by lamina calibrate to {}{}.", set.file,
                             set.labels.empty() ? "" : fmt::format(" ({})", set.labels.front().text));
}

}  // namespace

Line fit_line(const std::vector<LinePoint>& points) {
  if (points.empty()) {
    throw error::InternalError("a line needs a point");
  }
  constexpr double kLarge = 1.0 / 8;
  constexpr double kWide = 4;  ///< sizes must differ by so much to tell transfer from latency
  constexpr int kMostTurns = 200;
  Line line;
  const auto count_if = [&](auto within) {
    return static_cast<std::size_t>(std::count_if(points.begin(), points.end(), within));
  };
  line.small = end_count(count_if([](const LinePoint& point) { return point.x <= kSmall; }), points.size());
  line.large =
      end_count(count_if([&](const LinePoint& point) { return point.x >= kLarge * points.back().x; }), points.size());
  double cost = points.back().seconds / points.back().x;  // seconds per byte
  if (points.size() > 1) {
    line.small = std::min(line.small, points.size() - 1);
    line.large = std::min(line.large, points.size() - 1);
    for (int turn = 0; turn < kMostTurns; ++turn) {
      std::vector<double> rests;
      for (std::size_t i = 0; i < line.small; ++i) {
        rests.push_back(points[i].seconds - cost * points[i].x);
      }
      line.latency = std::max(0.0, median_of(rests));
      std::vector<double> costs;
      for (std::size_t i = points.size() - line.large; i < points.size(); ++i) {
        costs.push_back(std::max(points[i].seconds - line.latency, 1e-3 * points[i].seconds) / points[i].x);
      }
      const double next = median_of(costs);
      const bool still = std::abs(next - cost) <= 1e-14 * cost;
      cost = next;
      if (still) {
        break;
      }
    }
  }
  line.rate = 1 / cost;
  line.latency_resolved = line.latency >= 0.5 * points.front().seconds;
  const bool wide = points.size() == 1 || points.back().x >= kWide * points.front().x;
  line.rate_resolved = wide && cost * points.back().x >= 0.5 * points.back().seconds;
  return line;
}

Entry fit_link(const TransferSet& set, const LinkOptions& options) {
  Entry entry;
  const Target target = target_of(set, options);
  entry.kind = target.network ? Kind::kNetwork : Kind::kDeviceLink;
  describe(set, options, target, entry);
  if (set.transfers.empty()) {
    fit_rates(set, target, entry);
  } else {
    fit_sizes(medians_by_size(set, options.in_place), target, entry);
  }
  if (target.network) {
    entry.settings = {{"switch_latency", "0 us"}, {"efficiency", "1"}};
    entry.notes.push_back(
        "The logs tell neither ports from switches nor hops inside nodes from hops between them: port_latency holds "
        "all, for one hop between nodes.");
    if (options.nics_per_node == 0) {
      entry.notes.push_back(
          "The bandwidth is that of a whole node: use it with `nics: 1`, or calibrate again with "
          "--nics-per-node.");
    }
    entry.notes.push_back("Where the links inside the nodes are the limit, the network is faster than this.");
  }
  return entry;
}

Entry fit_host_path(const std::vector<CopyTime>& times) {
  Entry entry;
  entry.kind = Kind::kHostPath;
  entry.table = {{"size_bytes", "time_s", "samples", "spread"}, 1, {}};
  std::vector<LinePoint> points;
  for (const CopyTime& time : times) {
    points.push_back({time.bytes, time.seconds});
    entry.table.rows.push_back({time.bytes, time.seconds, time.samples, time.spread});
  }
  const Line line = fit_line(points);
  const LinePoint& largest = points.back();
  const double rate =
      line.rate_resolved ? line.rate : largest.x / largest.seconds;  // a line through noise says nothing
  const double latency = std::min(line.latency, points.front().seconds);
  const std::string large = line.rate_resolved
                                ? fmt::format("{} size{} from {}", line.large, line.large == 1 ? "" : "s",
                                              size_text(points[points.size() - line.large].x))
                                : fmt::format("{} and its whole time stand in", size_text(largest.x));
  entry.constants = {
      {"bandwidth", rate, rate_text(rate), large, line.rate_resolved},
      {"latency", latency, time_text(latency),
       fmt::format("{} size{} up to {}", line.small, line.small == 1 ? "" : "s", size_text(points[line.small - 1].x)),
       line.latency_resolved}};
  std::vector<double> fitted;
  std::vector<double> measured;
  std::vector<std::string> names;
  for (const LinePoint& point : points) {
    fitted.push_back(latency + point.x / rate);
    measured.push_back(point.seconds);
    names.push_back(size_text(point.x));
  }
  entry.residuals = {residual_of("", fitted, measured, names)};
  return entry;
}

}  // namespace lamina::validate::calibration
