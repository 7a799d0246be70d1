#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.hpp"

namespace lamina::cli_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kInfeasible = 4;

TEST(SizeLimit, AMillionMicroBatchesAreRefusedWithTheNumberInsteadOfFillingTheMemory) {
  const TemporaryFolder folder;
  const std::string file = folder.file("huge.yaml", small_scenario_with("micro_batches: 4", "micro_batches: 1000000"));
  for (const char* command : {"run", "check", "explain"}) {
    Invocation invocation;
    invocation.arguments = {command, file};
    invocation.timeout = std::chrono::seconds(10);
    const Outcome outcome = run(invocation);
    EXPECT_EQ(outcome.code, kInfeasible) << command << ": " << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty()) << command;
    EXPECT_THAT(outcome.err, HasSubstr("million operations")) << command;
  }
}

TEST(SizeLimit, CollectivesOfThousandsOfRanksInMessagesAreRefused) {
  const TemporaryFolder folder;
  const std::string file =
      folder.file("messages.yaml",
                  "schema_version: 1\nmodel: x32\ncluster: {node: dgx-a100-80gb, nodes: 512, network: infiniband-hdr}\n"
                  "strategy: {data_parallel: 4096, micro_batches: 4}\nsimulation: {collectives: {form: message}}\n");
  const Outcome outcome = lamina({"run", file});
  EXPECT_EQ(outcome.code, kInfeasible) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("form: fluid"));
}

}  // namespace
}  // namespace lamina::cli_test
