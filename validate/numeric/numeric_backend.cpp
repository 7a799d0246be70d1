#include "validate/numeric/numeric_backend.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "validate/numeric/build_device.hpp"
#include "validate/numeric/collectives.hpp"
#include "validate/numeric/facts.hpp"
#include "validate/numeric/gather_step.hpp"
#include "validate/numeric/worker.hpp"

namespace lamina::validate::numeric {
namespace {

using graph::OperationKind;
using graph::Phase;

class Executor final : public NumericBackend {
 public:
  Executor(World world, const graph::OperationGraph& graph, const deployment::Deployment& deployment)
      : world_(std::move(world)), graph_(graph), deployment_(deployment) {
    const bool updates_on_host = world_.strategy.offload.update_on == scenario::OffloadUpdate::kHost;
    for (const graph::Program& program : graph.programs) {
      facts_.push_back(facts_of(program, updates_on_host));
    }
    begin();
  }

  [[nodiscard]] std::vector<std::int32_t> local_ranks() const override {
    std::vector<std::int32_t> ranks;
    for (std::size_t rank = 0; rank < deployment_.ranks.size(); ++rank) {
      ranks.push_back(static_cast<std::int32_t>(rank));
    }
    return ranks;
  }

  void wait(std::int32_t rank, std::uint32_t operation, std::uint32_t before) override {
    if (timeline_.spans[static_cast<std::size_t>(rank)][before].end == 0) {
      throw error::InternalError(
          fmt::format("{} waits for {}, which was not launched", name(rank, operation), name(rank, before)));
    }
  }

  void launch(std::int32_t rank, std::uint32_t operation) override {
    try {
      run({rank, operation});
    } catch (const error::InternalError& fault) {
      throw error::InternalError(fmt::format("{}: {}", name(rank, operation), fault.what()));
    }
    const double date = timeline_.end_s;
    timeline_.end_s = date + 1;
    timeline_.spans[static_cast<std::size_t>(rank)][operation] = {date, date + 1};
    ++timeline_.activities;
  }

  [[nodiscard]] Execution finish() override {
    for (const auto& [place, waiting] : waiting_) {
      if (!waiting.empty()) {
        throw error::InternalError("an operation was launched without those that it happens together with");
      }
    }
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      update_on_host(static_cast<std::int32_t>(rank));
      workers_[rank].expect_nothing_left();
    }
    step_ = gather_step(world_, workers_);
    step_.norm = norms_.front().value_or(0);
    Execution result;
    result.timeline = std::move(timeline_);
    begin();
    return result;
  }

  [[nodiscard]] const Step& step() const override { return step_; }

 private:
  struct Instance {
    std::int32_t rank = 0;
    std::uint32_t operation = 0;
  };

  /// Where operations meet: a channel (false) or a group (true) of the deployment.
  using Place = std::pair<bool, std::int32_t>;

  void begin() {
    timeline_ = {};
    waiting_.clear();
    workers_.clear();
    workers_.reserve(deployment_.ranks.size());
    for (const deployment::Rank& rank : deployment_.ranks) {
      const auto program = static_cast<std::size_t>(rank.program);
      timeline_.spans.emplace_back(graph_.programs[program].operations.size());
      workers_.emplace_back(world_, rank.program, rank.data, rank.tensor,
                            build_device(world_, facts_[program], rank.data, rank.tensor));
    }
    norms_.assign(workers_.size(), std::nullopt);
    norms_done_.assign(workers_.size(), 0);
    summed_replicas_.clear();
    for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
      workers_[rank].meet_peers(tensor_group(static_cast<std::int32_t>(rank)));
    }
  }

  void run(Instance instance) {
    const graph::Operation& operation = operation_of(instance);
    Worker& worker = worker_of(instance.rank);
    switch (operation.kind) {
      case OperationKind::kCompute:
        compute(instance);
        break;
      case OperationKind::kSend:
      case OperationKind::kReceive:
        message(instance);
        break;
      case OperationKind::kHostCopy:
        if (operation.micro_batch < 0) {
          copy_unit(instance);
        } else if (operation.to_host) {
          worker.evict_checkpoint(operation);
        } else {
          worker.fetch_checkpoint(operation);
        }
        break;
      case OperationKind::kCollective:
        collective(instance);
        break;
    }
    if (operation.kind != OperationKind::kCollective) {
      drop_weights(instance);
    }
  }

  void drop_weights(Instance instance) {
    for (const int unit : facts_of_rank(instance.rank).drops[instance.operation]) {
      worker_of(instance.rank).device().drop(unit);
    }
  }

  void compute(Instance instance) {
    const graph::Operation& operation = operation_of(instance);
    Worker& worker = worker_of(instance.rank);
    switch (operation.phase) {
      case Phase::kForward:
        worker.forward(operation);
        break;
      case Phase::kRecompute:
        worker.recompute(operation);
        break;
      case Phase::kInputGradient:
      case Phase::kBackward:
        worker.backward(operation);
        break;
      case Phase::kWeightGradient:
        worker.weight_gradient(operation);
        break;
      case Phase::kUpdate: {
        const int unit = worker.device().unit_of(operation.stage, operation.layer);
        sum_replicas(instance.rank, unit);
        worker.device().update(unit, rate(instance.rank));
        break;
      }
      default:
        throw error::InternalError("computes what the numeric backend does not know");
    }
  }

