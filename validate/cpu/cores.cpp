#include "validate/cpu/cores.hpp"

#include <cstddef>

#include <sched.h>

namespace lamina::validate::cpu {

std::vector<int> own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) {
      cores.push_back(core);
    }
  }
  return cores;
}

void pin_to_core_of(int rank) {
  const std::vector<int> cores = own_cores();
  if (cores.empty()) {
    return;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cores[static_cast<std::size_t>(rank) % cores.size()], &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace lamina::validate::cpu
