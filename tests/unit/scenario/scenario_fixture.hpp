#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/scenario/load.hpp"
#include "tests/support/paths.hpp"

namespace lamina::scenario {

/// Stand-ins with every kind of parameter, so that tests of the loader do not depend on the plug-ins of the day.
inline Plugins test_plugins() {
  using catalog::ParameterKind;
  Plugins plugins;
  plugins.schedules = {
      {"accumulate", "A", "", {}},
      {"one_forward_one_backward", "B", "", {}},
      {"layered_modular",
       "C",
       "",
       {{"layers_per_chunk", ParameterKind::kInteger, "1", {}, 1, 1000, "Layers of a chunk."},
        {"backward_order", ParameterKind::kChoice, "ascending", {"ascending", "descending"}, 0, 0, "Order."}}}};
  plugins.topologies = {{"fat_tree",
                         "D",
                         "",
                         {{"levels", ParameterKind::kInteger, "2", {}, 1, 4, "Levels."},
                          {"oversubscription", ParameterKind::kNumber, "1", {}, 1, 100, "Ratio."},
                          {"adaptive", ParameterKind::kBoolean, "true", {}, 0, 1, "Spread."},
                          {"cable_latency", ParameterKind::kSeconds, "0 us", {}, 0, 1, "Of one cable."},
                          {"uplink", ParameterKind::kBytesPerSecond, "100 GB/s", {}, 1, 1e15, "Of one uplink."}}},
                        {"nvlink_switch", "E", "", {}}};
  plugins.cost_models = {
      {"ideal", "F", "", {{"fraction_of_peak", ParameterKind::kNumber, "1", {}, 0.01, 1, "Share of peak."}}},
      {"roofline", "G", "", {}},
      {"calibrated",
       "K",
       "",
       {{"matrix_efficiency", ParameterKind::kNumber, "1", {}, 0.01, 1, "Share of peak."},
        {"tile_depth", ParameterKind::kNumber, "1", {}, 0, 1000, "Elements."},
        {"narrow_matrix_efficiency", ParameterKind::kNumber, "1", {}, 0.01, 1, "Share of peak."},
        {"attention_efficiency", ParameterKind::kNumber, "1", {}, 0.01, 1, "Share of peak."},
        {"attention_backward_efficiency", ParameterKind::kNumber, "1", {}, 0.01, 1, "Share of peak."},
        {"cudnn_attention_efficiency", ParameterKind::kNumber, "1", {}, 0.01, 1, "Share of peak."},
        {"cudnn_attention_backward_efficiency", ParameterKind::kNumber, "1", {}, 0.01, 1, "Share of peak."},
        {"memory_efficiency", ParameterKind::kNumber, "1", {}, 0.01, 1, "Share of the bandwidth."}}},
      {"strict", "H", "", {{"needed", ParameterKind::kInteger, "", {}, 0, 9, "No default."}}}};
  plugins.collectives = {{"automatic", "L", "", {}}, {"ring", "I", "", {}}, {"hierarchical", "J", "", {}}};
  return plugins;
}

inline std::filesystem::path source_catalogue() {
  return tests::source_folder() / "scenarios";
}

inline Scenario load(const std::string& text, const std::vector<Override>& overrides = {}) {
  return load_text(text, "folder/test.yaml", source_catalogue(), test_plugins(), overrides);
}

/// The fault that loading ends in; a test failure if it succeeds.
template <class Action>
error::ScenarioFault fault_when(Action action) {
  try {
    action();
  } catch (const error::ScenarioError& problem) {
    return problem.fault();
  }
  ADD_FAILURE() << "no ScenarioError was thrown";
  return {};
}

inline error::ScenarioFault fault_of(const std::string& text, const std::vector<Override>& overrides = {}) {
  return fault_when([&] { static_cast<void>(load(text, overrides)); });
}

/// A valid scenario, line by line; tests change one line.
inline std::string good_scenario() {
  return "schema_version: 1\n"          // 1
         "model: x32\n"                 // 2
         "cluster:\n"                   // 3
         "  node: dgx-a100-80gb\n"      // 4
         "  nodes: 2\n"                 // 5
         "  network: infiniband-hdr\n"  // 6
         "strategy:\n"                  // 7
         "  data_parallel: 8\n"         // 8
         "  micro_batches: 4\n";        // 9
}

/// `good_scenario()` with one line replaced.
inline std::string with_line(int number, const std::string& line) {
  std::string text;
  std::string rest = good_scenario();
  for (int i = 1; !rest.empty(); ++i) {
    const std::size_t end = rest.find('\n');
    text += (i == number ? line : rest.substr(0, end)) + "\n";
    rest = rest.substr(end + 1);
  }
  return text;
}

/// `good_scenario()` and more lines after it; the first of them is line 10.
inline std::string with_more(const std::string& lines) {
  return good_scenario() + lines;
}

/// A file that lives as long as the test.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& content)
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ("lamina_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()))),
        path_(folder_ / name) {
    std::filesystem::create_directories(folder_);
    std::ofstream(path_, std::ios::binary) << content;
  }

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::filesystem::path path_;
};

}  // namespace lamina::scenario