  void copy_unit(Instance instance) {
    const graph::Operation& operation = operation_of(instance);
    Device& device = worker_of(instance.rank).device();
    const int unit = device.unit_of(operation.stage, operation.layer);
    const bool host_updates = world_.strategy.offload.update_on == scenario::OffloadUpdate::kHost;
    if (operation.to_host) {
      if (host_updates) {
        sum_replicas(instance.rank, unit);
        device.copy_gradient_out(unit);
      } else {
        device.copy_state_out(unit);
      }
    } else if (facts_of_rank(instance.rank).copies[instance.operation] == ProgramFacts::Copy::kState) {
      device.copy_state_in(unit);
    } else {
      device.copy_weights_in(unit);
    }
  }

  void message(Instance instance) {
    const deployment::Rank& here = deployment_.ranks[static_cast<std::size_t>(instance.rank)];
    const std::int32_t channel = here.channels[operation_of(instance).channel];
    const std::vector<Instance> ends = meet({false, channel}, instance, 2);
    if (ends.empty()) {
      return;
    }
    const bool first_sends = operation_of(ends[0]).kind == OperationKind::kSend;
    const Instance from = ends[first_sends ? 0 : 1];
    const Instance to = ends[first_sends ? 1 : 0];
    const auto program = static_cast<std::size_t>(deployment_.ranks[static_cast<std::size_t>(from.rank)].program);
    const bool gradients = graph_.programs[program].channels[operation_of(from).channel].gradients;
    const graph::Operation& sent = operation_of(from);
    const graph::Operation& received = operation_of(to);
    Matrix content = worker_of(from.rank).take_made({sent.stage, sent.micro_batch, gradients});
    const schedules::Stage& stage = world_.table.stages[static_cast<std::size_t>(sent.stage)];
    if ((gradients ? stage.previous : stage.next) != received.stage || sent.micro_batch != received.micro_batch) {
      throw error::InternalError(fmt::format("meets {}", name(to.rank, to.operation)));
    }
    if (slices_messages(world_)) {
      keep_slice(content, worker_of(from.rank).tensor(), world_.strategy.tensor_parallel);
    }
    worker_of(to.rank).receive({received.stage, received.micro_batch, gradients}, std::move(content));
  }

  void collective(Instance instance) {
    const graph::Operation& operation = operation_of(instance);
    const std::int32_t group =
        deployment_.ranks[static_cast<std::size_t>(instance.rank)].groups[static_cast<std::size_t>(operation.group)];
    std::vector<Instance> members = {instance};
    if (group != -1 && deployment_.groups[static_cast<std::size_t>(group)].size > 1) {
      members = meet({true, group}, instance, deployment_.groups[static_cast<std::size_t>(group)].members.size());
    }
    if (is_norm(operation)) {
      start_norm(instance.rank);
    }
    if (members.empty()) {
      return;
    }
    std::vector<Worker*> workers;
    for (const Instance& member : members) {
      workers.push_back(&worker_of(member.rank));
      const bool same = operation_of(member).phase == operation.phase && operation_of(member).group == operation.group;
      if (!same) {
        throw error::InternalError(fmt::format("meets {}", name(member.rank, member.operation)));
      }
    }
    if (is_norm(operation)) {
      sum_norms(members);
    } else if (operation.phase == Phase::kTensor) {
      exchange(world_, workers, operation,
               computes_gradients(facts_of_rank(instance.rank).computes_next[instance.operation]));
    } else if (operation.phase == Phase::kRestore) {
      restore(workers, operation);
    } else if (operation.group == graph::GroupKind::kEmbedding) {
      sum_tables(workers);
    } else {
      reduce(workers, operation);
    }
    for (const Instance& member : members) {
      drop_weights(member);
    }
  }

  /// Selective recomputation stands between the gather of an output gradient and the backward that reads it.
  [[nodiscard]] bool computes_gradients(Phase next) const {
    return next == Phase::kBackward || next == Phase::kInputGradient ||
           (next == Phase::kRecompute && world_.strategy.recompute == scenario::Recompute::kSelective);
  }

  /// A rank's own part of the norm, when the first collective asks for it.
  void start_norm(std::int32_t rank) {
    auto& norm = norms_[static_cast<std::size_t>(rank)];
    if (!norm) {
      sum_replicas(rank);
      norm = sum_of_squares(world_, worker_of(rank));
    }
  }

  void sum_norms(const std::vector<Instance>& members) {
    double sum = 0;
    for (const Instance& member : members) {
      sum += *norms_[static_cast<std::size_t>(member.rank)];
    }
    for (const Instance& member : members) {
      norms_[static_cast<std::size_t>(member.rank)] = sum;
      ++norms_done_[static_cast<std::size_t>(member.rank)];
    }
  }

