#pragma once

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/paths.hpp"
#include "validate/calibration/calibrate.hpp"

namespace lamina::validate::calibration {

/// The fault that `action` ends in; a test failure if it succeeds.
template <class Action>
error::ScenarioFault fault_of(Action action) {
  try {
    action();
  } catch (const error::ScenarioError& problem) {
    return problem.fault();
  }
  ADD_FAILURE() << "no ScenarioError";
  return {};
}

/// A folder of the test's own, which goes away with it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "lamina-calibration-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(Folder&&) = delete;

  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::filesystem::path file(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline Surroundings surroundings() {
  return {tests::source_folder() / "scenarios", pipeline::plugins_of(pipeline::builtin_catalogs())};
}

/// What nccl-tests 2.17 prints for `nodes` machines of `per_node` GPUs, by the time of each power of two of bytes.
template <class Time>
std::string log_of(const std::string& program, int nodes, int per_node, int from_exponent, int to_exponent,
                   double factor, Time seconds) {
  std::string text = fmt::format(
      "# nccl-tests version 2.17.1 nccl-headers=22707 nccl-library=22707\n# Collective test "
      "starting: {}\n# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 1 "
      "iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n",
      program);
  for (int rank = 0; rank < nodes * per_node; ++rank) {
    text +=
        fmt::format("#  Rank {:2} Group  0 Pid {:6} on  node-{} device {:2} [0000:{:02x}:00] NVIDIA H100 80GB HBM3\n",
                    rank, 4000 + rank, rank / per_node, rank % per_node, 16 + rank % per_node);
  }
  text +=
      "#\n#                                                              out-of-place                       in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  "
      "#wrong\n#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  "
      "(GB/s)\n";
  for (int exponent = from_exponent; exponent <= to_exponent; ++exponent) {
    const double bytes = std::pow(2, exponent);
    const double time = seconds(bytes);
    const double rate = bytes / time / 1e9;
    text += fmt::format(
        "{:12.0f}  {:12.0f}     float     sum      -1  {:.9g}  {:.2f}  {:.2f}       0  {:.9g}  {:.2f}  {:.2f}"
        "       0\n",
        bytes, bytes / 4, time * 1e6, rate, rate * factor, time * 1e6, rate, rate * factor);
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.0\n# Collective test concluded\n";
}

}  // namespace lamina::validate::calibration
