#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "validate/cuda/cuda_backend.hpp"
#include "validate/cuda/plugin/checked.hpp"

namespace lamina::validate::cuda {

/// NCCL between processes: one communicator of two ranks for every channel of the deployment, so that no two transfers
/// share one, and one for every group. All are made at once and in one order, so that no process waits for another one
/// in a circle.
class Communicators {
 public:
  /// Of the one rank that this process drives. Collective over the peers.
  explicit Communicators(const DeviceSetup& setup);

  /// The sender is rank 0 of it, the receiver rank 1.
  [[nodiscard]] ncclComm_t of_channel(std::int32_t channel) const;
  /// Ranks are those of Group::members.
  [[nodiscard]] ncclComm_t of_group(std::int32_t group) const;

  /// @throws EnvironmentError when an operation of a communicator has failed since
  void check_errors() const;

 private:
  struct Abort {
    void operator()(ncclComm_t communicator) const { (void)ncclCommAbort(communicator); }  // never waits for a peer
  };

  using Communicator = std::unique_ptr<std::remove_pointer_t<ncclComm_t>, Abort>;

  std::vector<Communicator> channels_;  ///< null where this rank has no part
  std::vector<Communicator> groups_;
};

}  // namespace lamina::validate::cuda
