#include <gtest/gtest.h>

#include "sim/report/action_name.hpp"

namespace lamina::report {
namespace {

graph::Operation operation(graph::OperationKind kind, graph::Phase phase, int stage, int micro_batch) {
  graph::Operation result;
  result.kind = kind;
  result.phase = phase;
  result.stage = stage;
  result.micro_batch = micro_batch;
  return result;
}

using graph::OperationKind;
using graph::Phase;

/// PyTorch, torch/distributed/pipelining/schedules.py: an action reads stage, type, micro-batch.
TEST(ActionName, FollowsPyTorch) {
  const graph::Program program;
  EXPECT_EQ(action_name(operation(OperationKind::kCompute, Phase::kForward, 0, 3), program), "0F3");
  EXPECT_EQ(action_name(operation(OperationKind::kCompute, Phase::kBackward, 2, 0), program), "2B0");
  EXPECT_EQ(action_name(operation(OperationKind::kCompute, Phase::kInputGradient, 1, 10), program), "1I10");
  EXPECT_EQ(action_name(operation(OperationKind::kCompute, Phase::kWeightGradient, 12, 4), program), "12W4");
  EXPECT_EQ(action_name(operation(OperationKind::kCollective, Phase::kRestore, 3, -1), program), "3UNSHARD");
  EXPECT_EQ(action_name(operation(OperationKind::kCollective, Phase::kReduce, 3, -1), program), "3REDUCE_GRAD");
}

TEST(ActionName, TellsActivationsFromGradientsByTheChannel) {
  graph::Program program;
  program.channels = {{1, 0, true, false}, {1, 0, false, true}};
  graph::Operation send = operation(OperationKind::kSend, Phase::kPipeline, 1, 3);
  EXPECT_EQ(action_name(send, program), "1SEND_F3");
  send.kind = OperationKind::kReceive;
  send.channel = 1;
  EXPECT_EQ(action_name(send, program), "1RECV_B3");
}

TEST(ActionName, LeavesOutWhatAnOperationDoesNotHave) {
  const graph::Program program;
  EXPECT_EQ(action_name(operation(OperationKind::kCompute, Phase::kUpdate, -1, -1), program), "UPDATE");
  EXPECT_EQ(action_name(operation(OperationKind::kHostCopy, Phase::kOffload, 2, -1), program), "2FROM_HOST");
  graph::Operation tensor = operation(OperationKind::kCollective, Phase::kTensor, 2, 5);
  tensor.collective = graph::CollectiveKind::kAllGather;
  EXPECT_EQ(action_name(tensor, program), "2ALL_GATHER5");
}

TEST(Category, IsTheTrafficClassOrFollowsFromTheKind) {
  graph::Operation restore = operation(OperationKind::kCollective, Phase::kRestore, 0, -1);
  EXPECT_EQ(category_of(restore), "reduce");
  restore.traffic = graph::Traffic::kRestore;
  EXPECT_EQ(category_of(restore), "restore");
  EXPECT_EQ(category_of(operation(OperationKind::kCompute, Phase::kForward, 0, 0)), "compute");
  EXPECT_EQ(category_of(operation(OperationKind::kSend, Phase::kPipeline, 0, 0)), "pipeline");
  EXPECT_EQ(category_of(operation(OperationKind::kHostCopy, Phase::kOffload, 0, 0)), "offload");
}

}  // namespace
}  // namespace lamina::report
