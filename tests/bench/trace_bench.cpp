// A profiler trace of gigabytes, and what `lamina trace import` needs for it. Numbers to look at, not tests:
//   lamina_trace_bench [gigabytes of text, default 2.1]
// The trace is written packed into a temporary folder and removed afterwards.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

namespace {

/// Four operators of the host with shapes, a launch, its arrow and a kernel: the mix of a PyTorch trace with
/// record_shapes. Every eighth kernel is communication.
void write_group(gzFile file, long long number, long long& bytes) {
  const double at = static_cast<double>(number) * 12.5;
  std::string text;
  for (int i = 0; i < 4; ++i) {
    text += fmt::format(
        R"(,
  {{"ph": "X", "cat": "cpu_op", "name": "aten::_scaled_dot_product_flash_attention_backward", "pid": 4037, "tid": 23695,
    "ts": {:.3f}, "dur": 8.125,
    "args": {{"External id": {}, "Record function id": {}, "Sequence number": {}, "Fwd thread id": 1, "Ev Idx": {},
      "Input Dims": [[8, 32, 4096, 128], [8, 32, 4096, 128], [8, 32, 4096, 128], [], [], [], []],
      "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "", "Scalar", "Scalar"]}}}})",
        at + i, number * 4 + i, number, number, number * 4 + i);
  }
  const bool communicates = number % 8 == 7;
  text += fmt::format(
      R"(,
  {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4037, "tid": 23695, "ts": {0:.3f}, "dur": 5.0,
    "args": {{"External id": {1}, "cbid": 211, "correlation": {1}}}}},
  {{"ph": "s", "id": {1}, "pid": 4037, "tid": 23695, "ts": {0:.3f}, "cat": "ac2g", "name": "ac2g"}},
  {{"ph": "f", "id": {1}, "pid": 0, "tid": 7, "ts": {2:.3f}, "cat": "ac2g", "name": "ac2g", "bp": "e"}},
  {{"ph": "X", "cat": "kernel", "name": "{3}", "pid": 0, "tid": {4}, "ts": {2:.3f}, "dur": 10.25,
    "args": {{"External id": {1}, "queued": 0, "device": 0, "context": 1, "stream": {4}, "correlation": {1},
      "registers per thread": 255, "shared memory": 233472, "blocks per SM": 1.0, "warps per SM": 12.0,
      "grid": [132, 1, 1], "block": [384, 1, 1], "est. achieved occupancy %": 19{5}}}}})",
      at, number + 1, at + 40,
      communicates ? "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                   : "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
      communicates ? 20 : 7,
      communicates ? R"(, "Collective name": "_allgather_base", "In msg nelems": 1048576, "Out msg nelems": 8388608,
      "Group size": 8, "dtype": "BFloat16", "Process Group Name": "5")"
                   : "");
  bytes += static_cast<long long>(text.size());
  if (gzwrite(file, text.data(), static_cast<unsigned>(text.size())) <= 0) {
    std::fprintf(stderr, "cannot write the trace\n");
    std::exit(1);
  }
}

/// Wall time and peak memory of the command.
void measure(const std::string& file) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_WRONLY);
    dup2(nothing, STDOUT_FILENO);
    execl(LAMINA_COMMAND, LAMINA_COMMAND, "trace", "import", file.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("trace import: exit code %d, %.1f s, peak %.0f MiB\n", WEXITSTATUS(status), seconds,
              static_cast<double>(usage.ru_maxrss) / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  const double gigabytes = argc > 1 ? std::atof(argv[1]) : 2.1;
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("lamina-trace-bench-{}.json.gz", getpid());
  gzFile stream = gzopen(file.c_str(), "wb1");
  gzputs(stream, R"({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8},
"baseTimeNanoseconds": 1711964646000000000, "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 0})");
  long long bytes = 0;
  long long groups = 0;
  while (static_cast<double>(bytes) < gigabytes * 1e9) {
    write_group(stream, groups++, bytes);
  }
  gzputs(stream, "]}");
  gzclose(stream);
  std::printf("%.2f GB of text, %lld kernels, %.0f MB packed\n", static_cast<double>(bytes) / 1e9, groups,
              static_cast<double>(std::filesystem::file_size(file)) / 1e6);
  measure(file.string());
  std::filesystem::remove(file);
  return 0;
}
