#include <filesystem>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cli/command.hpp"
#include "tests/support/paths.hpp"

/// The cpu back end in processes that a launcher has started: here by hand, with its variables, on one machine.
namespace lamina::cli_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

using Environment = std::map<std::string, std::string>;

std::string free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t size = sizeof any;
  (void)bind(socket, reinterpret_cast<sockaddr*>(&any), sizeof any);
  (void)getsockname(socket, reinterpret_cast<sockaddr*>(&any), &size);
  close(socket);
  return std::to_string(ntohs(any.sin_port));
}

Outcome run_rank(int rank, const std::string& port, const std::vector<std::string>& more, Environment also = {}) {
  Invocation invocation;
  invocation.arguments = {"validate",  (tests::source_folder() / "scenarios/validate/two-cores.yaml").string(),
                          "--backend", "cpu",
                          "--repeat",  "1",
                          "--format",  "json",
                          "--set",     "model.hidden=128",
                          "--set",     "model.head_size=16",
                          "--set",     "model.feed_forward=512"};
  invocation.arguments.insert(invocation.arguments.end(), more.begin(), more.end());
  also.insert({{"RANK", std::to_string(rank)},
               {"LOCAL_RANK", std::to_string(rank)},
               {"WORLD_SIZE", "2"},
               {"MASTER_ADDR", "127.0.0.1"},
               {"LAMINA_PORT", port}});
  invocation.environment = std::move(also);
  return run(invocation);
}

std::vector<Outcome> run_both(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  const std::string port = free_port();
  auto other = std::async(std::launch::async, [&] { return run_rank(1, port, second); });
  Outcome own = run_rank(0, port, first);
  return {std::move(own), other.get()};
}

bool has_onednn() {
  return std::filesystem::exists(std::filesystem::path(tests::command()).parent_path().parent_path() /
                                 "lib/lamina/lamina_onednn.so");
}

TEST(ValidateLaunched, RanksOfALauncherRunOneStepAndTheFirstTells) {
  if (!has_onednn()) {
    GTEST_SKIP() << "built without oneDNN";
  }
  for (const char* layout : {"strategy.schedule=zero_bubble_h1",
                             "strategy={pipeline_parallel: 1, data_parallel: 2, micro_batches: 4, schedule: gpipe}"}) {
    const std::vector<std::string> arguments = {"--transport", "tcp", "--set", layout};
    const std::vector<Outcome> outcomes = run_both(arguments, arguments);
    ASSERT_EQ(outcomes[0].code, 0) << outcomes[0].err;
    EXPECT_EQ(outcomes[1].code, 0) << outcomes[1].err;
    EXPECT_THAT(outcomes[1].out, IsEmpty());
    const auto document = nlohmann::json::parse(outcomes[0].out);
    EXPECT_EQ(document.at("backend"), "cpu, TCP between processes of a launcher");
    EXPECT_GT(document.at("step").at("measured_s").get<double>(), 0);
  }
}

TEST(ValidateLaunched, DifferentScenariosAreRefused) {
  if (!has_onednn()) {
    GTEST_SKIP() << "built without oneDNN";
  }
  const std::vector<Outcome> outcomes =
      run_both({"--transport", "tcp"}, {"--transport", "tcp", "--set", "strategy.micro_batches=8"});
  EXPECT_EQ(outcomes[0].code, 6);
  EXPECT_THAT(outcomes[0].err, HasSubstr("rank 1: it runs another scenario"));
  EXPECT_EQ(outcomes[1].code, 6);
}

TEST(ValidateLaunched, OnlySocketsReachOtherMachines) {
  for (const char* transport : {"memory", "ethernet"}) {
    const Outcome outcome = run_rank(0, free_port(), {"--transport", transport});
    EXPECT_EQ(outcome.code, 4) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr("choose --transport tcp"));
  }
}

TEST(ValidateLaunched, AnotherNumberOfProcessesIsRefused) {
  const Outcome outcome = run_rank(0, free_port(), {"--transport", "tcp"}, {{"WORLD_SIZE", "3"}});
  EXPECT_EQ(outcome.code, 6);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("3 processes"), HasSubstr("scenario of 2 ranks")));
}

}  // namespace
}  // namespace lamina::cli_test