  /// The learning rate, less where the norm is above the limit.
  float rate(std::int32_t rank) {
    const Optimizer optimizer = optimizer_of(world_.strategy);
    if (optimizer.clip == 0) {
      return optimizer.rate;
    }
    if (norms_done_[static_cast<std::size_t>(rank)] != facts_of_rank(rank).norms) {
      throw error::InternalError("the global norm is not known yet");
    }
    start_norm(rank);
    const auto norm = static_cast<float>(std::sqrt(*norms_[static_cast<std::size_t>(rank)]));
    return norm > optimizer.clip ? optimizer.rate * (optimizer.clip / norm) : optimizer.rate;
  }

  void update_on_host(std::int32_t rank) {
    if (!world_.strategy.offload.state || world_.strategy.offload.update_on != scenario::OffloadUpdate::kHost) {
      return;
    }
    Device& device = worker_of(rank).device();
    for (int unit = 0; unit < static_cast<int>(device.units().size()); ++unit) {
      device.update_on_host(unit, rate(rank));
    }
  }

  /// Under sequence parallelism the tensor ranks hold shares of the gradients of norms and biases; their sum is not
  /// part of the graph.
  void sum_replicas(std::int32_t rank) {
    for (int unit = 0; unit < static_cast<int>(worker_of(rank).device().units().size()); ++unit) {
      sum_replicas(rank, unit);
    }
  }

  void sum_replicas(std::int32_t rank, int unit) {
    if (!world_.strategy.sequence_parallel || summed_replicas_[{rank, unit}]) {
      return;
    }
    const std::int32_t group =
        deployment_.ranks[static_cast<std::size_t>(rank)].groups[static_cast<std::size_t>(graph::GroupKind::kTensor)];
    for (const std::int32_t member : deployment_.groups[static_cast<std::size_t>(group)].members) {
      summed_replicas_[{member, unit}] = true;
    }
    sum_replicated(tensor_group(rank), unit);
  }

  std::vector<Worker*> tensor_group(std::int32_t rank) {
    const std::int32_t group =
        deployment_.ranks[static_cast<std::size_t>(rank)].groups[static_cast<std::size_t>(graph::GroupKind::kTensor)];
    if (group == -1) {
      return {&worker_of(rank)};
    }
    std::vector<Worker*> members;
    for (const std::int32_t member : deployment_.groups[static_cast<std::size_t>(group)].members) {
      members.push_back(&worker_of(member));
    }
    return members;
  }

  /// The participants once all have arrived; empty until then.
  std::vector<Instance> meet(Place place, Instance instance, std::size_t participants) {
    std::vector<Instance>& arrived = waiting_[place];
    arrived.push_back(instance);
    return arrived.size() == participants ? std::exchange(arrived, {}) : std::vector<Instance>{};
  }

  [[nodiscard]] Worker& worker_of(std::int32_t rank) { return workers_[static_cast<std::size_t>(rank)]; }

  [[nodiscard]] std::size_t program_of(std::int32_t rank) const {
    return static_cast<std::size_t>(deployment_.ranks[static_cast<std::size_t>(rank)].program);
  }

  [[nodiscard]] const ProgramFacts& facts_of_rank(std::int32_t rank) const { return facts_[program_of(rank)]; }

  [[nodiscard]] const graph::Operation& operation_of(Instance instance) const {
    return graph_.programs[program_of(instance.rank)].operations[instance.operation];
  }

  [[nodiscard]] std::string name(std::int32_t rank, std::uint32_t operation) const {
    const deployment::Rank& at = deployment_.ranks[static_cast<std::size_t>(rank)];
    const std::string text = graph::describe(graph_, graph_.vertex(at.program, operation));
    return fmt::format("{} (data {}, tensor {})", text, at.data, at.tensor);
  }

  World world_;
  const graph::OperationGraph& graph_;
  const deployment::Deployment& deployment_;
  std::vector<ProgramFacts> facts_;           ///< [program]
  std::vector<Worker> workers_;               ///< [rank]
  std::vector<std::optional<double>> norms_;  ///< [rank] sum of squares, as far as it has come
  std::vector<int> norms_done_;
  std::map<std::pair<std::int32_t, int>, bool> summed_replicas_;
  std::map<Place, std::vector<Instance>> waiting_;
  timeline::Timeline timeline_;
  Step step_;
};

}  // namespace

tl::expected<std::unique_ptr<NumericBackend>, error::Infeasible> make_numeric_backend(
    const scenario::Scenario& scenario, const schedules::ScheduleTable& table, const graph::OperationGraph& graph,
    const deployment::Deployment& deployment) {
  auto shape = shape_of(scenario);
  if (!shape) {
    return tl::unexpected(std::move(shape.error()));
  }
  return std::make_unique<Executor>(make_world(scenario, table, *shape), graph, deployment);
}

}  // namespace lamina::validate::numeric
