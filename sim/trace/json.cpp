#include <cmath>

#include <nlohmann/json.hpp>

#include "sim/trace/write.hpp"

namespace lamina::trace {
namespace {

using Json = nlohmann::ordered_json;

/// JSON knows no NaN and no infinity: both become null.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json of_rank(const RankComparison& rank) {
  return {{"compute_s", number(rank.compute_s)},
          {"measured_idle_s", number(rank.measured_idle_s)},
          {"measured_gap_s", number(rank.measured_gap_s)},
          {"replayed_idle_s", number(rank.replayed_idle_s)},
          {"same_order", rank.same_order}};
}

Json of_step(const StepComparison& step) {
  Json replicas = Json::array();
  for (const ReplicaComparison& replica : step.replicas) {
    Json ranks = Json::array();
    for (const RankComparison& rank : replica.ranks) {
      ranks.push_back(of_rank(rank));
    }
    replicas.push_back({{"replica", replica.replica},
                        {"measured_s", number(replica.measured_s)},
                        {"replayed_s", number(replica.replayed_s)},
                        {"relative_error", number(replica.relative_error())},
                        {"pipeline_ranks", std::move(ranks)}});
  }
  return {{"step", step.step},
          {"measured_s", number(step.measured_s)},
          {"replayed_s", number(step.replayed_s)},
          {"relative_error", number(step.relative_error())},
          {"without_stragglers_s", number(step.without_stragglers_s)},
          {"balanced_s", number(step.balanced_s)},
          {"replicas", std::move(replicas)}};
}

Json of_pass(const Pass& pass) {
  return {{"pass", pass.backward ? "backward" : "forward"}, {"stage", pass.stage}, {"micro_batch", pass.micro_batch}};
}

Json order_of(const Comparison& comparison) {
  Json differences = Json::array();
  for (const OrderDifference& difference : comparison.order_differences) {
    differences.push_back({{"step", difference.step},
                           {"replica", difference.replica},
                           {"pipeline_rank", difference.rank},
                           {"position", difference.position},
                           {"measured", of_pass(difference.measured)},
                           {"scheduled", of_pass(difference.scheduled)}});
  }
  return {{"identical", comparison.order_differences.empty()},
          {"passes", comparison.passes},
          {"first_differences", std::move(differences)}};
}

Json stages_of(const Comparison& comparison) {
  Json result = Json::array();
  for (const StageSummary& stage : comparison.stages) {
    result.push_back({{"pipeline_rank", result.size()},
                      {"forward_s", number(stage.forward_s)},
                      {"backward_s", number(stage.backward_s)},
                      {"compute_s", number(stage.compute_s)},
                      {"measured_idle_s", number(stage.measured_idle_s)},
                      {"measured_gap_s", number(stage.measured_gap_s)},
                      {"replayed_idle_s", number(stage.replayed_idle_s)}});
  }
  return result;
}

Json straggler_of(const Straggler& straggler) {
  if (straggler.replica < 0) {
    return nullptr;
  }
  return {
      {"replica", straggler.replica}, {"pipeline_rank", straggler.rank}, {"ratio_to_peers", number(straggler.ratio)}};
}

}  // namespace

std::string to_json(const Comparison& comparison) {
  Json document = {
      {"schema", "lamina.trace_replay/1"},
      {"file", comparison.file},
      {"schedule", comparison.schedule},
      {"point_to_point", name_of(comparison.messages)},
      {"pipeline_ranks", comparison.pipeline_ranks},
      {"chunks_per_rank", comparison.chunks},
      {"replicas", comparison.replicas},
      {"micro_batches", {{"fewest", comparison.fewest_micro_batches}, {"most", comparison.most_micro_batches}}},
      {"median_relative_error", number(comparison.median_error)},
      {"median_absolute_relative_error", number(comparison.median_absolute_error)},
      {"worst_step", comparison.steps.at(comparison.worst_step).step},
      {"order", order_of(comparison)},
      {"pipeline_ranks_median", stages_of(comparison)},
      {"critical_pipeline_rank", comparison.critical_rank},
      {"straggler", straggler_of(comparison.straggler)},
      {"stragglers_cost", number(comparison.stragglers_cost)},
      {"imbalance_cost", number(comparison.imbalance_cost)}};
  document["steps"] = Json::array();
  for (const StepComparison& step : comparison.steps) {
    document["steps"].push_back(of_step(step));
  }
  document["skipped"] = Json::array();
  for (const Skipped& skipped : comparison.skipped) {
    document["skipped"].push_back({{"step", skipped.step}, {"replica", skipped.replica}, {"reason", skipped.reason}});
  }
  constexpr int kIndent = 2;
  return document.dump(kIndent, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace lamina::trace
