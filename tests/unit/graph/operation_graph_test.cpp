#include "sim/graph/operation_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"

namespace lamina::graph {
namespace {

using ::testing::HasSubstr;

Operation message(OperationKind kind, std::uint16_t stream, std::uint16_t channel, int micro_batch, double bytes = 8) {
  Operation operation;
  operation.kind = kind;
  operation.stream = stream;
  operation.channel = channel;
  operation.micro_batch = micro_batch;
  operation.bytes = bytes;
  return operation;
}

/// Two ranks with a channel each way, each with its own streams for sending and receiving.
std::vector<Program> two_ranks() {
  std::vector<Program> programs(2);
  for (int rank = 0; rank < 2; ++rank) {
    Program& program = programs[static_cast<std::size_t>(rank)];
    program.streams = {{StreamKind::kPipelineSend, "send"}, {StreamKind::kPipelineReceive, "receive"}};
    program.channels = {{1 - rank, 1, true, false}, {1 - rank, 0, false, false}};
  }
  return programs;
}

TEST(OperationGraph, PairsTheKthSendWithTheKthReceive) {
  auto programs = two_ranks();
  programs[0].operations = {message(OperationKind::kSend, 0, 0, 0), message(OperationKind::kSend, 0, 0, 1)};
  programs[1].operations = {message(OperationKind::kReceive, 1, 1, 0), message(OperationKind::kReceive, 1, 1, 1)};
  const OperationGraph graph = freeze(std::move(programs));
  EXPECT_EQ(graph.partner, (std::vector<std::uint32_t>{2, 3, 0, 1}));
  EXPECT_EQ(num_edges(graph.edges), 2U);  // stream order of the sends and of the receives
  EXPECT_EQ(graph.program_of(1), 0);
  EXPECT_EQ(graph.program_of(2), 1);
}

TEST(OperationGraph, RefusesASendWithoutReceive) {
  auto programs = two_ranks();
  programs[0].operations = {message(OperationKind::kSend, 0, 0, 0)};
  EXPECT_THROW((void)freeze(std::move(programs)), error::InternalError);
}

TEST(OperationGraph, RefusesAPairOfDifferentMicroBatches) {
  auto programs = two_ranks();
  programs[0].operations = {message(OperationKind::kSend, 0, 0, 0)};
  programs[1].operations = {message(OperationKind::kReceive, 1, 1, 5)};
  EXPECT_THROW((void)freeze(std::move(programs)), error::InternalError);
}

TEST(OperationGraph, RefusesADependencyOfAnOperationOnItself) {
  std::vector<Program> programs(1);
  programs[0].streams = {{StreamKind::kCompute, "compute"}};
  programs[0].operations = {Operation{}};
  programs[0].dependencies = {{0, 0}};
  EXPECT_THROW((void)freeze(std::move(programs)), error::InternalError);
}

TEST(Deadlock, IsFoundWhenTwoRanksEachSendBeforeTheyReceiveOnOneStream) {
  auto programs = two_ranks();
  for (auto& program : programs) {  // blocking: both on stream 0
    program.operations = {message(OperationKind::kSend, 0, 0, 0), message(OperationKind::kReceive, 0, 1, 0)};
  }
  const std::string text = find_deadlock(freeze(std::move(programs)));
  EXPECT_THAT(text, HasSubstr("rank 0: send to rank 1"));
  EXPECT_THAT(text, HasSubstr("rank 1: send to rank 0"));
}

TEST(Deadlock, IsNotReportedWhenReceivesHaveTheirOwnStream) {
  auto programs = two_ranks();
  for (auto& program : programs) {
    program.operations = {message(OperationKind::kSend, 0, 0, 0), message(OperationKind::kReceive, 1, 1, 0)};
  }
  EXPECT_EQ(find_deadlock(freeze(std::move(programs))), "");
}

TEST(Deadlock, CrossesRolesThroughCollectives) {
  std::vector<Program> programs = two_ranks();
  Operation norm;
  norm.kind = OperationKind::kCollective;
  norm.group = GroupKind::kPipeline;
  norm.stream = 0;
  programs[0].operations = {norm, message(OperationKind::kSend, 0, 0, 0)};
  programs[1].operations = {message(OperationKind::kReceive, 0, 1, 0), norm};
  EXPECT_THAT(find_deadlock(freeze(std::move(programs))), HasSubstr("in the pipeline group"));
}

}  // namespace
}  // namespace lamina::graph
