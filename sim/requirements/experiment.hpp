#pragma once

#include <map>
#include <optional>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/fabric/fabric.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/requirements/loads.hpp"

namespace lamina::requirements {

/// Traffic over a link class; `traffic` none: all of it.
struct Selection {
  fabric::LinkClass link_class = fabric::LinkClass::kPort;
  std::optional<graph::Traffic> traffic;
};

/// Replays of one layout on clusters that differ from the scenario's in one respect: how the selected traffic passes
/// the selected link class. The rest:
///  * ports and trunks, unless selected, have no limit, and no port, switch or cable takes time;
///  * device links and host paths, unless selected, are the scenario's;
///  * other traffic passes the selected class freely.
/// The layout (the schedule's table, the operations) is held fixed. Everything is replayed with SimGrid.
class Experiment {
 public:
  /// Everything must outlive the experiment.
  Experiment(const scenario::Scenario& scenario, const pipeline::Prepared& prepared,
             const pipeline::Catalogs& catalogs);

  /// Seconds of a step if the selected class has no limit and no latency at all: the ideal that losses are measured
  /// from.
  [[nodiscard]] double ideal_step(const Selection& selection);

  /// Seconds of a step with `scale` times the scenario's bandwidth and no latency in the selected class.
  [[nodiscard]] double step_with_bandwidth(const Selection& selection, double scale);

  /// Seconds of a step with `latency_s` per crossing (device link: device to device; host path: device to host; port:
  /// both ends together; trunk: one switch) and no limit in the selected class.
  [[nodiscard]] double step_with_latency(const Selection& selection, double latency_s);

  /// Seconds of a step of the scenario itself with `scale` times its bandwidth in one class; nothing else is changed.
  [[nodiscard]] double step_with_class_scaled(fabric::LinkClass link_class, double scale);

  /// Whether replays that let the class limit are affordable: trunks that cannot limit at their own bandwidth do not
  /// split the classes of a folding, but once they can, unequal loads of theirs may leave little to fold.
  [[nodiscard]] bool affordable(fabric::LinkClass link_class);

  /// What the selected traffic moves over the class.
  [[nodiscard]] Busiest busiest(const Selection& selection);

  /// Whether the selected traffic waits for the class's latency. (Within one leaf a message crosses a switch, but no
  /// trunk.)
  [[nodiscard]] bool crosses(const Selection& selection);

  [[nodiscard]] int replays() const { return replays_; }

 private:
  /// A layout on a changed fabric.
  struct Bench {
    deployment::Deployment deployment;
    std::vector<PathTraffic> traffic;
  };

  [[nodiscard]] Bench lay_out(const fabric::Fabric& fabric) const;
  [[nodiscard]] const Bench& bandwidth_bench(fabric::LinkClass link_class);
  [[nodiscard]] const Bench& latency_bench(fabric::LinkClass link_class);
  [[nodiscard]] const Bench& own_bench(fabric::LinkClass link_class);
  [[nodiscard]] double replay(const deployment::Deployment& deployment);

  const scenario::Scenario* scenario_;
  const pipeline::Prepared* prepared_;
  const pipeline::Catalogs* catalogs_;
  std::map<fabric::LinkClass, Bench> bandwidth_benches_;
  std::map<fabric::LinkClass, Bench> latency_benches_;
  std::map<fabric::LinkClass, Bench> own_benches_;
  int replays_ = 0;
};

}  // namespace lamina::requirements
