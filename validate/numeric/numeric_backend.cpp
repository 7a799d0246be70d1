#include "validate/numeric/numeric_backend.hpp"

#include <utility>

#include <fmt/format.h>

#include "validate/numeric/local_exchange.hpp"
#include "validate/numeric/rank_step.hpp"

namespace lamina::validate::numeric {
namespace {

class Executor final : public NumericBackend {
 public:
  Executor(World world, const graph::OperationGraph& graph, const deployment::Deployment& deployment)
      : world_(std::move(world)), graph_(graph), deployment_(deployment), facts_(facts_of(graph, world_.strategy)) {
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
      throw error::InternalError(fmt::format("{} waits for {}, which was not launched",
                                             name_of(graph_, deployment_, rank, operation),
                                             name_of(graph_, deployment_, rank, before)));
    }
  }

  void launch(std::int32_t rank, std::uint32_t operation) override {
    try {
      ranks_[static_cast<std::size_t>(rank)]->run(operation);
    } catch (const error::InternalError& fault) {
      throw error::InternalError(fmt::format("{}: {}", name_of(graph_, deployment_, rank, operation), fault.what()));
    }
    const double date = timeline_.end_s;
    timeline_.end_s = date + 1;
    timeline_.spans[static_cast<std::size_t>(rank)][operation] = {date, date + 1};
    ++timeline_.activities;
  }

  [[nodiscard]] Execution finish() override {
    exchange_->expect_nobody_waits();
    std::vector<RankResult> results;
    for (const auto& rank : ranks_) {
      results.push_back(rank->finish());
    }
    step_ = gather_step(world_, results);
    Execution result;
    result.timeline = std::move(timeline_);
    begin();
    return result;
  }

  [[nodiscard]] const Step& step() const override { return step_; }

 private:
  void begin() {
    timeline_ = {};
    ranks_.clear();
    exchange_ = std::make_unique<LocalExchange>(deployment_);
    std::vector<RankStep*> all;
    for (std::size_t rank = 0; rank < deployment_.ranks.size(); ++rank) {
      const auto program = static_cast<std::size_t>(deployment_.ranks[rank].program);
      timeline_.spans.emplace_back(graph_.programs[program].operations.size());
      ranks_.push_back(std::make_unique<RankStep>(world_, graph_, deployment_, facts_[program],
                                                  static_cast<std::int32_t>(rank), *exchange_));
      all.push_back(ranks_.back().get());
    }
    exchange_->meet(std::move(all));
  }

  World world_;
  const graph::OperationGraph& graph_;
  const deployment::Deployment& deployment_;
  std::vector<ProgramFacts> facts_;  ///< [program]
  std::unique_ptr<LocalExchange> exchange_;
  std::vector<std::unique_ptr<RankStep>> ranks_;
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
