#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/fabric/fabric.hpp"
#include "sim/graph/operation_graph.hpp"
#include "sim/report/ranking.hpp"
#include "sim/report/report.hpp"

/// What layouts ask of the network: what `lamina requirements` answers. Plain numbers; filled by sim/requirements.
namespace lamina::report {

/// One traffic class (or all traffic) on one link class, everything else held as sim/requirements/experiment.hpp says.
struct RequirementRow {
  fabric::LinkClass link_class = fabric::LinkClass::kPort;
  std::optional<graph::Traffic> traffic;              ///< none: all of it
  double ideal_step_s = 0;                            ///< the class free of limit and latency
  double bytes = 0;                                   ///< through the busiest link, per step
  double bandwidth_bytes_per_s = 0;                   ///< that link has; ports: as in cluster.network.bandwidth
  std::optional<double> least_bandwidth_bytes_per_s;  ///< none: nothing is moved over the class
  bool is_bound = false;  ///< least_bandwidth is a lower bound by volume: too much work for a search
  std::optional<double> closed_form_bytes_per_s;  ///< the same by arXiv 2106.02679; none: no formula for it
  std::string formula;                            ///< of the closed form
  double latency_s = 0;                           ///< that the class has: per message for ports, per switch for trunks
  std::optional<double> most_latency_s;           ///< none: nothing passes the class
};

/// How the scenario's own step changes with the bandwidth of one link class, relative: 0.1 is 10 % longer.
struct Sensitivity {
  fabric::LinkClass link_class = fabric::LinkClass::kPort;
  bool used = false;      ///< false: nothing is moved over the class, its bandwidth has no effect
  bool measured = false;  ///< false though used: too much work
  double half = 0;
  double twice = 0;
  double unlimited = 0;
};

/// One layout.
struct Requirements {
  std::string name;
  std::string file;
  std::string schedule;
  std::string topology;
  Report report;  ///< of the scenario as it is
  std::vector<RequirementRow> rows;
  std::vector<Sensitivity> sensitivities;
  std::vector<std::string> warnings;
  int replays = 0;
};

struct RequirementsDocument {
  double tolerance = 0.05;  ///< share by which a step may be longer than the ideal one
  bool details = false;     ///< each of several layouts is shown in full, too
  std::vector<Requirements> layouts;
  std::vector<Refusal> refusals;
};

/// Row of all traffic on a class; nullptr if there is none.
[[nodiscard]] const RequirementRow* whole_row(const Requirements& layout, fabric::LinkClass link_class);

/// Tables of at most 105 columns: one per layout, and one that compares the layouts. `colour`: ANSI escapes.
[[nodiscard]] std::string to_console(const RequirementsDocument& document, bool colour);

/// JSON document, schema "lamina.requirements/1" (see docs/report.md); byte-identical for equal documents.
[[nodiscard]] std::string to_json(const RequirementsDocument& document);

/// One header line and one row per layout, link class and traffic class, units in the column names.
[[nodiscard]] std::string to_csv(const RequirementsDocument& document);

}  // namespace lamina::report
