#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/cli/cores.hpp"

namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ValidateOnCores, MultipliesByOpenBlasInFloat32) {
  const Outcome outcome =
      run_small_on_cores({"--engine", "openblas", "--set", "strategy.precision.compute=fp32", "--set",
                          "strategy.fused_attention=true", "--set", "strategy.schedule=zero_bubble_h1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_THAT(document.at("conditions").at(0).get<std::string>(), AllOf(HasSubstr("OpenBLAS"), HasSubstr("float32")));
  EXPECT_GT(document.at("step").at("structural_s").get<double>(), 0);
  for (const auto& row : document.at("durations")) {
    EXPECT_GT(row.at("measured_s").get<double>(), 0) << row;
  }
}

}  // namespace
}  // namespace lamina::cli_test
