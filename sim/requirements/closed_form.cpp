#include "sim/requirements/closed_form.hpp"

#include <algorithm>
#include <cmath>

#include "schedules/schedule.hpp"

namespace lamina::requirements {
namespace {

using graph::Operation;
using graph::OperationKind;
using graph::Phase;
using graph::Traffic;

/// Operations of one traffic class on a rank: how many, and what the device sends for all of them.
struct Sent {
  double count = 0;
  double bytes = 0;

  void add(double moved) {
    count += 1;
    bytes += moved;
  }
};

/// Share of a ring's payload that every member sends.
double ring_share(graph::CollectiveKind kind, double members) {
  const double once = members > 1 ? (members - 1) / members : 0;
  return kind == graph::CollectiveKind::kAllReduce ? 2 * once : once;
}

/// What a pipeline rank computes and sends.
class Role {
 public:
  Role(const scenario::Scenario& scenario, const graph::Program& program) : strategy_(scenario.strategy) {
    for (const Operation& operation : program.operations) {
      switch (operation.kind) {
        case OperationKind::kCompute:
          add_compute(operation);
          break;
        case OperationKind::kSend:
          (program.channels[operation.channel].gradients ? sent_backward : sent_forward).add(operation.bytes);
          break;
        case OperationKind::kCollective:
          add_collective(operation);
          break;
        case OperationKind::kHostCopy:
          offloaded.add(operation.bytes);
          break;
        case OperationKind::kReceive:
          break;
      }
    }
  }

  double forward_s = 0;
  double backward_s = 0;  ///< with recomputation
  Sent sent_forward;
  Sent sent_backward;
  Sent restored;
  Sent reduced;
  Sent tensor;
  Sent offloaded;

 private:
  void add_compute(const Operation& operation) {
    if (operation.phase == Phase::kForward) {
      forward_s += operation.duration_s;
    } else if (operation.phase != Phase::kUpdate) {
      backward_s += operation.duration_s;
    }
  }

  void add_collective(const Operation& operation) {
    const bool in_tensor_group = operation.group == graph::GroupKind::kTensor;
    const double members = in_tensor_group ? strategy_.tensor_parallel : strategy_.data_parallel;
    const double moved = operation.bytes * ring_share(operation.collective, members);
    if (operation.traffic == Traffic::kTensor) {
      tensor.add(moved);
    } else if (operation.group != graph::GroupKind::kData || operation.layer < -1) {
      return;  // sums of a few bytes: the global norm
    } else if (operation.traffic == Traffic::kRestore) {
      restored.add(moved);
    } else if (operation.traffic == Traffic::kReduce) {
      reduced.add(moved);
    }
  }

