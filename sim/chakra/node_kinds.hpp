#pragma once

#include "et_def.pb.h"

#include "sim/chakra/attributes.hpp"
#include "sim/chakra/trace.hpp"

namespace lamina::chakra {

/// Numbers of the format's NodeType.
enum class NodeType {
  kInvalid,
  kMetadata,
  kMemoryLoad,
  kMemoryStore,
  kCompute,
  kSend,
  kReceive,
  kCollective,
};

/// Numbers of the format's CollectiveCommType.
enum class CommunicationType {
  kAllReduce,
  kReduce,
  kAllGather,
  kGather,
  kScatter,
  kBroadcast,
  kAllToAll,
  kReduceScatter,
  kReduceScatterBlock,
  kBarrier,
};

/// Everything of `node` but id, name and dependencies. Refuses what Lamina does not model and what makes no sense.
void fill_node(Node& node, const et_def::Node& message, const Attributes& attributes, const RankContext& context,
               const Refuse& refuse);

}  // namespace lamina::chakra
