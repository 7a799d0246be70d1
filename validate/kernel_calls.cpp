#include "validate/kernel_calls.hpp"

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/model/kernels.hpp"

namespace lamina::validate {
namespace {

using graph::Phase;
using model::Pass;

/// Which blocks of which kind of layer an operation runs, and which of their passes.
struct Part {
  int layer_kind = 0;  ///< 0: embedding, 1: layer, 2: head
  Phase phase = Phase::kForward;
  int first_block = 0;
  int end_block = 0;
  auto operator<=>(const Part&) const = default;
};

class Lists {
 public:
  Lists(const model::WorkModel& work, const scenario::Strategy& strategy) : work_(work), strategy_(strategy) {}

  /// Of an operation of one program; in program order.
  std::int32_t list_of(const graph::Operation& operation) {
    const Part part = part_of(operation);
    const auto [found, is_new] = numbers_.try_emplace(part, static_cast<std::int32_t>(result_.lists.size()));
    if (is_new) {
      result_.lists.push_back(calls(part));
    }
    return found->second;
  }

  void begin_program() { done_.clear(); }

  KernelCalls& result() { return result_; }

 private:
  [[nodiscard]] const model::LayerCost& layer(int kind) const {
    return kind == 0 ? work_.embedding : kind == 1 ? work_.layer : work_.head;
  }

  Part part_of(const graph::Operation& operation) {
    Part part;
    part.layer_kind = operation.layer < 0 ? 0 : operation.layer < work_.layers ? 1 : 2;
    part.phase = operation.phase;
    const auto blocks = static_cast<int>(layer(part.layer_kind).blocks.size());
    if (operation.phase == Phase::kUpdate) {
      part.end_block = blocks;
      return part;
    }
    const bool selective =
        operation.phase == Phase::kRecompute && strategy_.recompute == scenario::Recompute::kSelective;
    if (selective) {
      part.first_block = operation.block;
      part.end_block = operation.block + 1;
      return part;
    }
    const std::tuple key(operation.stage, operation.layer, operation.micro_batch, operation.phase);
    int& done = done_[key];  // blocks, from the front or from the back
    const bool forward = operation.phase == Phase::kForward || operation.phase == Phase::kRecompute;
    part.first_block = forward ? done : operation.block;
    part.end_block = forward ? operation.block + 1 : blocks - done;
    if (part.first_block >= part.end_block) {
      throw error::InternalError(fmt::format("the operations of layer {} do not cover its blocks", operation.layer));
    }
    done += part.end_block - part.first_block;
    if (done == blocks) {
      done_.erase(key);
    }
    return part;
  }

  [[nodiscard]] std::vector<KernelCall> calls(const Part& part) const {
    std::vector<KernelCall> result;
    const model::LayerCost& of = layer(part.layer_kind);
    const auto add = [&](int block, Pass pass) {
      for (const model::Kernel& kernel : of.blocks[static_cast<std::size_t>(block)].pass(pass).kernels) {
        result.push_back({kernel, pass, false});
      }
    };
    switch (part.phase) {
      case Phase::kUpdate: {
        const bool sharded = strategy_.sharding.level != scenario::ShardingLevel::kNone;
        const double shards = sharded ? strategy_.data_parallel : 1;
        for (const model::Kernel& kernel : model::optimizer_kernels(of.parameters / shards, strategy_)) {
          result.push_back({kernel, Pass::kForward, result.empty()});  // the first is Adam
        }
        break;
      }
      case Phase::kForward:
      case Phase::kRecompute:
        for (int block = part.first_block; block < part.end_block; ++block) {
          add(block, part.phase == Phase::kForward ? Pass::kForward : Pass::kRecompute);
        }
        break;
      default:
        for (int block = part.end_block - 1; block >= part.first_block; --block) {
          if (part.phase != Phase::kWeightGradient) {
            add(block, Pass::kInputGradient);
          }
          if (part.phase != Phase::kInputGradient) {
            add(block, Pass::kWeightGradient);
          }
        }
    }
    return result;
  }

  const model::WorkModel& work_;
  const scenario::Strategy& strategy_;
  std::map<Part, std::int32_t> numbers_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, Phase>, int> done_;
  KernelCalls result_;
};

}  // namespace

KernelCalls kernel_calls(const graph::OperationGraph& graph, const model::WorkModel& work,
                         const scenario::Strategy& strategy) {
  Lists lists(work, strategy);
  std::vector<std::vector<std::int32_t>> list_of;
  for (const graph::Program& program : graph.programs) {
    lists.begin_program();
    auto& of_program = list_of.emplace_back();
    for (const graph::Operation& operation : program.operations) {
      const bool computes = operation.kind == graph::OperationKind::kCompute;
      of_program.push_back(computes ? lists.list_of(operation) : KernelCalls::kNone);
    }
  }
  KernelCalls result = std::move(lists.result());
  result.list_of = std::move(list_of);
  return result;
}

}  // namespace lamina::validate
