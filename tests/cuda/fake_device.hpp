#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

/// A CUDA device that is not there: the functions of the CUDA runtime, cuBLASLt and NCCL that the plug-in calls, linked
/// in their place. A stream is a clock; what is put into it happens at once, in the order of the calls, which is exact
/// while one thread issues everything. Device memory is host memory.
namespace lamina::tests::fake {

struct State {
  bool runs_kernels = true;  ///< compute for real (on the processor), or only let time pass
  double kernel_s = 0;       ///< of a kernel of our own
  double flops_per_s = 0;    ///< of matrix products; 0: they take no time
  double to_host_latency_s = 0;
  double to_host_s_per_byte = 0;
  double from_host_latency_s = 0;
  double from_host_s_per_byte = 0;
  double nccl_s = 0;           ///< of an operation
  double host_s = 0;           ///< clock of the thread that issues
  double memory_bytes = 1e18;  ///< device memory left
  bool hangs = false;          ///< nothing ever ends
  int devices = 1;
  std::map<std::string, int> fail;        ///< function -> the status it returns
  std::map<std::string, int> fail_after;  ///< function -> calls that still succeed
  std::map<std::string, int> calls;       ///< function -> how often it was called
  std::vector<std::string> nccl;          ///< "init 2 as 0", "send 4096 to 1" ...
};

[[nodiscard]] State& state();

/// As if nothing had happened; made before and after a test.
class Fresh {
 public:
  Fresh() { state() = {}; }

  ~Fresh() { state() = {}; }

  Fresh(const Fresh&) = delete;
  Fresh& operator=(const Fresh&) = delete;
};

}  // namespace lamina::tests::fake
