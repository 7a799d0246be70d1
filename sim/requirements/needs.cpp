#include "sim/requirements/needs.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "sim/report/names.hpp"
#include "sim/requirements/closed_form.hpp"
#include "sim/requirements/experiment.hpp"
#include "sim/requirements/least.hpp"

namespace lamina::requirements {
namespace {

using fabric::LinkClass;
using graph::Traffic;

constexpr std::array<LinkClass, fabric::kLinkClasses> kClasses = {LinkClass::kPort, LinkClass::kTrunk,
                                                                  LinkClass::kDeviceLink, LinkClass::kHostPath};
constexpr double kMostScale = 1e6;       ///< of the present bandwidth
constexpr double kLeastLatency = 1e-12;  ///< seconds; below this the latency costs nothing
constexpr double kNegligible = 1e-6;     ///< share of a class's bytes: sums of single numbers need no bandwidth
constexpr double kUnlimited = 1e6;       ///< times the present bandwidth

double latency_of(const fabric::Fabric& fabric, LinkClass link_class) {
  switch (link_class) {
    case LinkClass::kDeviceLink:
      return fabric.device_link_latency.value();
    case LinkClass::kHostPath:
      return fabric.host_latency.value();
    case LinkClass::kPort:
      return fabric.port_latency.value();
    case LinkClass::kTrunk:
      break;
  }
  return fabric.switch_latency.value();
}

/// Link bandwidths are what a long message reaches; the scenario gives a port's nominal rate.
double nominal(double bandwidth, LinkClass link_class, const scenario::Scenario& scenario) {
  return link_class == LinkClass::kPort ? bandwidth / scenario.cluster.network.efficiency : bandwidth;
}

class Needs {
 public:
  Needs(const scenario::Scenario& scenario, const pipeline::Result& result, const pipeline::Catalogs& catalogs,
        double tolerance, const std::function<void(const std::string&)>& progress)
      : scenario_(scenario),
        result_(result),
        tolerance_(tolerance),
        progress_(progress),
        experiment_(scenario, result.prepared, catalogs) {}

  report::Requirements find(Depth depth) {
    for (const LinkClass link_class : kClasses) {
      const bool used = add_row({link_class, std::nullopt}, 0);
      if (used && depth == Depth::kTraffic) {
        const double ideal_s = answer_.rows.back().ideal_step_s;
        for (const Traffic traffic : report::kExposedTraffic) {
          add_row({link_class, traffic}, ideal_s);
        }
      }
      if (!exists(link_class)) {
        continue;  // a single switch has latency, but no trunk
      }
      if (depth == Depth::kTraffic) {
        add_sensitivity(link_class);
      }
      if (used && !experiment_.affordable(link_class)) {
        answer_.warnings.push_back(
            fmt::format("Every {} is loaded differently, which leaves too little to fold for a search: the bandwidth "
                        "needed (marked >) is the least that can carry the bytes in the time allowed.",
                        fabric::name_of(link_class)));
      }
      if (!used) {
        answer_.warnings.push_back(fmt::format("Nothing in this layout uses the {}: its bandwidth has no effect.",
                                               fabric::name_of(link_class)));
      }
    }
    answer_.replays = experiment_.replays();
    return std::move(answer_);
  }

 private:
  [[nodiscard]] bool exists(LinkClass link_class) const {
    const auto& links = result_.prepared.fabric.links;
    return std::any_of(links.begin(), links.end(),
                       [&](const fabric::Link& link) { return link.link_class == link_class; });
  }

  /// Adds the row if the traffic passes the class; the row of all traffic in any case. True if it does.
  bool add_row(const Selection& selection, double ideal_s) {
    const Busiest busiest = experiment_.busiest(selection);
    const bool waits = experiment_.crosses(selection);
    const bool used = busiest.used || waits;
    if (!used) {
      return false;
    }
    progress_(fmt::format("{}, {}", fabric::name_of(selection.link_class),
                          selection.traffic ? report::word_for(*selection.traffic) : "all traffic"));
    report::RequirementRow row;
    row.link_class = selection.link_class;
    row.traffic = selection.traffic;
    row.ideal_step_s = selection.traffic ? ideal_s : ideal_step(selection);
    row.bytes = busiest.bytes;
    const double all_bytes = experiment_.busiest({selection.link_class, std::nullopt}).bytes;
    row.bandwidth_bytes_per_s = nominal(busiest.bandwidth_bytes_per_s, selection.link_class, scenario_);
    row.latency_s = latency_of(result_.prepared.fabric, selection.link_class);
    if (busiest.bytes > kNegligible * all_bytes) {
      row.is_bound = !experiment_.affordable(selection.link_class);
      row.least_bandwidth_bytes_per_s = row.is_bound ? busiest.bytes / ((1 + tolerance_) * row.ideal_step_s)
                                                     : least_bandwidth(selection, busiest, row);
      add_closed_form(selection, busiest, row);
    }
    if (waits) {
      row.most_latency_s = most_latency(selection, row.ideal_step_s);
    }
    answer_.rows.push_back(std::move(row));
    return busiest.bytes > 0;
  }

