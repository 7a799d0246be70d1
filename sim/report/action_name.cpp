#include "sim/report/action_name.hpp"

#include <iterator>

#include <fmt/format.h>

#include "sim/report/names.hpp"

namespace lamina::report {

namespace {

std::string_view compute_action(graph::Phase phase) {
  switch (phase) {
    case graph::Phase::kForward:
      return "F";
    case graph::Phase::kRecompute:
      return "R";
    case graph::Phase::kInputGradient:
      return "I";
    case graph::Phase::kWeightGradient:
      return "W";
    case graph::Phase::kBackward:
      return "B";
    case graph::Phase::kUpdate:
      return "UPDATE";
    default:
      return "COMPUTE";
  }
}

std::string_view collective_action(const graph::Operation& operation) {
  if (operation.phase == graph::Phase::kRestore) {
    return "UNSHARD";
  }
  if (operation.phase == graph::Phase::kReduce) {
    return "REDUCE_GRAD";
  }
  switch (operation.collective) {
    case graph::CollectiveKind::kAllReduce:
      return "ALL_REDUCE";
    case graph::CollectiveKind::kReduceScatter:
      return "REDUCE_SCATTER";
    case graph::CollectiveKind::kAllGather:
      return "ALL_GATHER";
    case graph::CollectiveKind::kBroadcast:
      return "BROADCAST";
    case graph::CollectiveKind::kAllToAll:
      return "ALL_TO_ALL";
  }
  return "COLLECTIVE";
}

std::string_view action_of(const graph::Operation& operation, const graph::Program& program) {
  switch (operation.kind) {
    case graph::OperationKind::kCompute:
      return compute_action(operation.phase);
    case graph::OperationKind::kSend:
      return program.channels.at(operation.channel).gradients ? "SEND_B" : "SEND_F";
    case graph::OperationKind::kReceive:
      return program.channels.at(operation.channel).gradients ? "RECV_B" : "RECV_F";
    case graph::OperationKind::kCollective:
      return collective_action(operation);
    case graph::OperationKind::kHostCopy:
      return operation.to_host ? "TO_HOST" : "FROM_HOST";
  }
  return "";
}

}  // namespace

std::string action_name(const graph::Operation& operation, const graph::Program& program) {
  std::string name;
  if (operation.stage >= 0) {
    fmt::format_to(std::back_inserter(name), "{}", operation.stage);
  }
  name += action_of(operation, program);
  if (operation.micro_batch >= 0) {
    fmt::format_to(std::back_inserter(name), "{}", operation.micro_batch);
  }
  return name;
}

std::string_view category_of(const graph::Operation& operation) {
  if (operation.traffic != graph::Traffic::kNone) {
    return word_for(operation.traffic);
  }
  switch (operation.kind) {
    case graph::OperationKind::kSend:
    case graph::OperationKind::kReceive:
      return word_for(graph::Traffic::kPipeline);
    case graph::OperationKind::kCollective:
      return word_for(graph::Traffic::kReduce);  // of the update: gradient norm, tied embeddings
    case graph::OperationKind::kHostCopy:
      return word_for(graph::Traffic::kOffload);
    case graph::OperationKind::kCompute:
      break;
  }
  return "compute";
}

}  // namespace lamina::report
