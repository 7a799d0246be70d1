#pragma once

#include "sim/deployment/deployment.hpp"

namespace lamina::replay {

/// A link's share of its nominal bandwidth as a function of time.
class LinkProfile {
 public:
  /// `profile` must outlive this: at least one change, times ascend from 0, all of them within the period if there is
  /// one.
  explicit LinkProfile(const deployment::Profile& profile) : profile_(profile) {}

  struct Stretch {
    double share = 1;  ///< of the nominal bandwidth
    double until = 0;  ///< seconds; infinite: for good
  };

  /// What holds from `time` (>= 0, seconds) on: at the date of a change, what it changes to. `until` is after `time`.
  [[nodiscard]] Stretch at(double time) const;

 private:
  const deployment::Profile& profile_;
};

}  // namespace lamina::replay