  /// Where the class cannot be replayed as a limit, the other network class has the same ideal step.
  double ideal_step(const Selection& selection) {
    const bool trunk = selection.link_class == LinkClass::kTrunk;
    return experiment_.ideal_step(
        {trunk && !experiment_.affordable(LinkClass::kTrunk) ? LinkClass::kPort : selection.link_class, std::nullopt});
  }

  std::optional<double> least_bandwidth(const Selection& selection, const Busiest& busiest,
                                        const report::RequirementRow& row) {
    Search search;
    search.target = (1 + tolerance_) * row.ideal_step_s;
    // The busiest link must move its bytes within the time allowed.
    search.lower = busiest.bytes / busiest.bandwidth_bytes_per_s / search.target;
    search.most = std::max(kMostScale, 2 * search.lower);
    const auto time = [&](double scale) { return experiment_.step_with_bandwidth(selection, scale); };
    const Least least = least_that_meets(time, search);
    return least.value ? std::optional(*least.value * row.bandwidth_bytes_per_s) : std::nullopt;
  }

  std::optional<double> most_latency(const Selection& selection, double ideal_s) {
    Search search;
    search.target = (1 + tolerance_) * ideal_s;
    search.lower = 1 / search.target;  // one crossing may not last longer than the step
    search.most = 1 / kLeastLatency;
    const auto time = [&](double inverse) { return experiment_.step_with_latency(selection, 1 / inverse); };
    const Least least = least_that_meets(time, search);
    return least.value ? std::optional(1 / *least.value) : std::nullopt;
  }

  void add_closed_form(const Selection& selection, const Busiest& busiest, report::RequirementRow& row) const {
    if (!selection.traffic) {
      return;
    }
    const double exposed_s = tolerance_ * row.ideal_step_s;
    const auto form = closed_form(scenario_, result_.prepared, *selection.traffic, exposed_s);
    if (form) {
      // Devices share links, and not every device's traffic takes this class: the busiest link against one device.
      const double devices_per_link = busiest.bytes / form->bytes();
      row.closed_form_bytes_per_s =
          nominal(form->bandwidth(exposed_s) * devices_per_link, selection.link_class, scenario_);
      row.formula = form->formula;
    }
  }

  void add_sensitivity(LinkClass link_class) {
    report::Sensitivity sensitivity;
    sensitivity.link_class = link_class;
    sensitivity.used = experiment_.busiest({link_class, std::nullopt}).bytes > 0;
    sensitivity.measured = sensitivity.used && experiment_.affordable(link_class);
    if (sensitivity.measured) {
      progress_(fmt::format("sensitivity to the {}", fabric::name_of(link_class)));
      const double own = result_.timeline.end_s;
      const auto change = [&](double scale) { return experiment_.step_with_class_scaled(link_class, scale) / own - 1; };
      sensitivity.half = change(0.5);
      sensitivity.twice = change(2);
      sensitivity.unlimited = change(kUnlimited);
    }
    answer_.sensitivities.push_back(sensitivity);
  }

  const scenario::Scenario& scenario_;
  const pipeline::Result& result_;
  double tolerance_;
  const std::function<void(const std::string&)>& progress_;
  Experiment experiment_;
  report::Requirements answer_;
};

}  // namespace

report::Requirements find_needs(const scenario::Scenario& scenario, const pipeline::Result& result,
                                const pipeline::Catalogs& catalogs, double tolerance, Depth depth,
                                const std::function<void(const std::string&)>& progress) {
  return Needs(scenario, result, catalogs, tolerance, progress).find(depth);
}

}  // namespace lamina::requirements
