#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "validate/ranks/launch.hpp"

namespace lamina::validate::ranks {

/// Where a launcher of other processes has put this one.
struct Place {
  int rank = 0;
  int size = 1;
  int local_rank = 0;                 ///< among those of this machine: which GPU
  std::string address = "127.0.0.1";  ///< of rank 0's machine
  int port = 0;                       ///< on which its coordinator listens
};

/// Reads a variable of the environment; nothing when it is not set.
using Variables = std::function<std::optional<std::string>(const char* name)>;

/// From torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT) or those of Open MPI's launcher
/// (OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE). torchrun's own store listens on MASTER_PORT (29500 unless
/// set), so that the coordinator takes the next port; LAMINA_PORT names another.
/// @return nothing when there is no launcher, or only one process
/// @throws EnvironmentError when variables are missing or no numbers, and when processes of several machines have no
/// MASTER_ADDR
[[nodiscard]] std::optional<Place> find_place(const Variables& variables);

/// The environment of this process.
[[nodiscard]] std::optional<std::string> variable(const char* name);

/// Brings processes together that somebody else has started. Rank 0's process forks: the child is rank 0, the parent
/// gets the coordinator. All other processes run `body` and get nothing; when another rank fails they end with status 6
/// at once. To be called while this process has one thread.
/// @param fingerprint of scenario and build, compared by Coordinator::greet
/// @param patience_s how long rank 0 waits for the others to come, and they for rank 0
/// @throws EnvironmentError with the ranks that have not come, and when rank 0 cannot be reached
[[nodiscard]] std::unique_ptr<Coordinator> join(const Place& place, std::string_view fingerprint, double patience_s,
                                                const RankBody& body);

}  // namespace lamina::validate::ranks
