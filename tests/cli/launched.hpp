#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/command.hpp"
#include "tests/cli/cores.hpp"
#include "tests/support/free_port.hpp"

namespace lamina::cli_test {

/// `lamina validate --backend cpu` as rank `rank` of the two that torchrun would have started.
inline Outcome run_rank(int rank, int port, const std::vector<std::string>& more,
                        std::map<std::string, std::string> also = {}) {
  Invocation invocation;
  invocation.arguments = on_two_cores({"validate", "--backend", "cpu", "--repeat", "1", "--format", "json"}, more);
  also.insert({{"RANK", std::to_string(rank)},
               {"LOCAL_RANK", std::to_string(rank)},
               {"WORLD_SIZE", "2"},
               {"MASTER_ADDR", "127.0.0.1"},
               {"LAMINA_PORT", std::to_string(port)}});
  invocation.environment = std::move(also);
  return run(invocation);
}

}  // namespace lamina::cli_test