  const scenario::Strategy& strategy_;
};

bool is_backward(const schedules::Action& action) {
  return action.type != schedules::ActionType::kForward;
}

/// Micro-batches that a stage computes in a row: of its first forward actions, or of its last backward ones.
double run_length(const std::vector<schedules::Action>& actions, bool backward) {
  const auto count = [&](auto begin, auto end) {
    const auto first =
        std::find_if(begin, end, [&](const schedules::Action& action) { return is_backward(action) == backward; });
    const auto last = std::find_if(first, end, [&](const schedules::Action& action) {
      return is_backward(action) != backward || action.stage != first->stage || action.type != first->type;
    });
    return static_cast<double>(std::distance(first, last));
  };
  return backward ? count(actions.rbegin(), actions.rend()) : count(actions.begin(), actions.end());
}

void append(ClosedForm& form, double count, double bytes, double hides_behind_s) {
  if (count > 0 && bytes > 0) {
    form.transfers.push_back({count, bytes, hides_behind_s});
  }
}

ClosedForm restore_form(const scenario::Scenario& scenario, const Role& role,
                        const std::vector<schedules::Action>& actions) {
  ClosedForm form;
  if (role.restored.count == 0) {
    return form;
  }
  const double one = role.restored.bytes / role.restored.count;
  if (scenario.strategy.sharding.level == scenario::ShardingLevel::kFull) {
    const double half = role.restored.count / 2;
    append(form, half, one, role.forward_s / half);
    append(form, half, one, role.backward_s / half);
    form.formula = "restore / compute until the next restore";
  } else {
    const double micro_batches = scenario.strategy.micro_batches;
    append(form, role.restored.count, one,
           role.forward_s / role.restored.count / micro_batches * run_length(actions, false));
    form.formula = "restore / forward of the micro-batches before the next layer";
  }
  return form;
}

ClosedForm reduce_form(const scenario::Scenario& scenario, const Role& role,
                       const std::vector<schedules::Action>& actions) {
  ClosedForm form;
  if (role.reduced.count == 0) {
    return form;
  }
  const double one = role.reduced.bytes / role.reduced.count;
  const auto level = scenario.strategy.sharding.level;
  if (level == scenario::ShardingLevel::kFull || level == scenario::ShardingLevel::kGradients) {
    append(form, role.reduced.count, one, role.backward_s / role.reduced.count);
    form.formula = "reduction / backward until the next reduction";
  } else {
    const double micro_batches = scenario.strategy.micro_batches;
    append(form, role.reduced.count, one,
           role.backward_s / role.reduced.count / micro_batches * run_length(actions, true));
    form.formula = "reduction / backward of a layer, last micro-batches in a row";
  }
  return form;
}

ClosedForm form_of(const scenario::Scenario& scenario, const pipeline::Prepared& prepared, std::size_t rank,
                   Traffic traffic) {
  const Role role(scenario, prepared.graph.programs[rank]);
  const auto& actions = prepared.table.actions[rank];
  ClosedForm form;
  switch (traffic) {
    case Traffic::kRestore:
      return restore_form(scenario, role, actions);
    case Traffic::kReduce:
      return reduce_form(scenario, role, actions);
    case Traffic::kPipeline:
      for (const auto& [sent, compute] :
           {std::pair(role.sent_forward, role.forward_s), std::pair(role.sent_backward, role.backward_s)}) {
        if (sent.count > 0) {
          append(form, sent.count, sent.bytes / sent.count, compute / sent.count);
        }
      }
      form.formula = "message / compute of one stage and micro-batch";
      break;
    case Traffic::kTensor:
      append(form, 1, role.tensor.bytes, 0);
      form.formula = "all exchanges / time that may be lost";
      break;
    case Traffic::kOffload:
      append(form, 1, role.offloaded.bytes, role.forward_s + role.backward_s);
      form.formula = "all copies / compute";
      break;
    case Traffic::kNone:
      break;
  }
  return form;
}

}  // namespace

double ClosedForm::bytes() const {
  double sum = 0;
  for (const HiddenTransfers& transfer : transfers) {
    sum += transfer.count * transfer.bytes;
  }
  return sum;
}

double ClosedForm::bandwidth(double exposed_s) const {
  // Time per byte t at which sum of count x max(0, bytes x t - hides) = exposed: convex and piecewise linear in t, so
  // the transfers that show are those that hide behind the least compute per byte.
  std::vector<HiddenTransfers> sorted = transfers;
  std::sort(sorted.begin(), sorted.end(), [](const HiddenTransfers& a, const HiddenTransfers& b) {
    return a.hides_behind_s / a.bytes < b.hides_behind_s / b.bytes;
  });
  double moved = 0;
  double hidden = 0;
  double best = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    moved += sorted[i].count * sorted[i].bytes;
    hidden += sorted[i].count * sorted[i].hides_behind_s;
    const double time_per_byte = (exposed_s + hidden) / moved;
    const bool is_last = i + 1 == sorted.size();
    if (is_last || time_per_byte <= sorted[i + 1].hides_behind_s / sorted[i + 1].bytes) {
      best = time_per_byte > 0 ? 1 / time_per_byte : 0;
      break;
    }
  }
  return best;
}

std::optional<ClosedForm> closed_form(const scenario::Scenario& scenario, const pipeline::Prepared& prepared,
                                      Traffic traffic, double exposed_s) {
  std::optional<ClosedForm> most;
  for (std::size_t rank = 0; rank < prepared.graph.programs.size(); ++rank) {
    ClosedForm form = form_of(scenario, prepared, rank, traffic);
    if (form.bytes() > 0 && (!most || form.bandwidth(exposed_s) > most->bandwidth(exposed_s))) {
      most = std::move(form);
    }
  }
  return most;
}

}  // namespace lamina::requirements
