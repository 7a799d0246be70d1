#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/deployment/deployment.hpp"
#include "sim/graph/operation_graph.hpp"
#include "validate/cpu/scratch_file.hpp"
#include "validate/cpu/transport.hpp"
#include "validate/ranks/control.hpp"

namespace lamina::validate::cpu {

/// Where a rank's host copies lie, in bytes from the start of its memory or file: all copies of one layer (and
/// micro-batch) in one place, so that what is read is what was written. Places are whole pages.
struct HostPlaces {
  std::vector<std::size_t> of_operation;  ///< 0 for operations that are no host copies
  std::size_t total = 0;
  std::size_t largest = 0;  ///< one copy
  double in_step = 0;       ///< bytes of all copies
};

[[nodiscard]] HostPlaces place_copies(const graph::Program& program);

/// What the host copies of one rank go to. The device's side is a buffer per direction.
class HostStore {
 public:
  /// @throws std::bad_alloc
  explicit HostStore(HostPlaces places);
  virtual ~HostStore() = default;

  /// One thread may write while another reads. At most the largest copy.
  /// @throws EnvironmentError with the system's reason
  virtual void write(std::size_t place, std::size_t bytes) = 0;
  virtual void read(std::size_t place, std::size_t bytes) = 0;

  /// Whether copies of other ranks may slow this rank's in a way that no path of the scenario tells.
  [[nodiscard]] virtual bool ranks_compete() const = 0;

  [[nodiscard]] const HostPlaces& places() const { return places_; }

  /// What is written, and what has been read.
  [[nodiscard]] std::span<char> outgoing() const { return {outgoing_.get(), whole_pages(places_.largest)}; }

  [[nodiscard]] std::span<char> incoming() const { return {incoming_.get(), whole_pages(places_.largest)}; }

 private:
  HostPlaces places_;
  PageMemory outgoing_;
  PageMemory incoming_;
};

/// The bytes are copied in memory, and the caller sleeps until the rank's path would be done, like a copy engine.
/// `memory` must outlive the store.
[[nodiscard]] std::unique_ptr<HostStore> make_memory_store(HostPlaces places, const deployment::Rank& rank,
                                                           SharedMemory& memory);

/// A file of the folder, as fast as it is. It is written once from end to end, so that reads find what a disk must
/// fetch, and a full disk is known before the first step.
/// @throws EnvironmentError with folder, bytes and the system's reason
[[nodiscard]] std::unique_ptr<HostStore> make_file_store(HostPlaces places, const std::filesystem::path& folder);

/// How files of the folder are written and read.
/// @throws EnvironmentError when none can be made there
[[nodiscard]] std::string describe_file_store(const std::filesystem::path& folder);

/// Of copies of one rank in one direction. No such copies: `large_bytes` is 0.
struct CopyCost {
  double small_bytes = 0;
  double small_s = 0;  ///< while no other rank copies; only measured where ranks compete
  double large_bytes = 0;
  double large_s = 0;     ///< likewise
  double together_s = 0;  ///< large copies while all ranks copy
};

struct CopyCosts {
  CopyCost to_host;
  CopyCost from_host;
};

/// Medians of both directions: rank after rank where they compete, and all at once. Collective: every rank calls it.
[[nodiscard]] CopyCosts measure_copies(HostStore& store, const graph::OperationGraph& graph,
                                       const deployment::Deployment& deployment, std::int32_t rank,
                                       ranks::Control& control);

/// Puts costs ([rank]) into the host paths of `into`, which begins as a copy of `deployment`. In memory the scenario's
/// paths get what the copies take beyond them. With files every rank gets a path with the latency and rate of its own
/// copies, and all share a link for writing and one for reading, with the rate of all ranks together.
void apply_copies(const std::vector<CopyCosts>& costs, const deployment::Deployment& deployment, bool files,
                  deployment::Deployment& into);

}  // namespace lamina::validate::cpu
